import numpy as np
import pytest

from loglinear.losses.nearly_disjoint import NearlyDisjointLoss
from loglinear.sources.normalisers import make_normaliser
from loglinear.sources.problem import make_problem
from loglinear.sources.table import build_table


def random_loss(seed, apart):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 9, 150).astype(np.uint32)
    tables, leaves = [], []
    for depth in (2, 1, 1):
        symbols = rng.integers(0, 4, (words.size, depth)).astype(np.int32)
        tables.append(build_table(symbols, words, min_counts=(2,)))
        leaves.append(tables[-1].leaves(symbols))
    problem = make_problem(9, tables, leaves, words)
    normaliser = make_normaliser(problem, "sharing", apart=apart)
    return NearlyDisjointLoss(problem, normaliser, apart, leaves, words), leaves, words, rng


def factors(problem, leaves, apart, w, event):
    """Return the factor of every word for one event, by the sums of the definition."""
    d = np.zeros((3, 9))
    for i, (table, leaf, offset) in enumerate(zip(problem.tables, leaves, problem.offsets)):
        context = int(leaf[event])
        while context:
            for e in range(int(table.context_entry[context]), int(table.context_entry[context + 1])):
                d[i, table.entry_word[e]] += w[offset + e]
            context = int(table.context_parent[context])
    d = np.expm1(d)
    out = np.zeros(9)
    for bits in range(8):
        chosen = {i for i in range(3) if bits >> i & 1}
        if not any(set(s) <= chosen for s in apart):
            out += np.prod([d[i] for i in chosen], axis=0)
    return out * np.exp(w[:9])


@pytest.mark.parametrize("apart", [[(0, 1)], [(0, 2), (1, 2)], [(0, 1, 2)]])
def test_the_loss_is_that_of_a_distribution_and_has_its_gradient(apart):
    loss, leaves, words, rng = random_loss(1, apart)
    w = rng.uniform(0, 0.8, loss.n_weights)
    gradient = np.empty(w.size)
    value = loss.value_and_gradient(w, gradient)
    each = [factors(loss.problem, leaves, apart, w, event) for event in range(words.size)]
    assert value == pytest.approx(-sum(np.log(f[x] / f.sum()) for f, x in zip(each, words)))
    for _ in range(3):
        v = rng.normal(size=w.size)
        values = [loss.value_and_gradient(w + s * v, np.empty(w.size)) for s in (1e-5, -1e-5)]
        assert gradient @ v == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5)
