"""Which method computes the normalisers of a problem fastest: terms and memory predicted from counts of the data.

The numbers of nodes (distinct tuples of contexts) are counted; how many words a node sums is measured on a sample of
them. A term costs a method about ``COSTS`` nanoseconds for the normalisers and the expectations together, a node and a
history a few more; the constants were fitted to measurements on one x86-64 machine and only rank the methods elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.sources.normalisers import (
    METHODS,
    OF_PARTITIONS,
    check_partition,
    levels_of,
    make_normaliser,
    usable_partition,
)
from loglinear.sources.problem import CompositeProblem
from loglinear.sources.table import FeatureTable, Index
from loglinear.threads import pool

SAMPLE = 300  # nodes of each kind whose words are counted
# Nanoseconds of one evaluation of loss and gradient on two threads.
COSTS = {"naive term": 7.0, "level term": 9.0, "node": 60.0, "history": 25.0, "entry": 12.0, "dense term": 1.2,
         "dense source": 60.0}  # fmt: skip
MAX_ROW_BYTES = 2.0**30  # of "dense"
# Partitions go through the contexts of the other sources once per value, so they find less in the cache.
COLD = {"level term": 14.0, "node": 600.0}
# Of sums over intersections. Where contexts are spread (native/composite/clusters.hh) more terms are summed than are
# counted here, but each takes less; the intersections of patterns have more sets that the sweep does not own.
SHARED = {
    "sharing": {"term": 0.8, "node": 8.0, "history": 4.0, "entry": 8.0},
    "cluster-expansion": {"term": 2.0, "node": 16.0, "history": 4.0, "entry": 8.0},
}


@dataclass(frozen=True)
class Estimate:
    """What a method is predicted to need for one evaluation of loss and gradient; what it took, if measured."""

    method: str
    terms: float
    seconds: float
    nbytes: float
    fits: bool = True
    note: str = ""
    measured_terms: int | None = None
    measured_seconds: float | None = None
    measured_bytes: int | None = None


@dataclass(frozen=True)
class Plan:
    """The methods that a problem allows, and the one to use."""

    estimates: list[Estimate]
    chosen: Estimate
    partition: int | None
    memory: int | None
    reason: str
    apart: tuple[tuple[int, ...], ...] = ()


def make_plan(
    problem: CompositeProblem, *, partition: int | None = None, memory: int | None = None, names: Sequence[str] = (),
    only: str | None = None, apart: Sequence[tuple[int, ...]] = (), seed: int = 0,
) -> Plan:  # fmt: skip
    """Predict every method and choose the fastest that fits in ``memory`` bytes, or ``only`` the one named.

    ``apart`` : sets of tables to take for disjoint, which only "sharing" can
    """
    if apart and only not in (None, "sharing"):
        raise ValueError(f"only the method 'sharing' can take nearly disjoint features for disjoint, not {only!r}")
    only = "sharing" if apart else only
    rng = np.random.default_rng(seed)
    notes: dict[str, str] = {}
    methods = list(METHODS) if only is None else [only]
    if only is not None and only not in METHODS:
        raise ValueError(f"unknown method {only!r}; known: {', '.join(METHODS)}")
    if partition is not None and only in OF_PARTITIONS:
        check_partition(problem, partition)
    partition = usable_partition(problem, partition)
    if partition is None:
        if only in OF_PARTITIONS:
            raise ValueError(f"{only} needs a source of one symbol as its partition variable, such as Topic")
        methods = [m for m in methods if m not in OF_PARTITIONS]
    if only is None and len(problem.tables) == 1:
        methods = [m for m in methods if m != "cluster-expansion"]
    estimates = []
    for method in methods:
        found = _estimate(problem, method, partition, rng, apart)
        fits = memory is None or found.nbytes <= memory
        estimates.append(Estimate(found.method, found.terms, found.seconds, found.nbytes, fits, notes.get(method, "")))
    fitting = [e for e in estimates if e.fits and (e.method != "naive" or only == "naive")]
    if not fitting:
        least = min((e for e in estimates if e.method != "naive"), key=lambda e: e.nbytes)
        assert memory is not None
        raise MemoryError(
            f"no method fits in {_size(memory)}: {least.method}, which needs least, would need {_size(least.nbytes)}; "
            "raise the limit to that, or use fewer features (min_count, select)"
        )
    chosen = min(fitting, key=lambda e: e.seconds)
    others = [e for e in fitting if e is not chosen]
    reason = f"{chosen.method} is predicted to take {chosen.seconds:.3g} s"
    if others:
        second = min(others, key=lambda e: e.seconds)
        reason += f", {second.method}, the next, {second.seconds:.3g} s"
    if partition is not None and chosen.method in OF_PARTITIONS and names:
        reason += f"; the partition is by {names[partition]}"
    return Plan(estimates, chosen, partition, memory, reason, tuple(apart))


def _size(nbytes: float) -> str:
    """Return a number of bytes in the largest unit that makes it one or more, rounded up."""
    unit = max((u for u in (0, 10, 20, 30) if nbytes >= 1 << u), default=0)
    return f"{math.ceil(nbytes / (1 << unit)):,} {('bytes', 'KiB', 'MiB', 'GiB')[unit // 10]}"


def measured(
    problem: CompositeProblem, plan: Plan, *, limit: float = 60.0, repeats: int = 3, n_threads: int | None = None
) -> Plan:
    """Run each method whose prediction stays below ``limit`` seconds; return the plan with what they took."""
    w = np.zeros(problem.n_weights)
    w[problem.n_words :] = 0.1
    out, estimates = np.empty(problem.n_weights), []
    for e in plan.estimates:
        if not e.fits or e.seconds > limit:
            estimates.append(e)
            continue
        normaliser = make_normaliser(
            problem, e.method, partition=plan.partition, apart=plan.apart, n_threads=n_threads
        )
        taken: list[float] = []
        while not taken or (len(taken) < repeats and sum(taken) < limit):
            began = time.perf_counter()
            normaliser.value_and_gradient(w, out)
            taken.append(time.perf_counter() - began)
        estimates.append(Estimate(e.method, e.terms, e.seconds, e.nbytes, e.fits, e.note, normaliser.terms,
                                  float(np.median(taken)), normaliser.nbytes))  # fmt: skip
        del normaliser
    chosen = next(e for e in estimates if e.method == plan.chosen.method)
    return Plan(estimates, chosen, plan.partition, plan.memory, plan.reason, plan.apart)


def _estimate(
    problem: CompositeProblem, method: str, partition: int | None, rng: np.random.Generator,
    apart: Sequence[tuple[int, ...]] = (),
) -> Estimate:  # fmt: skip
    n, entries = problem.n_histories, problem.n_weights
    fixed = COSTS["history"] * n + COSTS["entry"] * entries
    if method == "naive":
        terms = float(n) * problem.n_words
        return Estimate(method, terms, (terms * COSTS["naive term"] + fixed) * 1e-9, 64.0 * entries)
    if method == "dense":
        terms = float(n) * problem.n_words
        seconds = (terms * COSTS["dense term"] + n * len(problem.tables) * COSTS["dense source"] + fixed) * 1e-9
        wide = sum(int((np.diff(t.context_entry) >= max(problem.n_words // 8, 4)).sum()) for t in problem.tables)
        return Estimate(method, terms, seconds, min(16.0 * problem.n_words * wide, MAX_ROW_BYTES) + 64.0 * entries)
    if method in SHARED:
        cost, counted = SHARED[method], _cluster_counts(problem, method == "cluster-expansion", rng, apart)
        terms, nodes, nbytes = counted
        seconds = terms * cost["term"] + nodes * cost["node"] + n * cost["history"] + entries * cost["entry"]
        return Estimate(method, terms + entries, seconds * 1e-9, nbytes)
    terms, nodes = _level_counts(problem, levels_of(problem, method, partition), rng)
    costs = {**COSTS, **COLD} if method in OF_PARTITIONS else COSTS
    seconds = (terms * costs["level term"] + nodes * costs["node"] + fixed) * 1e-9
    return Estimate(method, terms, seconds, 4.0 * (n + 2 * nodes) + 64.0 * entries)


def _level_counts(
    problem: CompositeProblem, levels: list[list[tuple[int, int]]], rng: np.random.Generator
) -> tuple[float, int]:
    """Return (terms, nodes): the distinct contexts of each level, times the mean number of words of a sample."""
    terms, nodes, group = float(problem.n_words), 0, np.zeros(problem.n_histories, np.uint32)
    for level in levels:
        contexts = []
        for i, d in level:
            contexts.append(problem.tables[i].ancestors(problem.leaves[i], d))
            group = _refined(group, contexts[-1])
        examples = _examples(group)
        nodes += examples.size
        chosen = _sampled(examples, rng)
        words = [_union([_words(problem.tables[i], int(c[x])) for (i, _), c in zip(level, contexts)]) for x in chosen]
        terms += examples.size * float(np.mean(words)) if words else 0.0
    return terms, nodes


def _cluster_counts(
    problem: CompositeProblem, flat: bool, rng: np.random.Generator, apart: Sequence[tuple[int, ...]] = ()
) -> tuple[float, int, float]:
    """Return (terms, nodes, bytes) of the intersections of all sets of sources, or of all patterns."""
    groups = [[p] for p in problem.patterns] if flat else [
        [p for p in problem.patterns if p[0] == i] for i in range(len(problem.tables))]  # fmt: skip
    context = {p: problem.tables[p[0]].ancestors(problem.leaves[p[0]], p[1]) for p in problem.patterns}
    swept = max(groups, key=lambda group: sum(_n_entries(problem, p) for p in group))
    others = sum(_n_entries(problem, p) for group in groups if group is not swept for p in group)
    terms, n_nodes, nbytes = 0.0, 0, 100.0 * (problem.n_words + others) + 16.0 * problem.n_histories
    for size in range(2, len(groups) + 1):
        for chosen in combinations(groups, size):
            if any(set(one) <= {group[0][0] for group in chosen} for one in apart):
                continue
            for patterns in product(*chosen):
                alive = np.flatnonzero(np.all([context[p] > 0 for p in patterns], axis=0))
                if alive.size == 0:
                    continue
                group = np.zeros(alive.size, np.uint32)
                for p in patterns:
                    group = _refined(group, context[p][alive])
                examples = alive[_examples(group)]
                sample = _sampled(examples, rng)
                sizes = [_common([_words(problem.tables[p[0]], int(context[p][x])) for p in patterns]) for x in sample]
                share = float(np.mean([s > 0 for s in sizes]))
                found = examples.size * float(np.mean(sizes))
                terms += found
                n_nodes += int(examples.size * share)
                sums = 8 if any(group is swept for group in chosen) else 150  # of a node; of every chunk
                nbytes += 4 * (size + 1) * found + sums * examples.size * share + 4 * problem.n_histories
    return terms, n_nodes, nbytes


def _n_entries(problem: CompositeProblem, pattern: tuple[int, int]) -> int:
    part = problem.tables[pattern[0]].entries_of_depth(pattern[1])
    return part.stop - part.start


def _refined(group: Index, context: Index) -> Index:
    return _core.group_rows(pool(), [group, context])[2]


def _examples(group: Index) -> NDArray[np.int64]:
    out = np.empty(int(group.max()) + 1 if group.size else 0, np.int64)
    out[group] = np.arange(group.size)
    return out


def _sampled(examples: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    return examples if examples.size <= SAMPLE else rng.choice(examples, SAMPLE, replace=False)


def _words(table: FeatureTable, context: int) -> Index:
    return table.entry_word[int(table.context_entry[context]) : int(table.context_entry[context + 1])]


def _union(words: list[Index]) -> int:
    return words[0].size if len(words) == 1 else np.unique(np.concatenate(words)).size


def _common(words: list[Index]) -> int:
    words = sorted(words, key=lambda w: w.size)
    found = words[0]
    for other in words[1:]:
        if found.size == 0:
            return 0
        at = np.minimum(np.searchsorted(other, found), other.size - 1)
        found = found[other[at] == found]
    return found.size
