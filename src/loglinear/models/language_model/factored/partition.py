"""Words in classes, numbered class by class: what a class-factored model predicts first, and then within.

The end of a sentence has a class of its own, number 0. Words that a class file lacks share one more class. Classes may
be classes of smaller classes: a tree, given by one partition per level, each dividing the classes of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import END, WordVocabulary

WITHOUT_CLASS = "<none>"


@dataclass(frozen=True, eq=False)
class WordPartition:
    """The class of every word; every class has a word."""

    of_word: NDArray[np.uint32]  # [V], 0 for </s> alone
    names: tuple[str, ...]  # of the classes

    def __post_init__(self) -> None:
        numbers, n = self.of_word, len(self.names)
        within = numbers.size > 0 and numbers.dtype.kind == "u" and int(numbers.max()) < n
        counts = np.bincount(numbers if within else [], minlength=n)
        if not within or counts[0] != 1 or numbers[0] != 0 or counts.min() < 1:
            raise ValueError("every class needs a word, and class 0 has the end of sentences alone")

    @property
    def n_classes(self) -> int:
        """Return the number of classes, that of ``</s>`` included."""
        return len(self.names)

    @cached_property
    def rank(self) -> NDArray[np.uint32]:
        """Return the number of each word when words are numbered class by class: [V]."""
        out = np.empty(self.of_word.size, np.uint32)
        out[np.argsort(self.of_word, kind="stable")] = np.arange(self.of_word.size, dtype=np.uint32)
        return out

    @cached_property
    def start(self) -> NDArray[np.uint32]:
        """Return the first of these numbers for each class, and their end: [n_classes + 1]."""
        counts = np.bincount(self.of_word, minlength=self.n_classes)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)

    def ranked(self, sentences: Sentences) -> Sentences:
        """Return sentences in these numbers."""
        return Sentences(sentences.n_words, self.rank[sentences.words], sentences.sentence_ptr, sentences.unknown)


def partition_by_labels(labels: NDArray[np.uint32]) -> WordPartition:
    """Return the partition of a clustering; the label of ``</s>``, word 0, is its own."""
    used, of_word = np.unique(labels[1:], return_inverse=True)
    numbers = np.concatenate([[0], of_word + 1]).astype(np.uint32)
    return WordPartition(numbers, (END, *(str(label) for label in used)))


def partition_by_names(classes: Mapping[str, str], vocabulary: WordVocabulary) -> tuple[WordPartition, int]:
    """Return the partition that names give, and how many words they lack, which share a class."""
    number: dict[str, int] = {END: 0}
    of_word = [0]
    missing = 0
    for word in list(vocabulary)[1:]:
        name = classes.get(word)
        missing += name is None
        name = WITHOUT_CLASS if name is None else f"{name} " if name == END else name
        of_word.append(number.setdefault(name, len(number)))
    return WordPartition(np.array(of_word, np.uint32), tuple(number)), missing


def parents(coarse: WordPartition, fine: WordPartition) -> NDArray[np.uint32]:
    """Return the class of each smaller class; raise ValueError unless the smaller ones divide the larger, in order."""
    out = np.zeros(fine.n_classes, np.uint32)
    if coarse.of_word.size == fine.of_word.size:
        out[fine.of_word] = coarse.of_word
        if np.array_equal(out[fine.of_word], coarse.of_word) and np.all(out[1:] >= out[:-1]):
            return out
    raise ValueError("the classes of a tree of classes do not divide those above them")


def group_start(coarse: WordPartition, fine: WordPartition) -> NDArray[np.uint32]:
    """Return the first of the smaller classes in each class, and their end: [n_classes of coarse + 1]."""
    counts = np.bincount(parents(coarse, fine), minlength=coarse.n_classes)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def tree_of_classes(finest: WordPartition, above: Sequence[NDArray[np.uint32]]) -> list[WordPartition]:
    """Return the levels of a tree, the largest classes first, with the smaller ones numbered within the larger.

    above : for each level above the finest, the largest classes first: a label of each of the finest classes; that of
        the end of sentences, class 0, is its own
    """
    every = np.arange(finest.n_classes)
    columns: list[NDArray[Any]] = [*above, every]
    order = np.lexsort([*reversed(columns), every != 0])
    first, number = np.zeros(every.size, bool), np.empty(every.size, np.uint32)
    levels: list[WordPartition] = []
    names = [""] * every.size
    for column in columns:
        first[1:] |= column[order][1:] != column[order][:-1]
        number[order] = np.cumsum(first)
        own: Sequence[str] = finest.names if column is every else [str(n) for n in number.tolist()]
        names = [END, *(f"{before}/{name}" if before else name for before, name in zip(names[1:], own[1:]))]
        named = dict(zip(number.tolist(), names))
        levels.append(WordPartition(number[finest.of_word], tuple(named[n] for n in range(len(named)))))
    return levels
