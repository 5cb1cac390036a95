"""Binary files of KenLM: asked where they lie, listed where they can be, and written.

``native/kenlm/layout.hh`` describes the files. Opening one reads it, or maps one of over 16 MiB; every position that a
query reads is checked before it is used, so that a file from anywhere costs no more than a wrong answer. Numbers of
words in a file are KenLM's; here the vocabulary puts ``</s>`` and ``<unk>`` first, as everywhere.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.backoff import automaton
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import backoff_model, native_model
from loglinear.backoff.queries import FloatArray, NgramQueries, SentenceScores, State
from loglinear.data.sentences import Sentences
from loglinear.errors import FormatError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import END, WordVocabulary
from loglinear.formats.text import Source, atomic_write, map_bytes, name_of, read_bytes, read_head
from loglinear.threads import pool

KINDS = (
    "probing", "probing with rest costs", "trie", "trie, quantised", "trie, array-compressed",
    "trie, quantised and array-compressed",
)  # fmt: skip
_MAGIC = b"mmap lm http://kheafield.com/code"
_LN10 = float(np.log(10.0))
_ENTRY, _CONTEXT = 1, 2
_MOST_COPIED = 1 << 24  # bytes of a file that is read rather than mapped: it is opened in a few milliseconds
_ARRAY_BITS = 64  # array compression moves as many bits of positions as make the file smallest


def is_binary(path: Source) -> bool:
    """Return whether a file begins as KenLM's binary files do."""
    return os.fspath(path) != "-" and read_head(path, len(_MAGIC)) == _MAGIC


