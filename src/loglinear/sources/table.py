"""The features of one information source: a trie of contexts, from the symbols that it sees before each event.

A source gives every event a chain of symbols u_1, u_2, ... (-1 ends it). Its patterns are nested: the context of depth
d is (u_1, ..., u_d), and an entry is a context with the word that follows. Contexts of one depth are sorted by parent
and last symbol, entries by context and word, so that both are found by binary search; see native/composite/problem.hh.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.threads import pool

NONE = 0xFFFFFFFF
_MOST_UNSEEN = 50_000_000  # features of contexts with words that they were not seen with

Index = NDArray[np.uint32]
Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Contexts and entries of one source; context 0 is the empty one, without entries."""

    depth_start: Index  # [depth + 2]
    context_parent: Index  # [n_contexts]
    context_symbol: Index  # [n_contexts] the last symbol of the context; NONE for the empty one
    context_entry: Index  # [n_contexts + 1]
    entry_word: Index  # [n_entries]
    entry_parent: Index  # [n_entries] NONE at depth 1
    entry_value: NDArray[np.float64] | None = None  # [n_entries]; None: 1

    @property
    def depth(self) -> int:
        """Return the longest chain of symbols."""
        return self.depth_start.size - 2

    @property
    def n_contexts(self) -> int:
        """Return the number of contexts, the empty one included."""
        return self.context_parent.size

    @property
    def n_entries(self) -> int:
        """Return the number of features."""
        return self.entry_word.size

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays in bytes."""
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))

    def entries_of_depth(self, d: int) -> slice:
        """Return the entries whose contexts have this depth."""
        return slice(int(self.context_entry[self.depth_start[d]]), int(self.context_entry[self.depth_start[d + 1]]))

    def depth_of_entries(self) -> NDArray[np.uint8]:
        """Return the depth of every entry: [n_entries]."""
        ends = self.context_entry[self.depth_start[1:]]
        sizes = ends[1:] - ends[:-1]
        return np.repeat(np.arange(1, self.depth + 1, dtype=np.uint8), sizes)

    def entry_context(self) -> Index:
        """Return the context of every entry: [n_entries]."""
        sizes = self.context_entry[1:] - self.context_entry[:-1]
        return np.repeat(np.arange(self.n_contexts, dtype=np.uint32), sizes)

    def ancestors(self, leaf: Index, d: int) -> Index:
        """Return the contexts of depth d above (or at) these, 0 where they are not that deep."""
        found = leaf.copy()
        for depth in range(self.depth, d, -1):
            deeper = found >= self.depth_start[depth]
            found[deeper] = self.context_parent[found[deeper]]
        found[found < self.depth_start[d]] = 0
        return found

    @property
    def _native(self) -> list[Index]:
        return [self.context_parent, self.context_symbol, self.context_entry, self.entry_word]

    def leaves(self, symbols: NDArray[np.int32]) -> Index:
        """Return the deepest context of every event that this table has: [n_events]."""
        leaf = np.empty(symbols.shape[0], np.uint32)
        chains = np.ascontiguousarray(symbols, np.int32)
        _core.table_leaves(pool(), self._native, chains, symbols.shape[1], leaf)
        return leaf

    def count_entries(self, leaf: Index, words: Index) -> NDArray[np.float64]:
        """Return how often each entry is active with the word that follows, times its value: [n_entries]."""
        out = np.empty(self.n_entries)
        _core.table_counts(pool(), self._native, leaf, words, out)
        return out if self.entry_value is None else out * self.entry_value

    def scores(
        self, leaf: Index, words: Index, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the score that the entries of each event give its word, and the depth of the deepest: [n_events]."""
        score, depth = np.empty(leaf.size), np.empty(leaf.size, np.uint8)
        own = np.ascontiguousarray(weights) if self.entry_value is None else weights * self.entry_value
        _core.table_scores(pool(), self._native, leaf, words, own, score, depth)
        return score, depth

    def find_entry(self, context: int, word: int) -> int:
        """Return the entry of a context and a word, -1 if there is none."""
        begin, end = self.context_entry[context : context + 2]
        at = int(begin) + int(np.searchsorted(self.entry_word[begin:end], np.uint32(word)))
        return at if at < end and self.entry_word[at] == word else -1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, as a model file keeps them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    def keep(self, kept: NDArray[np.bool_]) -> tuple[FeatureTable, NDArray[np.intp]]:
        """Return the table of some entries, with the parents they need, and the numbers of the entries it has."""
        kept = kept.copy()
        for d in range(self.depth, 1, -1):
            part = self.entries_of_depth(d)
            kept[self.entry_parent[part][kept[part]]] = True
        context = self.entry_context()
        used = np.zeros(self.n_contexts, bool)
        used[context[kept]] = used[0] = True
        new_context = np.cumsum(used, dtype=np.uint32) - np.uint32(1)
        new_entry = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
        parent = self.entry_parent[kept]
        counts = np.bincount(new_context[context[kept]], minlength=int(used.sum()))
        depth_start = np.array([int(used[:s].sum()) for s in self.depth_start], np.uint32)
        while depth_start.size > 3 and depth_start[-1] == depth_start[-2]:
            depth_start = depth_start[:-1]
        table = FeatureTable(
            depth_start, new_context[self.context_parent[used]], self.context_symbol[used],
            np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32), self.entry_word[kept],
            np.where(parent == NONE, np.uint32(NONE), new_entry[np.minimum(parent, self.n_entries - 1)])
            if self.n_entries else parent,
            None if self.entry_value is None else self.entry_value[kept],
        )  # fmt: skip
        return table, np.flatnonzero(kept)


