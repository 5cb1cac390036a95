"""Small composite problems for tests."""

from dataclasses import replace

import numpy as np

from loglinear.sources.problem import make_problem
from loglinear.sources.table import build_table

DOCUMENTS = [
    {
        "topic": "pets",
        "sentences": [
            {"words": ["the", "dog", "barks"], "tags": ["D", "N", "V"]},
            {"words": ["a", "dog", "eats"], "tags": ["D", "N", "V"]},
        ],
    },
    {
        "topic": "cars",
        "sentences": [
            {"words": ["the", "car", "drives"], "tags": ["D", "N", "V"]},
            {"words": ["a", "car", "breaks"], "tags": ["D", "N", "V"]},
        ],
    },
] * 3


def random_problem(seed, n_sources=None, n_words=12, n_events=200, max_depth=3, real=False):
    """Make a problem of random symbols; the last source has one symbol, so that it may partition."""
    rng = np.random.default_rng(seed)
    n_sources = int(rng.integers(1, 5)) if n_sources is None else n_sources
    words = rng.integers(0, n_words, n_events).astype(np.uint32)
    tables, leaves = [], []
    for i in range(n_sources):
        depth = 1 if i == n_sources - 1 else int(rng.integers(1, max_depth + 1))
        symbols = rng.integers(0, 4, (n_events, depth)).astype(np.int32)
        symbols[rng.random((n_events, depth)) < 0.1] = -1
        table = build_table(symbols, words, min_counts=(int(rng.integers(1, 3)),))
        if real:
            table = replace(table, entry_value=rng.normal(size=table.n_entries))
        tables.append(table)
        leaves.append(table.leaves(symbols))
    return make_problem(n_words, tables, leaves, words), rng


def direct_sums(problem, w):
    """Return (loss, expected totals, log Z) by sums over all words, or those of a group: the twin of the kernels."""
    loss, expected, log_z = -float(problem.observed @ w), np.zeros(w.size), np.empty(problem.n_histories)
    for x in range(problem.n_histories):
        scores, active = w[: problem.n_words].copy(), []
        for table, leaf, offset in zip(problem.tables, problem.leaves, problem.offsets):
            context = int(leaf[x])
            while context:
                for e in range(int(table.context_entry[context]), int(table.context_entry[context + 1])):
                    value = 1.0 if table.entry_value is None else table.entry_value[e]
                    scores[table.entry_word[e]] += value * w[offset + e]
                    active.append((offset + e, int(table.entry_word[e]), value))
                context = int(table.context_parent[context])
        if problem.groups is not None:
            first, end = problem.groups.start[problem.groups.of[x] :][:2]
            scores[:first], scores[end:] = -np.inf, -np.inf
        log_z[x] = np.logaddexp.reduce(scores)
        p = problem.count[x] * np.exp(scores - log_z[x])
        loss += problem.count[x] * log_z[x]
        expected[: problem.n_words] += p
        for j, word, value in active:
            expected[j] += value * p[word]
    return loss, expected, log_z
