"""WordClasses: the classes of words, learnt from text without labels, as a scikit-learn estimator."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.clustering import Clustering, WordBigrams, bidirectional, brown, class_bits, exchange
from loglinear.clustering.exchange import MAX_PASSES, Report, check_n_classes
from loglinear.data.corpus import read_corpus
from loglinear.errors import InterruptedWarning
from loglinear.features.word_vocabulary import UNKNOWN
from loglinear.formats.class_file import write_classes, write_paths
from loglinear.formats.running_text import TextSource
from loglinear.models.estimator import Parameters
from loglinear.models.trainer import training_method
from loglinear.optimise.progress import Reading, Working
from loglinear.optimise.training_log import log_step
from loglinear.status import Status

METHODS = {
    "exchange": "words move between classes while a class bigram model explains the text better",
    "bidirectional": "the same, where the words on either side predict the class",
    "brown": "words and classes merge, cheapest first",
}


class WordClasses(Parameters):
    """Classes of words that stand between like neighbours in a text.

    Parameters
    ----------
    n_classes : int, number of classes; default 200
    method : "exchange" (default: words move between classes while the likelihood of a class bigram model rises),
        "bidirectional" (the words on either side predict the class) or "brown" (hierarchical merges)
    min_count : int, words that occur less often are read as ``<unk>``, which has a class; default 1
    max_passes : int, maximum number of passes over the words, for the two exchanges; default 30
    encoding : str, character encoding of files; default "utf-8"
    text_column : str or None, which column of JSON lines, Parquet and Arrow files, and which key of records (dicts), is
        the text; default None, "text"
    n_threads : int or None, number of native threads, which does not change the result; default None, all cores
    verbose : "auto" (default; progress on a terminal after two seconds), 0, or 1 (a line per pass)
    log : path of a file for one JSON object per step of training, or None (default)

    Attributes
    ----------
    words_ : list of str, the words by falling count
    counts_ : occurrences of each word: [n_words] int64
    labels_ : the class of each word, from 0 by falling count of the class: [n_words] int32
    bits_ : list of str, a string of bits for each class by the tree in which classes merge: classes that share more of
        their first bits are more alike: [n_classes]
    log_likelihood_, perplexity_ : float, of the text by the class bigram model, ends of sentences included
    n_tokens_ : int, words and ends of sentences in the text
    n_iter_ : int, passes made
    status_ : why it ended: converged, max_iterations reached or interrupted
    fit_seconds_ : float
    """

    def __init__(
        self,
        n_classes: int = 200,
        *,
        method: str = "exchange",
        min_count: int = 1,
        max_passes: int = MAX_PASSES,
        encoding: str = "utf-8",
        text_column: str | None = None,
        n_threads: int | None = None,
        verbose: str | int = "auto",
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.method = method
        self.min_count = min_count
        self.max_passes = max_passes
        self.encoding = encoding
        self.text_column = text_column
        self.n_threads = n_threads
        self.verbose = verbose
        self.log = log

    @training_method
    def fit(self, X: TextSource, y: Any = None) -> WordClasses:
        """Learn the classes of the words of a text.

        ``X`` is a file, plain or compressed, with one sentence per line, a list of files, or an iterable of
        sentences, strings, lists of words or records (dicts with a text). ``y`` is not used. Ctrl-C keeps the
        classes so far.
        """
        began = time.perf_counter()
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, not {self.method!r}")
        check_n_classes(self.n_classes, 2**31)
        with Reading(self.verbose) as progress:
            sentences, vocabulary = read_corpus(
                X, min_count=self.min_count, encoding=self.encoding, text_column=self.text_column, reserved="skip",
                n_threads=self.n_threads, progress=progress,
            )  # fmt: skip
        with Working(self.verbose) as show:
            show("counting bigrams")
            bigrams = WordBigrams(sentences, self.n_threads)
            check_n_classes(self.n_classes, bigrams.by_count.size)
            found = self._cluster(bigrams, show)
            show("merging classes to a tree")
            self.bits_ = class_bits(bigrams, found.labels, self.n_classes, n_threads=self.n_threads)
        words = list(vocabulary)
        self.words_ = [words[w] for w in bigrams.by_count.tolist()]
        self.counts_ = bigrams.counts[bigrams.by_count].astype(np.int64)
        self.labels_ = found.labels[bigrams.by_count].astype(np.int32)
        self.log_likelihood_, self.n_tokens_ = found.log_likelihood, sentences.n_tokens + sentences.n_sentences
        self.n_iter_, self.status_ = found.n_passes, found.status
        self.fit_seconds_ = time.perf_counter() - began
        if found.status == Status.INTERRUPTED:
            warnings.warn("clustering was interrupted; the classes so far are kept", InterruptedWarning, stacklevel=3)
        return self

    def _cluster(self, bigrams: WordBigrams, show: Working) -> Clustering:
        report = self._report(show)
        if self.method == "brown":
            return brown(bigrams, self.n_classes, n_threads=self.n_threads, report=report)
        run = exchange if self.method == "exchange" else bidirectional
        return run(bigrams, self.n_classes, max_passes=self.max_passes, n_threads=self.n_threads, report=report)

    def _report(self, show: Working) -> Report:
        def report(n_passes: int, n_words: int, objective: float) -> None:
            merging = math.isnan(objective)
            what = f"{n_words:,} words to come" if merging else f"pass {n_passes}, {n_words:,} words moved"
            show(f"clustering: {what}", begins=False)
            log_step("clustering", n_passes, objective=None if merging else objective)

        return report

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        if not hasattr(self, "labels_"):
            check_is_fitted(self, "labels_")

    @property
    def perplexity_(self) -> float:
        """Perplexity of the text by the class bigram model."""
        self._check_fitted()
        return math.exp(-self.log_likelihood_ / self.n_tokens_)

    def predict(self, X: Sequence[str]) -> NDArray[np.int32]:
        """Return the class of each word: [n] int32. Unknown words have that of ``<unk>``, or -1 where it has none."""
        self._check_fitted()
        if isinstance(X, str):
            raise TypeError("X must be a list of words, not one string")
        number = dict(zip(self.words_, self.labels_.tolist()))
        other = number.get(UNKNOWN, -1)
        return np.fromiter((number.get(word, other) for word in X), np.int32, len(X))

    def fit_predict(self, X: TextSource, y: Any = None) -> NDArray[np.int32]:
        """Return ``fit(X).labels_`` [n_words]."""
        return self.fit(X).labels_

    def to_dict(self, *, bits: bool = True) -> dict[str, str]:
        """Return the class of each word as text: its bits, or its number."""
        self._check_fitted()
        names = self.bits_ if bits else [str(n) for n in range(self.n_classes)]
        return {word: names[label] for word, label in zip(self.words_, self.labels_.tolist())}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file of lines ``word TAB class``, by class and falling count."""
        self._check_fitted()
        order = np.argsort(self.labels_, kind="stable").tolist()
        write_classes(path, [self.words_[i] for i in order], self.labels_[order].tolist())

    def save_paths(self, path: str | os.PathLike[str]) -> None:
        """Write a file of lines ``bits TAB word TAB count``, as Brown's tool does."""
        self._check_fitted()
        write_paths(path, self.words_, [self.bits_[c] for c in self.labels_.tolist()], self.counts_.tolist())
