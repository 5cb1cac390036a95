"""Taggers with and without word classes, on three tasks.

Classes are learnt from text without labels: the words of all three tasks, test sets included (their words, never their
labels), the Brown corpus, Reuters, PTB and 13M words of Gutenberg books, all in lower case. The dev set chooses the
strength, and the page marks the classes that it chooses; CoNLL-2000 has no dev set, so the last 1,000 sentences of its
training set are one.
"""

from __future__ import annotations

import functools
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from experiments.record import Json
from loglinear import Tagger, WordClasses
from loglinear.formats.text import read_bytes
from loglinear.models.tagger.reading import read_sequences

STRENGTHS = (3.0, 1.0, 0.3, 0.1, 0.03)
N_DEV = 1000
# Name -> number of classes and the text they are learnt from; "none" has no classes.
SETTINGS: dict[str, tuple[int, str] | None] = {
    "none": None, "task-200": (200, "task"), "all-200": (200, "all"), "all-1000": (1000, "all"),
}  # fmt: skip


class Task(NamedTuple):
    """A task: its files, its templates, and the label's column; other columns but the word and the tag are dropped."""

    train: str
    dev: str | None
    test: str
    templates: str
    label_column: int
    n_columns: int  # that templates see


TASKS = {
    "wnut17": Task("wnut17/wnut17train.conll.gz", "wnut17/emerging.dev.conll.gz", "wnut17/emerging.test.annotated.gz",
                   "ner", -1, 1),
    "ewt": Task("ewt/train.tsv.gz", "ewt/dev.tsv.gz", "ewt/test.tsv.gz", "pos", 1, 1),
    "conll2000": Task("conll2000/train.txt.gz", None, "conll2000/test.txt.gz", "chunking", -1, 2),
}  # fmt: skip


@functools.cache
def sequences(folder: Path, file: str, label_column: int, n_columns: int) -> tuple[Any, Any]:
    """Return the tokens and the labels of a file."""
    found = read_sequences(folder / file, "conll", label_column=label_column)
    X = found.X
    while X.n_columns > n_columns:
        X = X.without(-1)
    return X, found.labels


def data(folder: Path, name: str) -> tuple[Any, Any, Any]:
    """Return the pairs (X, y) to train, to tune and to test on."""
    task = TASKS[name]
    read = functools.partial(sequences, folder, label_column=task.label_column, n_columns=task.n_columns)
    X, y = read(task.train)
    if task.dev is not None:
        return (X, y), read(task.dev), read(task.test)
    return (X[:-N_DEV], y[:-N_DEV]), (X[-N_DEV:], y[-N_DEV:]), read(task.test)


@functools.cache
def task_text(folder: Path) -> list[list[str]]:
    """Return the words of all tasks, in lower case."""
    text = []
    for name in TASKS:
        for X, _ in data(folder, name):
            text += [[word.lower() for word in sentence] for sentence in X.column(0)]
    return text


def class_text(folder: Path) -> list[list[str]]:
    """Return all text to learn classes from."""
    text = list(task_text(folder))
    for line in read_bytes(folder / "brown/brown.tsv.gz").decode().split("\n"):
        text.append([pair.rpartition("/")[0].lower() for pair in line.split("\t")[-1].split()])
    for line in read_bytes(folder / "reuters/modapte.tsv.gz").decode().split("\n"):
        text.append(re.findall(r"\w+(?:'\w+)?|[^\w\s]", line.split("\t")[-1].lower()))
    for file in ("ptb/ptb.train.txt.gz", "gutenberg/gutenberg13m.txt.gz"):
        text += [line.split() for line in read_bytes(folder / file).decode().lower().split("\n")]
    return [[word for word in sentence if word not in ("<s>", "</s>")] for sentence in text if sentence]


@functools.cache
def _classes(folder: Path, n_classes: int, which: str, threads: int | None) -> tuple[dict[str, str], Json]:
    text = task_text(folder) if which == "task" else class_text(folder)
    model = WordClasses(n_classes, min_count=1 if which == "task" else 3, n_threads=threads, verbose=0).fit(text)
    return model.to_dict(), {"cluster_seconds": model.fit_seconds_, "words": len(model.words_)}


def gain(folder: Path, task: str, setting: str, threads: int | None) -> Json:
    """Train a tagger and return its scores: F1 of spans, or accuracy where labels are no spans."""
    train, dev, test = data(folder, task)
    chosen, classes, about = SETTINGS[setting], None, {}
    if chosen is not None:
        classes, about = _classes(folder, *chosen, threads)
    began = time.perf_counter()
    model = Tagger(templates=TASKS[task].templates, classes=classes, tune=STRENGTHS, n_threads=threads, verbose=0)
    model.fit(*train, validation=dev)
    return {
        **about, "dev": model.validation_score_, "test": model.score(*test), "strength": model.strength_,
        "seconds": time.perf_counter() - began, "weights": int((model.weights_ != 0).sum()),
    }  # fmt: skip
