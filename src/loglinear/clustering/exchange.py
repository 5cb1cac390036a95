"""Exchange clustering: words move between classes while a class bigram model explains the text better.

    p(w | v) = p(w | c(w)) p(c(w) | c(v))

A pass takes every word, the most frequent ones first, to the class where the log-likelihood is highest; passes follow
until no word moves. The result is a local optimum, the same for any number of threads. It begins with the classes of
frequent words that Brown's merges give, from which exchanges end higher, and sooner, than from one class per frequent
word. Sentences are separated by a boundary with a class of its own (Kneser and Ney 1993; Martin, Liermann and Ney
1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.data.sentences import Sentences
from loglinear.status import Status

MAX_PASSES = 30
_MERGED = 4  # times the number of classes: words that begin in merged classes; more cost time and gain nothing
Labels = NDArray[np.uint32]  # [n_words]
Report = Callable[[int, int, float], None]  # (passes made, words that moved or are still to come, objective)


class WordBigrams:
    """The bigrams of sentences, counted once for any number of clusterings.

    n_words : size of the vocabulary, ``</s>`` included
    counts : occurrences of each word; of number 0, ``</s>``, the sentences: [n_words] int32
    by_count : the words that occur but for ``</s>``, by falling count: [n_types] uint32
    """

    def __init__(self, sentences: Sentences, n_threads: int | None = None) -> None:
        self.n_words = sentences.n_words
        self.native = _core.Bigrams(threads.pool(n_threads), sentences.n_words, *sentences.contiguous())
        self.counts: NDArray[np.int32] = self.native.counts()
        self.by_count: Labels = self.native.by_count()


@dataclass(frozen=True)
class Clustering:
    """Classes of words; the classes are numbered by falling count."""

    labels: Labels  # that of </s>, number 0, is n_classes
    n_classes: int
    log_likelihood: float  # of the text by the class bigram model, ends of sentences included
    n_passes: int
    status: Status  # converged, max_iterations or interrupted


def check_n_classes(n_classes: int, n_types: int) -> None:
    """Raise ValueError unless so many words can have so many classes."""
    if not isinstance(n_classes, (int, np.integer)) or isinstance(n_classes, bool) or n_classes < 1:
        raise ValueError(f"the number of classes is {n_classes!r}; it must be a whole number from 1")
    if n_classes > n_types:
        raise ValueError(
            f"{n_classes} classes were asked for, and the text has only {n_types} different words that are frequent "
            "enough; ask for fewer classes or give more text"
        )


def first_classes(bigrams: WordBigrams, n_classes: int, n_threads: int | None = None) -> Labels:
    """Return the start of an exchange: classes of the most frequent words by Brown's merges; all others share one."""
    check_n_classes(n_classes, bigrams.by_count.size)
    pool = threads.pool(n_threads)
    native = _core.Merger(pool, bigrams.native, n_classes)
    native.insert(pool, (_MERGED - 1) * n_classes)
    native.put_rest(pool)
    labels: Labels = native.labels()
    labels[0] = 0  # the boundary; the kernel gives it a class of its own
    return labels


def exchange(
    bigrams: WordBigrams, n_classes: int, *, max_passes: int = MAX_PASSES, start: Labels | None = None,
    n_threads: int | None = None, report: Report | None = None,
) -> Clustering:
    """Cluster the words of a text. Ctrl-C ends it after the current pass, and the classes so far are returned.

    start : the class of each word to begin with; None: see :func:`first_classes`
    """
    start = first_classes(bigrams, n_classes, n_threads) if start is None else start
    native = _core.Exchange(bigrams.native, n_classes, start)
    return _passes(native, bigrams, n_classes, max_passes, n_threads, report)


def bidirectional(
    bigrams: WordBigrams, n_classes: int, *, max_passes: int = MAX_PASSES, start: Labels | None = None,
    n_threads: int | None = None, report: Report | None = None,
) -> Clustering:
    """Cluster the words of a text by how the words on either side predict their classes; see :func:`exchange`.

    The sum of p(w | c(w)) p(c(w) | v) over words v before w, and the same over words after it, is what rises (Dehdari,
    Tan and van Genabith 2016, with equal weights); the log-likelihood of the result is that of the class bigram model.
    """
    start = first_classes(bigrams, n_classes, n_threads) if start is None else start
    native = _core.Bidirectional(bigrams.native, n_classes, start)
    return _passes(native, bigrams, n_classes, max_passes, n_threads, report)


def _passes(
    native: _core.Exchange | _core.Bidirectional, bigrams: WordBigrams, n_classes: int, max_passes: int,
    n_threads: int | None, report: Report | None,
) -> Clustering:
    """Make passes until no word moves."""
    if not isinstance(max_passes, int) or max_passes < 0:
        raise ValueError(f"max_passes must be a whole number from 0, not {max_passes!r}")
    pool = threads.pool(n_threads)
    n_passes, status = 0, Status.MAX_ITERATIONS
    try:
        while n_passes < max_passes:
            n_moved = native.step(pool)
            n_passes += 1
            if report is not None:
                report(n_passes, n_moved, native.objective)
            if n_moved == 0:
                status = Status.CONVERGED
                break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    labels = numbered_by_count(native.labels(), bigrams, n_classes)
    return Clustering(labels, n_classes, log_likelihood(bigrams, labels, n_classes), n_passes, status)


def log_likelihood(bigrams: WordBigrams, labels: Labels, n_classes: int) -> float:
    """Return the log-likelihood of the text by the class bigram model of these classes."""
    start = np.array(labels, np.uint32)
    start[0] = 0  # the boundary; the kernel gives it a class of its own
    return float(_core.Exchange(bigrams.native, n_classes, start).objective)


def numbered_by_count(labels: Labels, bigrams: WordBigrams, n_classes: int) -> Labels:
    """Number the classes by falling count, ties as they were.

    Words that do not occur take the class with the most words: one of rare words, as they are.
    """
    used = bigrams.by_count
    totals = np.bincount(labels[used], weights=bigrams.counts[used], minlength=n_classes)
    number = np.empty(n_classes + 1, np.uint32)
    number[np.argsort(-totals, kind="stable")] = np.arange(n_classes)
    number[n_classes] = n_classes
    out = np.full(labels.size, number[np.argmax(np.bincount(labels[used], minlength=n_classes))], np.uint32)
    out[used] = number[labels[used]]
    out[0] = n_classes
    return out


def cluster_words(
    text: Sentences | WordBigrams, n_classes: int, *, max_passes: int = MAX_PASSES, n_threads: int | None = None
) -> Labels:
    """Return the class of each word of the vocabulary, from 0; ``</s>`` has a class of its own, number ``n_classes``.

    To cluster one text several times, count it once: ``bigrams = WordBigrams(sentences)``.
    """
    bigrams = text if isinstance(text, WordBigrams) else WordBigrams(text, n_threads)
    return exchange(bigrams, n_classes, max_passes=max_passes, n_threads=n_threads).labels
