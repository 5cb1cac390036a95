"""Small tagging problems, and what a fitted tagger says about them by enumeration."""

import functools
import re

import chains
import numpy as np
from problems import labelled_texts

from loglinear import Tagger
from loglinear.data.sequence import SequenceData
from loglinear.models.tagger.base import hmm_base

TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\n"
PAIRS = TEMPLATES + "*3:%x[0,1]\n"
ESTIMATORS = ("crf", "memm", "pseudolikelihood", "m-estimation", "hmm")


@functools.cache
def toy(seed=0, n=12, labels="ABC", longest=5):
    """(X, y): tokens of two columns which lean on their label and the one before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        sequence, tags = [], []
        for _ in range(int(rng.integers(1, longest + 1))):
            before = labels.index(tags[-1]) if tags else 0
            tags.append(labels[(before + int(rng.integers(0, 2))) % len(labels) if rng.random() < 0.8 else 0])
            noise = labels[int(rng.integers(len(labels)))]
            sequence.append(((tags[-1] if rng.random() < 0.7 else noise).lower(), noise))
        X.append(sequence)
        y.append(tags)
    return X, y


def as_dicts(X):
    return [[{"w": word, "s": shape, "n": 0.5 * len(word)} for word, shape in sequence] for sequence in X]


@functools.cache
def words(n=60):
    """(X, y): dicts of made-up words with BIO labels: B at an article, I at the word after it."""
    X, y = [], []
    for text in labelled_texts()[0]:
        tokens = re.findall(r"\w+|[^\w\s]", text)[:25]
        if len(tokens) < 4:
            continue
        tags = ["O"] * len(tokens)
        for t, token in enumerate(tokens):
            if token in ("the", "a", "an"):
                tags[t] = "B-NP"
            elif t and tags[t - 1] == "B-NP" and token.isalpha():
                tags[t] = "I-NP"
            elif token.isdigit() or token.endswith("s"):
                tags[t] = "B-S"
        X.append([
            {"w": token, "end": token[-2:], "before": tokens[t - 1] if t else "-", "long": len(token) > 4}
            for t, token in enumerate(tokens)
        ])
        y.append(tags)
    return X[:n], y[:n]


def columns_of(X):
    return [[(token["w"], token["end"]) for token in sequence] for sequence in X]


@functools.cache
def fitted(estimator="crf", order=1, templates=TEMPLATES, **settings):
    X, y = toy()
    return Tagger(estimator, templates, order=order, strength=0.1, **settings).fit(X, y)


def twins(tagger, X, *, base=True):
    """One Enumeration per sequence, under the tagger's own weights (and its HMM)."""
    inputs = tagger.reader_.read(X, 1)
    n = int(inputs.sequence_ptr[-1])
    L = len(tagger.classes_)
    data = SequenceData(inputs.sequence_ptr, inputs.rows, tagger.reader_.n_attributes, np.zeros(n, np.int32), L)
    q0 = hmm_base(tagger.hmm_, inputs.columns) if base and tagger.hmm_ is not None and tagger.has_base else None
    if q0 is not None and q0.stop.ndim == 2:
        q0 = type(q0)(q0.start, q0.stop.reshape(-1), q0.transitions, q0.trigrams, q0.nodes)
    for i in range(len(X)):
        yield chains.Enumeration(data, tagger.features_, tagger.weights_, q0, i)


def scores(tagger, twin):
    """log of what each labelling is proportional to."""
    if tagger.estimator == "memm":
        return np.array([twin.memm_score(y) for y in twin.labellings])
    return twin.scores


def named(tagger, labelling):
    return [tagger.classes_[k] for k in labelling]
