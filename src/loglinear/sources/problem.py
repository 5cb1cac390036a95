"""A composite model's problem: the features of all sources, the distinct histories of a text, and what was observed.

The weights are those of the V unigrams, then those of the entries of each source in turn; by depth within a source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.sources.table import FeatureTable, Index
from loglinear.threads import pool

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutcomeGroups:
    """Outcomes in ranges that are normalised each by itself, and the range that an event or a history is about.

    Group g has the outcomes ``start[g]`` to ``start[g + 1] - 1``. Only the method "dense" knows groups.
    """

    start: Index  # [n_groups + 1]
    of: Index  # [n_events] or [n_histories]


@dataclass(frozen=True, eq=False)
class CompositeProblem:
    """Histories are tuples of contexts, one per table: ``leaves[i][x]`` is the deepest context of table i."""

    n_words: int
    tables: tuple[FeatureTable, ...]
    leaves: tuple[Index, ...]  # [n_histories] each
    count: FloatArray  # [n_histories] tokens after the history
    observed: FloatArray  # [n_weights] how often each feature was active with the word that followed
    groups: OutcomeGroups | None = None  # of histories

    @property
    def n_histories(self) -> int:
        """Return the number of distinct histories."""
        return self.count.size

    @property
    def n_weights(self) -> int:
        """Return the number of weights."""
        return self.n_words + sum(table.n_entries for table in self.tables)

    @property
    def offsets(self) -> list[int]:
        """Return the first weight of every table."""
        return [int(n) for n in np.cumsum([self.n_words, *(t.n_entries for t in self.tables)])[:-1]]

    @property
    def patterns(self) -> list[tuple[int, int]]:
        """Return all patterns as (table, depth)."""
        return [(i, d) for i, table in enumerate(self.tables) for d in range(1, table.depth + 1)]

    @cached_property
    def swept(self) -> int:
        """Return the table with most entries, which the kernels sweep."""
        return int(np.argmax([table.n_entries for table in self.tables]))

    @cached_property
    def kernel_order(self) -> list[int]:
        """Return the tables in the order in which the kernels see them: the one that is swept first."""
        return [self.swept, *(i for i in range(len(self.tables)) if i != self.swept)]

    @cached_property
    def native(self) -> _core.CompositeProblem:
        """Return the problem in native form, which keeps the arrays alive and has checked them."""
        return native_problem(
            self.n_words, [(self.tables[i], self.offsets[i], self.leaves[i]) for i in self.kernel_order],
            self.count, self.observed,
        )  # fmt: skip

    @cached_property
    def flat(self) -> _core.CompositeProblem:
        """Return the same problem with every pattern as a table of its own: nothing is nested (Lafferty and Suhm)."""
        parts = []
        for i, d in self.patterns:
            table, part = self.tables[i], self.tables[i].entries_of_depth(d)
            first, end = int(table.depth_start[d]), int(table.depth_start[d + 1])
            leaf = table.ancestors(self.leaves[i], d)
            pattern = FeatureTable(
                np.array([0, 1, 1 + end - first], np.uint32), np.zeros(1 + end - first, np.uint32),
                np.zeros(1 + end - first, np.uint32),
                np.concatenate([[0], table.context_entry[first : end + 1] - np.uint32(part.start)]).astype(np.uint32),
                table.entry_word[part], np.full(part.stop - part.start, 0xFFFFFFFF, np.uint32),
                None if table.entry_value is None else table.entry_value[part],
            )  # fmt: skip
            renumbered = np.where(leaf == 0, 0, leaf.astype(np.int64) - first + 1).astype(np.uint32)
            parts.append((pattern, self.offsets[i] + part.start, renumbered))
        parts.sort(key=lambda part: -part[0].n_entries)
        order = np.argsort(parts[0][2], kind="stable")
        parts = [(table, offset, np.ascontiguousarray(leaf[order])) for table, offset, leaf in parts]
        return native_problem(self.n_words, parts, self.count[order], self.observed)


def native_problem(
    n_words: int, parts: Sequence[tuple[FeatureTable, int, Index]], count: FloatArray, observed: FloatArray
) -> _core.CompositeProblem:
    """Return tables, the offsets of their weights and the contexts of histories in native form."""
    arrays = [[t.depth_start, t.context_parent, t.context_entry, t.entry_word, t.entry_parent] for t, _, _ in parts]
    values = [t.entry_value for t, _, _ in parts]
    return _core.CompositeProblem(
        n_words, arrays, values, [offset for _, offset, _ in parts], [leaf for _, _, leaf in parts], count, observed
    )


def make_problem(
    n_words: int,
    tables: Sequence[FeatureTable],
    leaves: Sequence[Index],
    words: Index,
    counted: Sequence[FloatArray | None] | None = None,
    groups: OutcomeGroups | None = None,
) -> CompositeProblem:
    """Join the events of a text to distinct histories.

    leaves : the contexts of every event in each table: [n_events]
    words : the word of every event
    counted : what was observed of each table, where that is known already
    groups : the range of outcomes that each event is known to be in
    """
    observed = [np.bincount(words, minlength=n_words).astype(np.float64)]
    for table, leaf, known in zip(tables, leaves, counted or [None] * len(tables)):
        observed.append(table.count_entries(leaf, words) if known is None else known)
    example, count, _ = join_histories(tables, leaves, () if groups is None else (groups.of,))
    return CompositeProblem(
        n_words, tuple(tables), tuple(leaf[example] for leaf in leaves), count.astype(np.float64),
        np.concatenate(observed), None if groups is None else OutcomeGroups(groups.start, groups.of[example]),
    )  # fmt: skip


def join_histories(
    tables: Sequence[FeatureTable], leaves: Sequence[Index], more: Sequence[Index] = ()
) -> tuple[Index, Index, Index]:
    """Return an event of every distinct history, its number of events, and the history of every event.

    more : whatever else tells histories apart: [n_events] each

    Histories are sorted as the kernels need them: by the first context, then the deepest, of the table they sweep.
    """
    swept = int(np.argmax([table.n_entries for table in tables]))
    table = tables[swept]
    every = np.arange(table.n_contexts, dtype=np.uint32)
    rank = np.empty_like(every)
    rank[np.lexsort((every, table.ancestors(every, 1) if table.depth else every))] = every
    others = [leaf for i, leaf in enumerate(leaves) if i != swept]
    return _core.group_rows(pool(), [rank[leaves[swept]], *others, *more])
