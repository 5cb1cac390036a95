"""Classification problems: real ones from LOGLINEAR_DATA and a synthetic one, of all training examples or each n-th.

Each is saved once for all contenders.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from loglinear.features.text.words import WordNgrams
from loglinear.formats.svmlight import read_svmlight


@dataclass
class Problem:
    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    penalty: str
    strength: float
    about: str

    def save(self, path: Path) -> None:
        arrays = {"y": self.y, "y_test": self.y_test}
        for name, X in (("X", self.X), ("X_test", self.X_test)):
            if sp.issparse(X):
                arrays |= {f"{name}_data": X.data, f"{name}_indices": X.indices, f"{name}_indptr": X.indptr}
                arrays[f"{name}_shape"] = np.array(X.shape)
            else:
                arrays[name] = X
        np.savez(path, penalty=self.penalty, strength=self.strength, about=self.about, **arrays)

    @classmethod
    def load(cls, path: Path) -> Problem:
        z = np.load(path)

        def matrix(name):
            if name in z:
                return z[name]
            return sp.csr_matrix(
                (z[f"{name}_data"], z[f"{name}_indices"], z[f"{name}_indptr"]), shape=z[f"{name}_shape"]
            )

        return cls(
            matrix("X"), z["y"], matrix("X_test"), z["y_test"], str(z["penalty"]), float(z["strength"]), str(z["about"])
        )


def _folder() -> Path:
    folder = os.environ.get("LOGLINEAR_DATA")
    if not folder:
        raise SystemExit("set LOGLINEAR_DATA to the folder with r8/, reuters/ and a9a/ (or run --only dense)")
    return Path(folder)


def _text(train, y, test, y_test, penalty, strength, about, every) -> Problem:
    train, y = train[::every], y[::every]
    words = WordNgrams(ngrams=(1, 2))
    indptr, indices, values = words.fit_transform(train, 2)
    d = len(words.vocabulary)
    X = sp.csr_matrix((values, indices, indptr), shape=(len(train), d))
    indptr, indices, values = words.transform(test, 2)
    X_test = sp.csr_matrix((values, indices, indptr), shape=(len(test), d))
    return Problem(
        X, np.array(y), X_test, np.array(y_test), penalty, strength, f"{about}, {X.shape[0]} x {d}, {X.nnz} non-zeros"
    )


def r8(every: int, penalty: str = "l2") -> Problem:
    parts = []
    for name in ("train", "test"):
        with gzip.open(_folder() / "r8" / f"{name}.tsv.gz", "rt", encoding="utf-8") as file:
            parts += zip(*(line.rstrip("\n").split("\t", 1) for line in file))
    about = f"R8, words and pairs, 8 classes, {penalty}"
    return _text(list(parts[1]), parts[0], list(parts[3]), parts[2], penalty, 1.0, about, every)


def reuters(every: int) -> Problem:
    train, test = [], []
    with gzip.open(_folder() / "reuters" / "modapte.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            split, topics, text = line.rstrip("\n").split("\t", 2)
            (train if split == "train" else test).append((int("money-fx" in topics.split(",")), text))
    y, X = zip(*train)
    y_test, X_test = zip(*test)
    return _text(list(X), y, list(X_test), y_test, "l2", 1.0, "Reuters, Money-fx or not, words and pairs", every)


def a9a(every: int) -> Problem:
    parts = []
    for name in ("a9a.gz", "a9a.t.gz"):
        data = read_svmlight(_folder() / "a9a" / name, n_features=123)
        parts.append(sp.csr_matrix((data.values, data.indices, data.indptr), shape=(len(data.labels), 123)))
        parts.append(np.array([int(float(label) > 0) for label in data.labels]))
    X, y = parts[0][::every], parts[1][::every]
    return Problem(X, y, *parts[2:], "l2", 1.0, f"a9a, {X.shape[0]} x 123, binary")


def dense(every: int) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24000, 200)) * np.geomspace(0.1, 2.0, 200)
    W = rng.normal(size=(200, 10)) * 0.3
    y = np.argmax(X @ W + rng.gumbel(size=(24000, 10)), axis=1)
    train, about = slice(0, 20000, every), f"synthetic, dense, {20000 // every} x 200, 10 classes"
    return Problem(X[train], y[train], X[20000:], y[20000:], "l2", 1.0, about)


PROBLEMS = {"r8": r8, "r8-l1": lambda every: r8(every, "l1"), "reuters": reuters, "a9a": a9a, "dense": dense}
