"""The n-gram trie: every n-gram of a corpus up to an order, as flat arrays.

An *entry* (h, w) is an n-gram: a context h of n - 1 words and the next word w. Its parent is (h without its oldest
word, w). Contexts of one length are sorted by their words from the most recent to the oldest, so the children of a
context (with one more, older word) are contiguous, and so are the entries of all of them: a sweep over the trie streams
through memory and looks up parents only within the entries of the parent context.

Numbers of words: 0 is ``</s>``; the V predictable words are 0 .. V - 1 (``<unk>`` is 1 where the vocabulary is open);
``<s>`` is V: it occurs in contexts only. A history is never longer than the sentence so far with one ``<s>`` before it.

    contexts of length k are numbered context_start[k] .. context_start[k + 1] - 1; context 0 is the empty one
    entries of order n are numbered   entry_start[n - 1] .. entry_start[n] - 1;     entry w < V is the unigram w
    entries of context c   context_entry[c] .. context_entry[c + 1] - 1, ascending in entry_word
    children of context c  context_child[c] .. context_child[c + 1] - 1, ascending in context_word

Memory: 12 bytes per entry and 16 per context.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import fingerprint
from loglinear.data.memory import parse_memory
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool

NONE = 0xFFFFFFFF  # no word, no parent
MOST_NGRAMS = NONE - 1  # of a model, whose positions have 32 bits
MAX_ORDER = 255
PIECE_BYTES = 48  # per token of a piece of the corpus while it is sorted
NO_BLOCKS = "no sentences: give at least one block, which may be empty"

IndexArray = NDArray[np.uint32]


@dataclass(frozen=True)
class NgramTrie:
    """Contexts and entries with their counts. Every unigram has an entry, seen or not."""

    order: int
    n_words: int  # V
    context_start: NDArray[np.int64]  # [order + 1]
    entry_start: NDArray[np.int64]  # [order + 1]
    context_word: IndexArray  # [n_contexts] the oldest word of the context; NONE for the empty one
    context_child: IndexArray  # [n_contexts + 1]
    context_entry: IndexArray  # [n_contexts + 1]
    context_count: IndexArray  # [n_contexts] tokens whose history ends in the context, whatever entries were cut off
    entry_word: IndexArray  # [n_entries]
    entry_parent: IndexArray  # [n_entries] number of the parent entry; NONE for unigrams
    entry_count: IndexArray  # [n_entries] tokens

    @property
    def n_contexts(self) -> int:
        """Contexts of all lengths, the empty one included."""
        return self.context_word.size

    @property
    def n_entries(self) -> int:
        """Return the number of n-grams of all orders."""
        return self.entry_word.size

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays in bytes."""
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))

    @property
    def arrays(self) -> list[IndexArray]:
        """Return the arrays of contexts and those of entries, in the order of the extension's arguments."""
        contexts = [self.context_word, self.context_child, self.context_entry, self.context_count]
        return [*contexts, self.entry_word, self.entry_parent, self.entry_count]

    def fingerprint(self) -> str:
        """Return a short hash of the n-grams and their counts."""
        return fingerprint(*self.arrays, start=f"{self.order} {self.n_words}")

    def order_of_entries(self) -> NDArray[np.uint8]:
        """Return the order of each entry: [n_entries]."""
        return np.repeat(np.arange(1, self.order + 1, dtype=np.uint8), np.diff(self.entry_start))


