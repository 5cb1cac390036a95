"""Queries of an n-gram model: scores of sentences, states, the next word, samples.

A back-off model becomes an automaton whose states are contexts (``native/backoff/automaton.hh``): natural logarithms in
single precision, 16 bytes per context, 12 per n-gram, and half as much again for contexts with many n-grams. Its arrays
can be mapped from a file; one model serves any number of threads.

Methods with KenLM's names do what they do there: logarithms to base 10, words separated by ASCII blanks, a word that is
not in the vocabulary counts as ``<unk>``. Without ``<unk>`` (a closed vocabulary) such a word is an error. ``<s>`` is
never predicted: inside a sentence it is an unknown word.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.backoff import automaton
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.native import native_model
from loglinear.data.sentences import Sentences
from loglinear.errors import IncompatibleError, ModelFileError
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.named_arrays import StoredArrays
from loglinear.metrics.perplexity import perplexity
from loglinear.threads import pool

State = _core.QueryState
FloatArray = NDArray[np.float64]
LOG10 = math.log10(math.e)
_IN_BLOCKS = ("contexts", "entries")
_ARRAYS = {"begin": np.int64, "context_start": np.int64, "contexts": np.uint32, "entries": np.uint32}


class FullScoreReturn(NamedTuple):
    """The result of ``BaseFullScore``: log10 probability, length of the n-gram found, whether the word is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


@dataclass(frozen=True)
class SentenceScores:
    """Log-probabilities (natural) of n sentences, their ends included."""

    log_probability: FloatArray  # [n]
    unknown_log_probability: FloatArray  # [n] of the unknown words alone
    n_words: NDArray[np.int64]  # [n] without the ends
    n_unknown: NDArray[np.int64]  # [n]
    hits: NDArray[np.int64]  # [order] tokens of all sentences that were found as an n-gram of that order
    n_ends: int = 1  # ends predicted per sentence

    @property
    def n_tokens(self) -> NDArray[np.int64]:
        """Return the number of words and ends of each sentence: [n]."""
        return self.n_words + self.n_ends

    @property
    def log10(self) -> FloatArray:
        """Return the log-probability to base 10 of each sentence: [n]."""
        return self.log_probability * LOG10

    @property
    def perplexity(self) -> float:
        """Return the perplexity of all sentences together, ends included."""
        return perplexity(float(self.log_probability.sum()), int(self.n_tokens.sum()))

    @property
    def perplexity_without_unknown(self) -> float:
        """Return the perplexity without unknown words, which remain in contexts."""
        known = self.log_probability.sum() - self.unknown_log_probability.sum()
        return perplexity(float(known), int(self.n_tokens.sum() - self.n_unknown.sum()))


