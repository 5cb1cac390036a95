from dataclasses import replace

import numpy as np
import pytest

from loglinear.sources.normalisers import METHODS, OF_PARTITIONS, check_partition, disjointness_error, make_normaliser
from loglinear.sources.problem import OutcomeGroups, make_problem
from loglinear.sources.table import build_table
from tests.composite_problems import direct_sums, random_problem


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_equals_sums_over_all_words(method, real):
    for seed in range(25):
        problem, rng = random_problem(seed, real=real)
        w = rng.normal(size=problem.n_weights) * rng.choice([0.3, 1.0, 2.0])
        loss, expected, log_z = direct_sums(problem, w)
        normaliser = make_normaliser(problem, method, partition=len(problem.tables) - 1)
        gradient = np.empty(w.size)
        assert normaliser.value_and_gradient(w, gradient) == pytest.approx(loss, rel=1e-10)
        np.testing.assert_allclose(gradient + problem.observed, expected, rtol=0, atol=1e-10 * problem.count.sum())
        np.testing.assert_allclose(normaliser.log_z(w), log_z, rtol=0, atol=1e-10)
        assert normaliser.terms > 0
        assert normaliser.nbytes > 0


@pytest.mark.parametrize("method", METHODS[1:])
def test_second_derivatives_are_differences_of_gradients(method):
    for seed in range(10):
        problem, rng = random_problem(seed, real=seed % 2 == 0)
        w, v = rng.normal(size=(2, problem.n_weights))
        normaliser = make_normaliser(problem, method, partition=len(problem.tables) - 1)
        found, ahead, behind = np.empty((3, w.size))
        normaliser.hessian_vector(w, v, found)
        normaliser.value_and_gradient(w + 1e-5 * v, ahead)
        normaliser.value_and_gradient(w - 1e-5 * v, behind)
        np.testing.assert_allclose(found, (ahead - behind) / 2e-5, atol=1e-6 * np.abs(found).max())


def in_groups(problem, rng):
    """The same histories, each about one of several ranges of words."""
    n_groups = int(rng.integers(1, 5))
    inner = rng.choice(np.arange(1, problem.n_words), size=min(n_groups, problem.n_words) - 1, replace=False)
    start = np.concatenate([[0], np.sort(inner), [problem.n_words]]).astype(np.uint32)
    of = rng.integers(start.size - 1, size=problem.n_histories).astype(np.uint32)
    return replace(problem, groups=OutcomeGroups(start, of))


def test_groups_of_outcomes_are_normalised_by_themselves():
    for seed in range(25):
        n_words = int(np.random.default_rng(seed).integers(5, 40))
        problem, rng = random_problem(seed, real=seed % 2 == 0, n_words=n_words)
        problem = in_groups(problem, rng)
        w, v = rng.normal(size=(2, problem.n_weights))
        loss, expected, log_z = direct_sums(problem, w)
        normaliser = make_normaliser(problem, "dense")
        found, ahead, behind = np.empty((3, w.size))
        assert normaliser.value_and_gradient(w, found) == pytest.approx(loss, rel=1e-10)
        np.testing.assert_allclose(found + problem.observed, expected, rtol=0, atol=1e-10 * problem.count.sum())
        np.testing.assert_allclose(normaliser.log_z(w), log_z, rtol=0, atol=1e-10)
        normaliser.hessian_vector(w, v, found)
        normaliser.value_and_gradient(w + 1e-5 * v, ahead)
        normaliser.value_and_gradient(w - 1e-5 * v, behind)
        np.testing.assert_allclose(found, (ahead - behind) / 2e-5, atol=1e-6 * max(np.abs(found).max(), 1e-3))


def test_groups_that_are_wrong_are_refused():
    problem, rng = random_problem(1)
    of, n = np.zeros(problem.n_histories, np.uint32), problem.n_words
    for start, histories in [([0, n - 1], of), ([0, 3, 3, n], of), ([0, n], of[:-1]), ([0, n], of + 1), ([0], of)]:
        wrong = replace(problem, groups=OutcomeGroups(np.array(start, np.uint32), histories.astype(np.uint32)))
        with pytest.raises(ValueError, match="group"):
            make_normaliser(wrong, "dense")
    with pytest.raises(ValueError, match="only the method 'dense'"):
        make_normaliser(in_groups(problem, rng), "sharing")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [8.0, 400.0])