def build_trie(
    sentences: Sentences | Iterable[Sentences], order: int, *, memory: int | str | None = None,
    folder: str | os.PathLike[str] | None = None, n_threads: int | None = None,
) -> NgramTrie:
    """Count every n-gram of the sentences, or of blocks of them, up to ``order`` words.

    The result is the same for any number of threads. Building it in memory takes 12 bytes per entry and 16 per context,
    which is the result, and about 20 bytes per token.

    ``memory``, in bytes or as "4G", limits the memory used besides the sentences given. If the trie of a corpus of that
    size might not fit (``memory_needed``), it is built in files under ``folder`` (default: the system's folder for
    temporary files). The result is the same; its arrays are mapped from files that vanish with the arrays. Blocks are
    then read one at a time. Beyond the limit, 16 bytes per word of the vocabulary and 1 MB per order are used; a limit
    below 1 MB counts as 1 MB.
    """
    _check_order(order)
    blocks = iter([sentences] if isinstance(sentences, Sentences) else sentences)
    if memory is None:
        return _build_in_memory(_concatenate(list(blocks)), order, n_threads)
    limit = max(parse_memory(memory), 1 << 20)
    held: list[Sentences] = []
    n_tokens = 0
    for block in blocks:
        held.append(block)
        n_tokens += block.n_tokens + block.n_sentences
        if memory_needed(n_tokens, block.n_words, order) > limit:
            return _build_in_files(_each_once(held, blocks), order, limit, folder, n_threads)
    return _build_in_memory(_concatenate(held), order, n_threads)


def memory_needed(n_tokens: int, n_words: int, order: int) -> int:
    """Bound the bytes to build a trie in memory: as if no n-gram of two words or more occurred twice."""
    return n_tokens * (PIECE_BYTES + 12 * (order - 1) + 16 * (order - 1)) + 28 * n_words


def _build_in_memory(sentences: Sentences, order: int, n_threads: int | None) -> NgramTrie:
    words, sentence_ptr = sentences.contiguous()
    arrays = _core.build_trie(pool(n_threads), sentences.n_words, words, sentence_ptr, order)
    return NgramTrie(order, sentences.n_words, *arrays)