def build_table(
    symbols: NDArray[np.int32],
    words: Index,
    *,
    min_counts: Sequence[int] = (1,),
    select: int | None = None,
) -> FeatureTable:
    """Make features of all contexts with the words that follow them.

    symbols : [n_events, depth], -1 where the chain of an event ends
    min_counts : entries of depth d occur at least min_counts[d - 1] times; the last holds for deeper ones. Zero, for
        depth 1: every context has entries with all words, so that words which it lacks can become less probable
    select : of depth 1, keep so many entries, those with the largest log-likelihood ratio
    """
    n, depth = symbols.shape
    limits = [min_counts[min(d, len(min_counts) - 1)] for d in range(depth)]
    if any(b < a for a, b in itertools.pairwise(limits)):
        raise ValueError(f"least counts must not decrease with the depth, unlike {limits}: features must be nested")
    alive, context = np.arange(n), np.zeros(n, np.uint32)
    parents, last, sizes, entry_words, entry_parents = [np.zeros(1, np.uint32)], [np.full(1, NONE, np.uint32)], [
        np.zeros(1, np.int64)], [], []  # fmt: skip
    depth_start, n_entries = [0, 1], 0
    before: Keys = np.empty(0, np.uint64)
    for d in range(1, depth + 1):
        symbol = symbols[:, d - 1] if alive.size == n else symbols[alive, d - 1]
        known = symbol >= 0
        if not known.all():
            alive, context, symbol = alive[known], context[known], symbol[known]
        found, _, number = _joined(context, symbol.astype(np.uint32))
        keys, counts, _ = _joined(number, words if alive.size == n else words[alive])
        if d == 1 and limits[0] == 0:
            keys, counts = _with_unseen(keys, counts, found.size, words)
        keep = counts >= limits[d - 1]
        if d > 1:
            above = (found >> np.uint64(32)).astype(np.uint32)[(keys >> np.uint64(32)).astype(np.intp)]
            parent, has_parent = _find(before, _key(above, keys.astype(np.uint32)))
            keep &= has_parent
        if d == 1 and select is not None:
            keep &= _largest(_log_likelihood_ratio(keys, counts, found.size, words), select, keep)
        keys = keys[keep]
        size = np.bincount((keys >> np.uint64(32)).astype(np.intp), minlength=found.size)
        used = size > 0
        renumber = depth_start[-1] + np.cumsum(used) - 1
        parents.append((found[used] >> np.uint64(32)).astype(np.uint32))
        last.append(found[used].astype(np.uint32))
        sizes.append(size[used])
        entry_words.append(keys.astype(np.uint32))
        offset = n_entries - before.size
        of_depth = (parent[keep] + offset).astype(np.uint32) if d > 1 else np.full(keys.size, NONE, np.uint32)
        entry_parents.append(of_depth)
        n_entries += keys.size
        depth_start.append(depth_start[-1] + int(used.sum()))
        before = _key(renumber[(keys >> np.uint64(32)).astype(np.intp)].astype(np.uint32), keys.astype(np.uint32))
        if d < depth:
            alive, context = alive[used[number]], renumber[number[used[number]]].astype(np.uint32)
    if n_entries > NONE - 1:
        raise ValueError(f"{n_entries:,} features of one source, and {NONE - 1:,} is the limit")
    return FeatureTable(
        np.array(depth_start, np.uint32), np.concatenate(parents), np.concatenate(last),
        np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.uint32),
        np.concatenate(entry_words) if entry_words else np.empty(0, np.uint32),
        np.concatenate(entry_parents) if entry_parents else np.empty(0, np.uint32),
    )  # fmt: skip


