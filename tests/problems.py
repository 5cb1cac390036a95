"""Small problems: made-up texts of several subjects, and dense matrices."""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy.sparse as sp

from loglinear.data.matrix import DenseRows, SparseRows
from loglinear.data.multiclass import MulticlassData

SUBJECTS = {"food": 20, "gardens": 64, "history": 6, "letters": 47, "music": 130, "seas": 70, "stars": 33, "trade": 57}
COMMON = ["the", "a", "is", "to", "of", "if", "this", "and", "be", "for", "in", "with", "or", "it", "as", "an", "not"]


def zipf(rng, exponent, n):
    """Return n draws of Zipf's law by rejection (Devroye 1986, X.6.1).

    NumPy's own method draws other numbers from one version to the next; uniform numbers have stayed the same.
    """
    power = exponent - 1.0
    b, least = 2.0**power, float(2**63 - 1) ** -power
    drawn = []
    while len(drawn) < n:
        u, v = rng.random(), rng.random()
        x = math.floor((u * least + (1.0 - u)) ** (-1.0 / power))
        t = (1.0 + 1.0 / x) ** power
        if v * x * (t - 1.0) / (b - 1.0) <= t / b:
            drawn.append(x)
    return drawn


@functools.cache
def labelled_texts(seed=0):
    """Return (texts, labels): made-up texts of several subjects, which share words and have words of their own.

    They are the same under every version of Python and NumPy, unlike the docstrings of the standard library.
    """
    rng = np.random.default_rng(seed)
    parts = ["ba", "de", "fi", "gos", "ker", "lum", "ne", "pra", "ti", "ros"]
    names = ["".join(parts[int(d)] for d in f"{i:04d}"[::-1]) + "s" * (i % 9 == 0) for i in range(4000)]
    shared, own = names[:800], {subject: names[800 + 400 * k :][:400] for k, subject in enumerate(SUBJECTS)}
    texts, labels = [], []
    for subject, n_texts in SUBJECTS.items():
        for _ in range(n_texts):
            words = []
            for kind, rank in zip(rng.random(int(rng.geometric(1 / 28)) + 3), zipf(rng, 1.15, 1000)):
                source = COMMON if kind < 0.45 else shared if kind < 0.65 else own[subject]
                words.append(source[(rank - 1) % len(source)])
            texts.append(" ".join(words) + ".")
            labels.append(subject)
    return texts, labels


@functools.cache
def text_matrix(n_classes=4, seed=0):
    """CSR of word counts and labels."""
    texts, labels = labelled_texts(seed)
    names = sorted(set(labels))[:n_classes]
    pairs = [(t, names.index(lab)) for t, lab in zip(texts, labels) if lab in names]
    vocabulary = {w: i for i, w in enumerate(sorted({w for t, _ in pairs for w in t.split()}))}
    rows, cols = zip(*[(i, vocabulary[w]) for i, (t, _) in enumerate(pairs) for w in t.split()])
    X = sp.csr_matrix((np.ones(len(rows)), (rows, cols)), shape=(len(pairs), len(vocabulary)))
    X.sum_duplicates()
    return X, np.array([k for _, k in pairs], dtype=np.int32)


def sparse_data(n_classes=4, weights=False, seed=0):
    X, y = text_matrix(n_classes, seed)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=y.size) if weights else None
    return MulticlassData(SparseRows.from_scipy(X), y, n_classes, weight)


def dense_data(n=120, d=7, n_classes=3, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.2, 3, d)
    y = np.argmax(X @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes)), axis=1).astype(np.int32)
    weight = rng.uniform(0.2, 3.0, size=n) if weights else None
    return MulticlassData(DenseRows(X), y, n_classes, weight)