def test_weights_that_cancel_or_overflow(method, scale):
    for seed in range(6):
        problem, rng = random_problem(seed)
        w = rng.normal(size=problem.n_weights) * scale
        _, expected, log_z = direct_sums(problem, w)
        normaliser = make_normaliser(problem, method, partition=len(problem.tables) - 1)
        gradient = np.empty(w.size)
        normaliser.value_and_gradient(w, gradient)
        np.testing.assert_allclose(gradient + problem.observed, expected, rtol=0, atol=1e-7 * problem.count.sum())
        np.testing.assert_allclose(normaliser.log_z(w), log_z, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_threads_agree_to_the_bit(method):
    problem, rng = random_problem(3, n_sources=4, n_words=50, n_events=3000)
    w, found = rng.normal(size=problem.n_weights), []
    for n_threads in (1, 2, 3):
        gradient = np.empty(w.size)
        normaliser = make_normaliser(problem, method, partition=3, n_threads=n_threads)
        found.append((normaliser.value_and_gradient(w, gradient), gradient.tobytes()))
    assert found[0] == found[1] == found[2]


def test_sharing_spreads_contexts_that_occur_with_most_of_another_source():
    problem, rng = spread_problem()
    sharing = make_normaliser(problem, "sharing")
    (_, _, nodes, _, spread), *_ = sharing.native.columns
    assert 0 < 16 * spread < nodes  # others store their terms
    for positive in (True, False):  # positive weights have a loop of their own
        w = rng.normal(size=problem.n_weights) * 0.7
        w = np.abs(w) if positive else w
        loss, expected, log_z = direct_sums(problem, w)
        gradient, ahead, behind, found = np.empty((4, w.size))
        assert sharing.value_and_gradient(w, gradient) == pytest.approx(loss, rel=1e-12)
        np.testing.assert_allclose(gradient + problem.observed, expected, rtol=0, atol=1e-12 * problem.count.sum())
        np.testing.assert_allclose(sharing.log_z(w), log_z, rtol=0, atol=1e-12)
        v = rng.normal(size=w.size)
        sharing.hessian_vector(w, v, found)
        sharing.value_and_gradient(w + 1e-5 * v, ahead)
        sharing.value_and_gradient(w - 1e-5 * v, behind)
        np.testing.assert_allclose(found, (ahead - behind) / 2e-5, atol=1e-6 * np.abs(found).max())


def spread_problem():
    """Return a problem of 12 topics, some words frequent in all of them, and many rare contexts."""
    rng = np.random.default_rng(4)
    n, n_words = 4000, 60
    first = np.minimum(rng.geometric(0.08, n), 80).astype(np.int32)
    words = np.minimum(rng.geometric(0.1, n) - 1, n_words - 1).astype(np.uint32)
    chains = np.stack([first, rng.integers(0, 9, n).astype(np.int32)], axis=1)
    topics = rng.integers(0, 12, (n, 1)).astype(np.int32)
    tables = [build_table(chains, words), build_table(topics, words, select=150)]
    return make_problem(n_words, tables, [tables[0].leaves(chains), tables[1].leaves(topics)], words), rng


def test_sharing_needs_fewer_terms_than_caching():
    problem, _ = random_problem(5, n_sources=3, n_words=200, n_events=3000)
    out, w = np.empty(problem.n_weights), np.zeros(problem.n_weights)
    terms = {}
    for method in METHODS:
        normaliser = make_normaliser(problem, method, partition=2)
        normaliser.value_and_gradient(w, out)
        terms[method] = normaliser.terms
    assert terms["naive"] == problem.n_histories * problem.n_words
    assert terms["sharing"] < terms["caching"] < terms["naive"]
    assert terms["partition-hierarchical"] < terms["partition"]


def test_features_taken_for_disjoint_make_an_approximation():
    problem, rng = random_problem(7, n_sources=3)
    w = rng.normal(size=problem.n_weights)
    exact = make_normaliser(problem, "sharing")
    near = make_normaliser(problem, "sharing", apart=[(0, 1)])
    assert near.terms < exact.terms
    error = disjointness_error(problem, [(0, 1)], w)
    assert error.largest == np.abs(near.log_z(w) - exact.log_z(w)).max() >= error.mean > 0
    assert np.abs(near.log_z(w) - exact.log_z(w)).max() > 0
    with pytest.raises(ValueError, match="only the method 'sharing'"):
        make_normaliser(problem, "caching", apart=[(0, 1)])


def test_refusals_say_what_to_do():
    problem, _ = random_problem(0, n_sources=2)
    with pytest.raises(ValueError, match="unknown method 'fast'; known: naive, caching"):
        make_normaliser(problem, "fast")
    for method in OF_PARTITIONS:
        with pytest.raises(ValueError, match="needs a partition source, such as Topic"):
            make_normaliser(problem, method)
    with pytest.raises(MemoryError, match="intersections of the sources take more than 0 MiB"):
        make_normaliser(problem, "sharing", max_bytes=100)


def test_a_partition_with_too_many_values_is_refused():
    words = np.zeros(5000, np.uint32)
    symbols = np.arange(5000, dtype=np.int32)[:, None]
    table = build_table(symbols, words)
    problem = make_problem(3, [table], [table.leaves(symbols)], words)
    with pytest.raises(ValueError, match="5,000 values for 5,000 histories: too many to divide by"):
        check_partition(problem, 0)