class BinaryQueries(NgramQueries):
    """A binary file of KenLM that answers queries; made by ``open``.

    Scores need nothing but the file. What names words (``vocabulary``, ``top``, ``sample``) needs a file with words;
    what lists n-grams (``to_backoff``, ``look_up``, ``arrays``) needs one of the kinds that are tries.
    """

    _native: Any
    path: Source
    _file_bytes: int

    @classmethod
    def open(cls, path: Source, *, mmap: bool | None = None, n_threads: int | None = None) -> BinaryQueries:
        """Open a file; raise FormatError for one that is damaged or of a kind that is not known.

        mmap : use the pages of the file itself, which must then stay as it is. False: copy it to memory. None: copy
            it if it has at most 16 MiB
        """
        queries = cls.__new__(cls)
        queries.path, queries.n_threads = path, n_threads
        if mmap is None:
            mmap = Path(path).is_file() and Path(path).stat().st_size > _MOST_COPIED
        data = map_bytes(path) if mmap else np.frombuffer(read_bytes(path), np.uint8)
        queries._file_bytes = data.nbytes
        try:
            queries._native = _core.KenlmQueries(data)
        except ValueError as error:
            raise FormatError(str(error), name_of(path)) from None
        queries.order = queries._native.order
        return queries

    @property
    def kind(self) -> str:
        """Return how the file is laid out, one of ``KINDS``."""
        return KINDS[self._native.kind]

    @property
    def counts(self) -> list[int]:
        """Return the number of n-grams of each order, ``<s>`` included."""
        return list(self._native.counts)

    @property
    def has_words(self) -> bool:
        """Return whether the file has the words themselves."""
        return bool(self._native.has_words)

    # ---- words ------------------------------------------------------------------------------------------------------
    @cached_property
    def _words(self) -> tuple[WordVocabulary, NDArray[np.uint32]]:
        """The vocabulary, and the number in the file of each of its words."""
        try:
            blob, offsets = self._native.words()
        except ValueError as error:
            raise FormatError(str(error), name_of(self.path)) from None
        begin, end = self._native.specials
        if end == 0:
            raise FormatError(f"the model has no {END}, so that sentences cannot be scored", name_of(self.path))
        is_other = np.ones(len(offsets) - 1, bool)
        is_other[[0, begin, end]] = False
        numbers = np.concatenate([[end, 0], np.flatnonzero(is_other)])
        words = Vocabulary.from_arrays(blob, offsets).take(numbers)
        return WordVocabulary(words), numbers.astype(np.uint32)

    @cached_property
    def vocabulary(self) -> WordVocabulary:  # type: ignore[override]
        """The words, ``</s>`` and ``<unk>`` first."""
        return self._words[0]

    def __contains__(self, word: str | bytes) -> bool:
        return bool(self._native.contains(word))

    # ---- queries ----------------------------------------------------------------------------------------------------
    def _scored(
        self, sentences: Sentences, tokens: FloatArray | None, lengths: NDArray[np.uint8] | None = None
    ) -> SentenceScores:
        self._check_numbers(sentences)
        numbers = self._words[1][sentences.words]
        return SentenceScores(
            *self._native.score_sentences(pool(self.n_threads), numbers, sentences.sentence_ptr, tokens, lengths)
        )

    def _fill_distribution(self, state: State, out: FloatArray) -> None:
        self._native.next_distribution(pool(self.n_threads), state, self._words[1], out)

    def _draw(self, state: State, *settings: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        words, ptr = self._native.sample(pool(self.n_threads), state, self._words[1], *settings)
        return words, ptr

    # ---- n-grams ----------------------------------------------------------------------------------------------------
    def to_backoff(self) -> BackoffModel:
        """Return the model of a trie as contexts and entries; raise FormatError for a probing file, which has none."""
        vocabulary, numbers = self._words
        try:
            orders = self._native.ngrams()
        except ValueError as error:
            raise FormatError(str(error), name_of(self.path)) from None
        number_of = np.full(int(numbers.max()) + 2, vocabulary.begin, np.uint32)
        number_of[numbers] = np.arange(numbers.size, dtype=np.uint32)
        words, kinds, log_p, log_b = [], [], [], []
        for n, (own, log10, backoff) in enumerate(orders, 1):
            rows = number_of[own].reshape(-1, n)
            is_entry = rows[:, -1] != vocabulary.begin
            is_entry &= (rows[:, 1:] != vocabulary.begin).all(axis=1)
            is_context = np.zeros(len(rows), bool)
            if n < len(orders):
                is_context = (backoff != 0) & (rows[:, 1:] != vocabulary.begin).all(axis=1)
            words.append(rows.ravel())
            kinds.append((is_entry * _ENTRY + is_context * _CONTEXT).astype(np.uint8))
            log_p.append(np.minimum(log10.astype(np.float64) * _LN10, 0.0))
            log_b.append(backoff.astype(np.float64) * _LN10)
        shape, places = _core.place_ngrams(pool(self.n_threads), vocabulary.n_words, words, kinds)
        log_probability, log_backoff = np.full(shape[5].size, -np.inf), np.zeros(shape[2].size)
        for (entry, context), kind, p, b in zip(places, kinds, log_p, log_b):
            log_probability[entry[kind & _ENTRY > 0]] = p[kind & _ENTRY > 0]
            if b.size:  # not of the highest order
                log_backoff[context[kind & _CONTEXT > 0]] = b[kind & _CONTEXT > 0]
        return backoff_model(vocabulary, shape, log_backoff, log_probability)

    @cached_property
    def _listed(self) -> NgramQueries:
        return NgramQueries.from_backoff(self.to_backoff(), n_threads=self.n_threads)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file with the same n-grams."""
        return self._listed.arrays()

    def look_up(self, context: int | None, word: int) -> tuple[list[automaton.ContextLookup], int]:
        """Return what ``NgramQueries.look_up`` does."""
        return self._listed.look_up(context, word)

    @property
    def n_states(self) -> int:
        """Contexts that matter, the empty one included."""
        return self._listed.n_states

    @property
    def nbytes(self) -> int:
        """Return the size of the file in bytes."""
        return self._file_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (type(self), self.path, self.n_threads)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({os.fspath(self.path)!r}, {self.kind}, order={self.order})"


def _reopened(cls: type[BinaryQueries], path: Source, n_threads: int | None) -> BinaryQueries:
    return cls.open(path, n_threads=n_threads)


def write_binary(
    model: BackoffModel, path: Source, quantise: int | None = None, *, n_threads: int | None = None
) -> None:
    """Write a model, whole or not at all, as a trie that KenLM and ``BinaryQueries`` read.

    Values are exact in single precision, or numbers of ``quantise`` bits (2 to 25) in tables of their own for each
    order; then positions are array-compressed too, and the file is smallest.
    """
    if quantise is not None and not 2 <= quantise <= 25:
        raise ValueError(f"quantise must be between 2 and 25 bits, not {quantise}")
    threads, words = pool(n_threads), model.vocabulary.words
    try:
        data = _core.write_kenlm(
            threads, native_model(model, threads), words.blob, words.offsets, quantise or 0,
            _ARRAY_BITS if quantise else 0,
        )
    except ValueError as error:
        raise FormatError(str(error), name_of(path)) from None
    with atomic_write(path) as file:
        file.write(data.data)