def _build_in_files(
    blocks: Iterable[Sentences], order: int, limit: int, folder: str | os.PathLike[str] | None, n_threads: int | None,
    piece_tokens: int | None = None,
) -> NgramTrie:
    """Build the trie in temporary files without a name, which live until their arrays do not."""
    runs = None
    for block in blocks:
        if runs is None:
            runs = _core.TrieRuns(os.fspath(folder or tempfile.gettempdir()), block.n_words, order)
        words, sentence_ptr = block.contiguous()
        runs.add(pool(n_threads), block.n_words, words, sentence_ptr, piece_tokens or limit // PIECE_BYTES)
    if runs is None:
        raise ValueError(NO_BLOCKS)
    return mapped_trie(runs.merge(pool(n_threads), 0, NONE, limit // 2, True, None))


def check_positions(n_by_order: Sequence[int], remedy: str) -> None:
    """Raise ValueError for more n-grams than a model can number, and say which order would have few enough.

    remedy : what else would help
    """
    every = [int(n) for n in n_by_order]
    if sum(every) <= MOST_NGRAMS:
        return
    fits = max((n for n in range(1, len(every)) if sum(every[:n]) <= MOST_NGRAMS), default=0)
    lower = f"order={fits} fits, with {sum(every[:fits]):,}; " if fits else ""
    raise ValueError(
        f"there are {sum(every):,} n-grams ({', '.join(f'{n:,}' for n in every)} of orders 1 to {len(every)}), more "
        f"than the {MOST_NGRAMS:,} that a model can number: {lower}{remedy}"
    )


_FEWER = "or train a counted model and leave out rare n-grams (estimator='kneser-ney', prune)"


def mapped_trie(files: _core.MappedTrie, remedy: str = _FEWER) -> NgramTrie:
    """Return a trie in mapped temporary files as arrays, which keep the files alive; ``check_positions`` refuses."""
    context_start, entry_start, *arrays = files.arrays()
    check_positions(np.diff(entry_start), remedy)
    assert not files.is_wide
    n_words = int(entry_start[1])
    return NgramTrie(entry_start.size - 1, n_words, context_start, entry_start, *arrays)


def _each_once(held: list[Sentences], others: Iterator[Sentences]) -> Iterator[Sentences]:
    """Yield all blocks, releasing the held ones as they are used."""
    held.reverse()
    while held:
        yield held.pop()
    yield from others


def _concatenate(blocks: list[Sentences]) -> Sentences:
    if not blocks:
        raise ValueError(NO_BLOCKS)
    if len(blocks) == 1:
        return blocks[0]
    n_words = blocks[0].n_words
    for block in blocks:
        if block.n_words != n_words:
            raise ValueError(f"blocks have {n_words} and {block.n_words} words; they need the same vocabulary")
    before = np.cumsum([0] + [block.n_tokens for block in blocks])
    ends = [block.sentence_ptr[1:] + first for block, first in zip(blocks, before)]
    return Sentences(n_words, np.concatenate([b.words for b in blocks]), np.concatenate([before[:1], *ends]))


def _check_order(order: int) -> None:
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= MAX_ORDER:
        raise ValueError(f"the order is {order!r}; it must be a whole number between 1 and {MAX_ORDER}")


def cut(trie: NgramTrie, min_counts: Sequence[int]) -> NgramTrie:
    """Return the trie without rare n-grams: those of order n >= 2 that occur less than ``min_counts[n - 1]`` times.

    Unigrams are always kept (``min_counts[0]`` has no effect); the last cut-off holds for all higher orders. Cut-offs
    must not decrease with the order, so that the shorter n-grams of every one that is kept are kept too. Contexts
    without entries are dropped; the counts of the others still include all tokens.
    """
    if len(min_counts) == 0 or len(min_counts) > trie.order:
        raise ValueError(f"{len(min_counts)} cut-offs for a trie of order {trie.order}: give 1 to {trie.order}")
    limits = [int(c) for c in min_counts]
    if limits != list(min_counts) or min(limits) < 0:
        raise ValueError(f"cut-offs are whole numbers from 0, not {list(min_counts)}")
    limits += limits[-1:] * (trie.order - len(limits))
    return NgramTrie(trie.order, trie.n_words, *_core.cut_trie(limits, trie.n_words, *_arrays(trie)))


class NgramSet(Protocol):
    """The n-grams of a back-off model (``loglinear.backoff.model``), laid out as those of a trie."""

    @property
    def vocabulary(self) -> WordVocabulary:
        """Return the vocabulary."""
        ...

    @property
    def order(self) -> int:
        """Return the order: the length of the longest n-grams."""
        ...

    @property
    def context_start(self) -> NDArray[np.int64]:
        """[order + 1]."""
        ...

    @property
    def entry_start(self) -> NDArray[np.int64]:
        """[order + 1]."""
        ...

    @property
    def context_word(self) -> IndexArray:
        """[n_contexts]."""
        ...

    @property
    def context_child(self) -> IndexArray:
        """[n_contexts + 1]."""
        ...

    @property
    def context_entry(self) -> IndexArray:
        """[n_contexts + 1]."""
        ...

    @property
    def entry_word(self) -> IndexArray:
        """[n_entries]."""
        ...


def extend_trie(trie: NgramTrie, model: NgramSet) -> NgramTrie:
    """Add the n-grams of a back-off model over the same vocabulary, with count 0 if they are new, and return the trie.

    The shorter n-grams in which they end are added too, since a trie must have them. Contexts of the model without
    entries are left out, unless such an n-gram belongs to them. The order is the higher of the two.
    """
    arrays = _core.extend_trie(
        model.vocabulary.n_words, model.context_start, model.entry_start, model.context_word, model.context_child,
        model.context_entry, model.entry_word, trie.n_words, *_arrays(trie),
    )
    return NgramTrie(max(trie.order, model.order), trie.n_words, *arrays)


def _arrays(trie: NgramTrie) -> tuple[NDArray[Any], ...]:
    """Return the arrays in the order of the fields."""
    return tuple(getattr(trie, field.name) for field in fields(trie) if field.name not in ("order", "n_words"))
