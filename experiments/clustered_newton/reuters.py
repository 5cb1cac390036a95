"""Reuters topics as binary problems, with the redundant features that Mathur and Chakrabarti describe.

The features of a document, each with its count, are words as written, words in lower case, word pairs at distance 1 to
``distance``, and shapes (hasDigit, isFourDigits, hasCap, isAllCaps, isAbbrev, the pattern of character classes) alone
and joined with the lower-case word. They are redundant on purpose: isFourDigits implies hasDigit, isAllCaps implies
hasCap, and a word that is always spelt in one way repeats its lower-case form.
"""

from __future__ import annotations

import gzip
import re

import numpy as np

from benchmarks.report import data_folder
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.features.tokens import TokenFeatures

TOKEN = re.compile(r"[A-Za-z]+(?:[.'][A-Za-z]+)*\.?|\d+(?:[.,/]\d+)*|[^\sA-Za-z\d]")


def shapes(token: str) -> list[str]:
    out = []
    if any(c.isdigit() for c in token):
        out.append("hasDigit")
        if len(token) == 4 and token.isdigit():
            out.append("isFourDigits")
    if any(c.isupper() for c in token):
        out.append("hasCap")
        if token.isupper() and len(token) > 1:
            out.append("isAllCaps")
    if re.fullmatch(r"(?:[A-Za-z]\.)+|[A-Z]{2,4}\.?", token):
        out.append("isAbbrev")
    pattern = re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "0", token)))
    out.append("shape:" + pattern)
    return out


def features(text: str, distance: int) -> list[str]:
    tokens = TOKEN.findall(text)
    lower = [t.lower() for t in tokens]
    out = [f"w:{t}" for t in tokens] + [f"l:{t}" for t in lower]
    for gap in range(1, distance + 1):
        out += [f"p{gap}:{a}_{b}" for a, b in zip(lower, lower[gap:])]
    for token, low in zip(tokens, lower):
        for shape in shapes(token):
            out += [shape, f"{shape}|{low}"]
    return out


def load(distance: int = 2) -> tuple[SparseRows, SparseRows, list[set[str]], list[set[str]]]:
    """Return (training rows, test rows, training topics, test topics)."""
    train, test, train_topics, test_topics = [], [], [], []
    path = data_folder("reuters/") / "reuters" / "modapte.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            split, topics, text = line.rstrip("\n").split("\t", 2)
            (train if split == "train" else test).append(features(text, distance))
            (train_topics if split == "train" else test_topics).append(set(topics.split(",")))
    featuriser = TokenFeatures()
    indptr, indices, values = featuriser.fit_transform(train)
    n = len(featuriser.vocabulary)
    rows = SparseRows(indptr, indices, values, n)
    return rows, SparseRows(*featuriser.transform(test), n), train_topics, test_topics


def problem(rows: SparseRows, topics: list[set[str]], topic: str) -> MulticlassData:
    """Return the binary problem whether a document is about ``topic``."""
    return MulticlassData(rows, np.array([topic in t for t in topics], dtype=np.int32), 2)
