"""Small real problems: docstrings of the standard library by module, and synthetic dense ones."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import scipy.sparse as sp

from loglinear.data.matrix import DenseRows, SparseRows
from loglinear.data.multiclass import MulticlassData

MODULES = ("argparse", "collections", "datetime", "email.message", "logging", "pathlib", "socket", "threading")


@functools.cache
def docstrings(modules=MODULES):
    """(texts, labels): docstrings of functions and classes, labelled by module."""
    import importlib

    texts, labels = [], []
    for name in modules:
        module = importlib.import_module(name)
        seen = set()
        stack = [v for v in vars(module).values() if inspect.isclass(v) or inspect.isfunction(v)]
        for thing in stack:
            methods = [m for m in vars(thing).values() if inspect.isfunction(m)] if inspect.isclass(thing) else []
            for member in [thing, *methods]:
                doc = inspect.getdoc(member)
                if doc and doc not in seen and getattr(member, "__module__", None) == module.__name__:
                    seen.add(doc)
                    texts.append(doc.lower())
                    labels.append(name)
    return texts, labels


@functools.cache
def text_matrix(n_classes=4):
    """CSR of word counts and labels."""
    texts, labels = docstrings()
    names = sorted(set(labels))[:n_classes]
    pairs = [(t, names.index(lab)) for t, lab in zip(texts, labels) if lab in names]
    vocabulary = {w: i for i, w in enumerate(sorted({w for t, _ in pairs for w in t.split()}))}
    rows, cols = zip(*[(i, vocabulary[w]) for i, (t, _) in enumerate(pairs) for w in t.split()])
    X = sp.csr_matrix((np.ones(len(rows)), (rows, cols)), shape=(len(pairs), len(vocabulary)))
    X.sum_duplicates()
    return X, np.array([k for _, k in pairs], dtype=np.int32)


def sparse_data(n_classes=4, weights=False):
    X, y = text_matrix(n_classes)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=y.size) if weights else None
    return MulticlassData(SparseRows.from_scipy(X), y, n_classes, weight)


def dense_data(n=120, d=7, n_classes=3, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.2, 3, d)
    y = np.argmax(X @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes)), axis=1).astype(np.int32)
    weight = rng.uniform(0.2, 3.0, size=n) if weights else None
    return MulticlassData(DenseRows(X), y, n_classes, weight)