class NgramQueries:
    """An n-gram model that answers queries. Made by ``from_backoff`` or, from saved arrays, by ``from_arrays``."""

    vocabulary: WordVocabulary
    order: int
    n_threads: int | None
    _native: Any  # _core.BackoffQueries, or another class with its methods

    @classmethod
    def from_backoff(cls, model: BackoffModel, *, n_threads: int | None = None) -> NgramQueries:
        """Make the automaton of a back-off model; it gives the model's probabilities in single precision."""
        threads = pool(n_threads)
        parts = _core.build_automaton(threads, native_model(model, threads))
        return cls.from_automaton(model.vocabulary, *parts, n_threads=n_threads)

    @classmethod
    def from_automaton(
        cls, vocabulary: WordVocabulary, begin: int, context_start: np.ndarray, contexts: np.ndarray,
        entries: np.ndarray, *, n_threads: int | None = None,
    ) -> NgramQueries:
        """Take the parts of an automaton as the extension returns them."""
        parts = (np.array([begin], dtype=np.int64), context_start, contexts, entries)
        return cls.from_arrays(vocabulary, dict(zip(_ARRAYS, parts)), n_threads=n_threads)

    @classmethod
    def from_arrays(
        cls, vocabulary: WordVocabulary, arrays: Mapping[str, np.ndarray], *, n_threads: int | None = None
    ) -> NgramQueries:
        """Take arrays as ``arrays()`` returned them, also memory-mapped or still in a file (``StoredArrays``).

        Every number is checked: now if there are at most half a million slots, otherwise with 4,096 contexts at a time,
        before the first query that uses one of them. Opening thus takes no longer for a larger model. Arrays in a file
        are read, to memory of our own, in the same blocks.
        """
        queries = cls.__new__(cls)
        queries._adopt(vocabulary, arrays, n_threads)
        return queries

    def _adopt(self, vocabulary: WordVocabulary, arrays: Mapping[str, np.ndarray], n_threads: int | None) -> None:
        stored = arrays if isinstance(arrays, StoredArrays) and not arrays.mmap else None
        given = {name: _checked_array(arrays, name, stored if name in _IN_BLOCKS else None) for name in _ARRAYS}
        file = None
        if stored is not None:
            file = _core.AutomatonFile(stored.file.fileno(), str(stored.file.path), *map(stored.offset, _IN_BLOCKS))
        begin = given["begin"]
        if begin.size != 1 or not 0 <= begin[0] < 2**32:
            raise ModelFileError("query arrays: the state after <s> does not exist")
        try:
            self._native = _core.BackoffQueries(
                pool(n_threads), int(begin[0]), given["context_start"], given["contexts"], given["entries"],
                vocabulary.words.blob, vocabulary.words.offsets, vocabulary.is_open, file,
            )
        except ValueError as error:
            raise ModelFileError(str(error)) from None
        self.vocabulary = vocabulary
        self.order = given["context_start"].size - 1
        self.n_threads = n_threads
        self._arrays = given

    def keep_alive(self, other: Any) -> None:
        """Keep an object as long as the queries live, such as the watch over the pages that their arrays are on."""
        self._kept = other

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a file must hold beside the vocabulary."""
        return dict(self._checked_arrays)

    @cached_property
    def _checked_arrays(self) -> Mapping[str, np.ndarray]:
        """The arrays after a check of every number; queries check parts of large ones as they come to them."""
        try:
            self._native.check_all(pool(self.n_threads))
        except ValueError as error:
            raise ModelFileError(str(error)) from None
        return self._arrays

    def to_backoff(self) -> BackoffModel:
        """Return the model as contexts and entries, in the single precision of the automaton."""
        return automaton.to_backoff(self.vocabulary, self._checked_arrays, n_threads=self.n_threads)

    @property
    def n_states(self) -> int:
        """Contexts that matter, the empty one included."""
        return len(self._arrays["contexts"])

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays in bytes."""
        return sum(array.nbytes for array in self._arrays.values())

    def __reduce__(self) -> tuple[Any, ...]:
        words = self.vocabulary.words
        return _restore, (type(self), np.asarray(words.blob), np.asarray(words.offsets), self.arrays(), self.n_threads)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(order={self.order}, {len(self.vocabulary)} words, {self.n_states} states)"

    # ---- as kenlm.Model ------------------------------------------------------------------------------------------
    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """Return log10 p(sentence </s> | <s>); ``bos`` and ``eos`` say whether ``<s>`` and ``</s>`` are included."""
        return self._native.score(sentence, bos, eos)

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """Yield (log10 probability, length of the n-gram found, unknown) of each token."""
        yield from self._native.full_scores(sentence, bos, eos)

    def perplexity(self, sentence: str | bytes) -> float:
        """Return the perplexity of one sentence, its end included."""
        return perplexity(self.score(sentence) / LOG10, len(as_bytes(sentence).split()) + 1)

    def BeginSentenceWrite(self, state: State) -> None:
        """Set the state to that after ``<s>``."""
        self._native.begin(state)

    def NullContextWrite(self, state: State) -> None:
        """Set the state to that without context."""
        self._native.empty(state)

    def BaseScore(self, in_state: State, word: str, out_state: State) -> float:
        """Return log10 p(word | in_state); set ``out_state``, possibly the same object, to the state after the word."""
        return self._native.base_score(in_state, word, out_state)

    @property
    def native_base_score(self) -> Callable[[State, str, State], float]:
        """Return ``BaseScore`` as a function of the extension, for loops that call it very often."""
        return self._native.base_score

    def BaseFullScore(self, in_state: State, word: str, out_state: State) -> FullScoreReturn:
        """Do as ``BaseScore``; also return the length of the n-gram found and whether the word is unknown."""
        return FullScoreReturn(*self._native.step(in_state, word, out_state))

    def __contains__(self, word: str | bytes) -> bool:
        text = as_bytes(word).decode("utf-8", "surrogateescape")
        return text == "<s>" or (text != "<unk>" and text in self.vocabulary)

    # ---- many sentences ------------------------------------------------------------------------------------------
    def score_batch(self, sentences: Sequence[str | bytes], bos: bool = True, eos: bool = True) -> FloatArray:
        """Return the ``score`` of each sentence, computed on all threads: [n]."""
        return self.score_texts(sentences, bos, eos).log10

    def score_texts(self, sentences: Sequence[str | bytes], bos: bool = True, eos: bool = True) -> SentenceScores:
        """Score sentences given as text, and count what an evaluation reports."""
        return SentenceScores(*self._native.score_batch(pool(self.n_threads), sentences, bos, eos), n_ends=int(eos))

    def score_lines(self, text: bytes | np.ndarray) -> SentenceScores:
        """Score every line of a text as one sentence; an empty line is a sentence with ``</s>`` alone."""
        data = text if isinstance(text, np.ndarray) else np.frombuffer(text, dtype=np.uint8)
        return SentenceScores(*self._native.score_lines(pool(self.n_threads), data))

    def score_sentences(self, sentences: Sentences) -> SentenceScores:
        """Score sentences of word numbers, as ``score_batch`` does for texts."""
        return self._scored(sentences, None)

    def token_log_probabilities(self, sentences: Sentences) -> FloatArray:
        """Return the natural log-probabilities of all tokens and ends of sentences: [n_tokens + n_sentences]."""
        tokens = np.empty(sentences.n_tokens + sentences.n_sentences)
        self._scored(sentences, tokens)
        return tokens

    def token_scores(self, sentences: Sentences) -> tuple[FloatArray, NDArray[np.uint8]]:
        """Return the same, and the length of the n-gram that matched each token: [n_tokens] both."""
        tokens = np.empty(sentences.n_tokens + sentences.n_sentences)
        lengths = np.empty(tokens.size, dtype=np.uint8)
        self._scored(sentences, tokens, lengths)
        return tokens, lengths

    def _scored(
        self, sentences: Sentences, tokens: FloatArray | None, lengths: NDArray[np.uint8] | None = None
    ) -> SentenceScores:
        self._check_numbers(sentences)
        scores = self._native.score_sentences(
            pool(self.n_threads), sentences.words, sentences.sentence_ptr, tokens, lengths
        )
        return SentenceScores(*scores)

    def _check_numbers(self, sentences: Sentences) -> None:
        if sentences.n_words != self.vocabulary.n_words:
            raise IncompatibleError(
                f"the sentences are numbered by a vocabulary of {sentences.n_words} words, the model's has "
                f"{self.vocabulary.n_words}; encode them with the vocabulary of the model"
            )

    def look_up(self, context: int | None, word: int) -> tuple[list[automaton.ContextLookup], int]:
        """Return what the contexts that a history ends in hold for a word, and the context after it, all as numbers.

        A context of None is that after ``<s>``; see ``automaton.look_up``.
        """
        arrays = self._checked_arrays
        return automaton.look_up(arrays, int(arrays["begin"][0]) if context is None else context, word)

    # ---- the next word -------------------------------------------------------------------------------------------
    def state(self, context: str | bytes | Sequence[str] = (), bos: bool = True) -> State:
        """Return the state after the words of a context, which begins a sentence unless ``bos`` is false."""
        state = State()
        if bos:
            self._native.begin(state)
        if isinstance(context, (str, bytes)):
            self._native.walk(state, context)
        else:
            for word in context:
                self._native.step(state, word, state)
        return state

    def next_distribution(
        self, context: str | bytes | Sequence[str] | State = (), bos: bool = True
    ) -> FloatArray:
        """Return the probability of every word of the vocabulary, ``</s>`` first, after the context: [V]."""
        out = np.empty(self.vocabulary.n_words)
        state = context if isinstance(context, State) else self.state(context, bos)
        self._fill_distribution(state, out)
        return out

    def _fill_distribution(self, state: State, out: FloatArray) -> None:
        self._native.next_distribution(state, out)

    def top(
        self, context: str | bytes | Sequence[str] | State = (), k: int = 10, bos: bool = True
    ) -> list[tuple[str, float]]:
        """Return the ``k`` most probable next words with their probabilities, best first."""
        if operator.index(k) < 0:
            raise ValueError(f"k must not be negative, not {k}")
        p = self.next_distribution(context, bos)
        return [(self.vocabulary.word(int(w)), float(p[w])) for w in _core.most_probable(p, k)]

    def sample(
        self,
        n: int = 1,
        *,
        max_length: int = 1000,
        random_state: int | np.random.Generator | None = None,
        temperature: float = 1.0,
        context: str | bytes | Sequence[str] = (),
        unknown: bool = True,
    ) -> list[str]:
        """Draw ``n`` sentences from the model, words joined by blanks, of at most ``max_length`` words each.

        They continue ``context``, which is not repeated. A ``temperature`` below 1 prefers probable words;
        ``unknown=False`` never draws ``<unk>``. The same seed gives the same sentences on any number of threads.
        """
        if operator.index(n) < 0 or operator.index(max_length) < 0:
            raise ValueError("n and max_length must not be negative")
        seed = int(np.random.default_rng(random_state).integers(2**63))
        words, ptr = self._draw(self.state(context), n, max_length, temperature, unknown, seed)
        names = {int(w): self.vocabulary.word(int(w)) for w in np.unique(words)}
        spelt = [names[w] for w in words.tolist()]
        return [" ".join(spelt[a:b]) for a, b in zip(ptr[:-1].tolist(), ptr[1:].tolist())]

    def _draw(self, state: State, *settings: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        return self._native.sample(pool(self.n_threads), state, *settings)


def as_bytes(text: str | bytes) -> bytes:
    """Return text as UTF-8 bytes; raise TypeError for anything but text and bytes."""
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    raise TypeError(f"expected str or bytes, not {type(text).__name__}")


def _checked_array(arrays: Mapping[str, np.ndarray], name: str, stored: StoredArrays | None) -> np.ndarray:
    """Return an array, or, for one that is ``stored``, memory for it."""
    array = arrays.get(name) if stored is None or name not in stored else stored.empty(name)
    if not isinstance(array, np.ndarray) or array.dtype != _ARRAYS[name]:
        raise ModelFileError(f"query arrays: {name!r} is missing or is not of type {np.dtype(_ARRAYS[name]).name}")
    if name not in _IN_BLOCKS and array.ndim != 1:
        raise ModelFileError(f"query arrays: {name!r} has {array.ndim} dimensions, not one")
    return np.ascontiguousarray(array)


def _restore(
    cls: type[NgramQueries], blob: np.ndarray, offsets: np.ndarray, arrays: dict[str, np.ndarray], n_threads: int | None
) -> NgramQueries:
    return cls.from_arrays(WordVocabulary(Vocabulary.from_arrays(blob, offsets)), arrays, n_threads=n_threads)