def _key(high: NDArray[Any], low: NDArray[Any]) -> Keys:
    return (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)


def _joined(high: Index, low: Index) -> tuple[Keys, NDArray[np.int64], Index]:
    """Return the distinct pairs in order, how often each occurs, and the number of every pair."""
    example, counts, number = _core.group_rows(pool(), [high, low])
    return _key(high[example], low[example]), counts.astype(np.int64), number


def _with_unseen(
    keys: Keys, counts: NDArray[np.int64], n_contexts: int, words: Index
) -> tuple[Keys, NDArray[np.int64]]:
    """Add the pairs of contexts and words of the text that were not seen together."""
    every = np.unique(words)
    if n_contexts * every.size > _MOST_UNSEEN:
        raise ValueError(
            f"least count 0: {n_contexts:,} contexts with {every.size:,} words each are too many features; use 1"
        )
    both = _key(np.repeat(np.arange(n_contexts), every.size), np.tile(every, n_contexts))
    out = np.zeros(both.size, np.int64)
    out[np.searchsorted(both, keys)] = counts
    return both, out


def _find(have: Keys, wanted: Keys) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return where sorted keys have the wanted ones, and whether they do."""
    at = np.searchsorted(have, wanted)
    inside = np.minimum(at, max(have.size - 1, 0))
    return at, (have[inside] == wanted) if have.size else np.zeros(wanted.size, bool)


def _log_likelihood_ratio(keys: Keys, counts: NDArray[np.int64], n_contexts: int, words: Index) -> Any:
    """Return G^2 of every (context, word): how far the word's frequency in the context is from that in all events."""
    context, word = (keys >> np.uint64(32)).astype(np.intp), keys.astype(np.uint32).astype(np.intp)
    both = counts.astype(np.float64)
    of_context = np.bincount(context, both, minlength=n_contexts)[context]
    of_word = np.bincount(words.astype(np.intp)).astype(np.float64)[word]
    total = float(words.size)
    cells = (both, of_context - both, of_word - both, total - of_context - of_word + both)
    expected = (
        of_context * of_word / total, of_context * (total - of_word) / total,
        (total - of_context) * of_word / total, (total - of_context) * (total - of_word) / total,
    )  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(o > 0, o * np.log(np.where(o > 0, o, 1.0) / e), 0.0) for o, e in zip(cells, expected)]
    return 2 * np.sum(parts, axis=0)


def _largest(score: NDArray[np.float64], n: int, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    candidates = np.flatnonzero(among)
    chosen = candidates[np.argsort(-score[candidates], kind="stable")[:n]]
    keep = np.zeros(score.size, bool)
    keep[chosen] = True
    return keep
