"""The problems: kinds of model, penalties, strengths and data, each small enough to be solved to the end."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from loglinear import LanguageModel, MaxentClassifier, Reranker, Tagger
from loglinear.formats.nbest import read_nbest

STRENGTHS = (1e-6, 1e-4, 1e-2, 1.0, 1e3)
PENALTIES = ("l2", "l1", "elastic_net")
PRECISE = {"l2": "newton", "l1": "owlqn", "elastic_net": "owlqn"}  # solvers of the reference, where they are not auto's


class Problem(NamedTuple):
    """A model before training and the arguments of its ``fit``; the reference may have another solver."""

    name: str
    data: str
    model: Any
    arguments: tuple[Any, ...]
    reference: dict[str, Any]


Data = Callable[[Path], tuple[Any, ...]]


def lines(folder: Path, name: str, limit: int) -> list[str]:
    """Return the first lines of a compressed file."""
    with gzip.open(folder / name, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for _, line in zip(range(limit), file)]


# ---- classifiers -----------------------------------------------------------------------------------------------------
def digits(folder: Path) -> tuple[Any, ...]:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def wine(folder: Path) -> tuple[Any, ...]:
    from sklearn.datasets import load_wine

    return load_wine(return_X_y=True)


def badly_scaled(folder: Path) -> tuple[Any, ...]:
    """One feature of size 1e5 among features of size one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 30))
    y = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=800) > 0
    X[:, 0] *= 1e5
    return X, y.astype(int)


def r8(folder: Path) -> tuple[Any, ...]:
    labels, texts = zip(*(line.split("\t", 1) for line in lines(folder, "r8/train.tsv.gz", 800)))
    return list(texts), list(labels)


def a9a(folder: Path) -> tuple[Any, ...]:
    rows, labels = [], []
    for line in lines(folder, "a9a/a9a.gz", 4000):
        label, *pairs = line.split()
        labels.append(label)
        rows.append({name: float(value) for name, value in (pair.split(":") for pair in pairs)})
    return rows, labels


def classifiers(folder: Path) -> Iterator[Problem]:
    """Yield every data set, penalty and strength, by the default solver and by a quasi-Newton one."""
    for data in (digits, wine, badly_scaled, a9a, r8):
        arguments = data(folder)
        for penalty in PENALTIES:
            for strength in STRENGTHS:
                for solver in ("auto", "lbfgs" if penalty == "l2" else "owlqn"):
                    model = MaxentClassifier(penalty, strength, solver=solver)
                    name = f"classifier, {solver}, {penalty} {strength:g}"
                    yield Problem(name, data.__name__, model, arguments, {"solver": PRECISE[penalty]})


# ---- taggers ---------------------------------------------------------------------------------------------------------
def sentences(folder: Path, name: str, limit: int) -> tuple[Any, ...]:
    """Return the columns and the labels of the first sentences of a CoNLL file."""
    X: list[list[tuple[str, ...]]] = [[]]
    y: list[list[str]] = [[]]
    for line in lines(folder, name, 60 * limit):
        columns = line.split()
        if columns:
            X[-1].append(tuple(columns[:-1]))
            y[-1].append(columns[-1])
        elif X[-1]:
            X.append([])
            y.append([])
    return X[:limit], y[:limit]


def taggers(folder: Path) -> Iterator[Problem]:
    """Yield chains of every estimator that is trained."""
    for data, file, templates in (
        ("conll2000", "conll2000/train.txt.gz", "chunking"), ("wnut17", "wnut17/wnut17train.conll.gz", "ner"),
    ):  # fmt: skip
        arguments = sentences(folder, file, 250)
        for penalty in PENALTIES:
            for strength in (1e-3, 1e-2, 0.1, 1.0, 10.0):
                model = Tagger("crf", templates, penalty=penalty, strength=strength)
                yield Problem(f"crf, {penalty} {strength:g}", data, model, arguments, {"max_iterations": 5000})
        for estimator in ("memm", "pseudolikelihood", "m-estimation"):
            for penalty in ("l2", "elastic_net"):
                for strength in (0.1, 1.0):
                    model = Tagger(estimator, templates, penalty=penalty, strength=strength)
                    name = f"{estimator}, {penalty} {strength:g}"
                    yield Problem(name, data, model, arguments, {"max_iterations": 5000})


# ---- language models and rerankers -----------------------------------------------------------------------------------
def language_models(folder: Path) -> Iterator[Problem]:
    """Yield trigram models of newswire."""
    text = lines(folder, "ptb/ptb.train.txt.gz", 1500)
    for penalty in (*PENALTIES, "tree-l2", "tree-linf"):
        for strength in (1e-2, 0.1, 1.0, 10.0):
            model = LanguageModel(3, penalty=penalty, strength=strength)
            reference = {"max_iterations": 20_000 if penalty.startswith("tree") else 5000}
            yield Problem(f"trigrams, {penalty} {strength:g}", "ptb", model, (text,), reference)


def rerankers(folder: Path) -> Iterator[Problem]:
    """Yield losses of n-best lists."""
    lists = read_nbest(folder / "nbest" / "atis.train.jsonl.gz")[:400]
    for method in ("maxent", "exponential"):
        for penalty in PENALTIES:
            for strength in (1e-3, 1e-2, 0.1, 1.0):
                model = Reranker(method, penalty=penalty, strength=strength)
                yield Problem(f"{method}, {penalty} {strength:g}", "atis", model, (lists,), {"max_iterations": 20_000})


KINDS = {"classifiers": classifiers, "taggers": taggers, "language models": language_models, "rerankers": rerankers}
