import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from loglinear.data.chain_features import ChainFeatures
from loglinear.data.matrix import SparseRows
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows
from loglinear.hmm.counts import feature_counts, mean_counts
from loglinear.losses.m_estimation import MEstimationLoss, rank_features
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import L1, L2
from loglinear.solvers import Fista, Lbfgs, Newton, Owlqn, WorkingSet
from loglinear.structure.tying import Tying
from loglinear.testing import check_loss
from loglinear.threads import pool


def problem(n=40, d=12, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.poisson(0.4, size=(n, d)) * rng.choice([1.0, 0.5], size=(n, d))
    return F, rng.dirichlet(np.ones(n)) @ F  # a base model with the support of the data: the loss is bounded below


def make(F, expectations, **settings):
    return MEstimationLoss(SparseRows.from_scipy(sp.csr_matrix(F)), expectations, **settings)


def twin(F, expectations, w):
    """Equation 3 and its gradient in NumPy."""
    e = np.exp(-F @ w)
    return e.mean() + w @ expectations, expectations - F.T @ e / len(F)


def random_sequences(seed=0, L=3, n_attributes=7, values=True, order=2):
    """(SequenceData, ChainFeatures with random lists)."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, size=150)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(ptr[-1])
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, size=n))]).astype(np.int64)
    indices = rng.integers(0, n_attributes, size=indptr[-1]).astype(np.int32)
    rows = TokenRows(indptr, indices, rng.normal(size=indices.size) if values else None)
    data = SequenceData(ptr, rows, n_attributes, rng.integers(0, L, size=n).astype(np.int32), L)

    def lists(size, n_codes, p=0.6):
        chosen = [np.flatnonzero(rng.random(n_codes) < p) for _ in range(size)]
        pointers = np.concatenate([[0], np.cumsum([len(c) for c in chosen])]).astype(np.int64)
        return pointers, np.concatenate(chosen).astype(np.int32)

    trigrams = lists(1, (L + 1) * L * L)[1] if order == 2 else np.zeros(0, dtype=np.int32)
    features = ChainFeatures(
        L, *lists(n_attributes, L), *lists(n_attributes, L * L, 0.3), lists(1, L * L)[1], trigrams
    )
    return data, features


def counted_slowly(data, features):
    """One dense row per sequence, feature by feature."""
    L = features.n_labels
    o = features.offsets
    out = np.zeros((data.n_examples, features.n_weights))

    def place(codes, ptr, a, code):
        found = np.flatnonzero(codes[ptr[a] : ptr[a + 1]] == code)
        return ptr[a] + found

    for i, (begin, end) in enumerate(itertools.pairwise(data.sequence_ptr.tolist())):
        for t in range(begin, end):
            y = data.labels[t]
            for p in range(data.rows.indptr[t], data.rows.indptr[t + 1]):
                a = data.rows.indices[p]
                value = 1.0 if data.rows.values is None else data.rows.values[p]
                out[i, place(features.node_label, features.node_ptr, a, y)] += value
                if t > begin:
                    code = data.labels[t - 1] * L + y
                    out[i, o[1] + place(features.pair_code, features.pair_ptr, a, code)] += value
            if t > begin:
                code = data.labels[t - 1] * L + y
                out[i, o[2] + np.flatnonzero(features.transition_code == code)] += 1
                first = data.labels[t - 2] if t > begin + 1 else L
                out[i, o[3] + np.flatnonzero(features.trigram_code == first * L * L + code)] += 1
    return out


@pytest.mark.parametrize("seed", range(3))
def test_against_twin(seed):
    F, expectations = problem(seed=seed)
    loss = make(F, expectations)
    w, g = np.random.default_rng(seed).normal(size=12), np.empty(12)
    value, gradient = twin(F, expectations, w)
    assert loss.value_and_gradient(w, g) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(g, gradient, rtol=1e-10, atol=1e-12)


def test_checks():
    """Finite differences of equation 3: they decide that the gradient has the 1/n that equation 13 lacks."""
    F, expectations = problem()
    check_loss(make(F, expectations), scale=0.05)


def test_matching_base_model_has_zero_gradient_at_zero():
    """With q0 the empirical distribution itself nothing is left to correct, and w = 0 is the optimum."""
    data, features = random_sequences()
    counts = feature_counts(data, features, pool(None))
    loss = MEstimationLoss(counts, mean_counts(counts))
    g = np.empty(loss.n_weights)
    assert loss.value_and_gradient(np.zeros(loss.n_weights), g) == pytest.approx(1.0)
    np.testing.assert_allclose(g, 0.0, atol=1e-14)
    w = np.random.default_rng(0).normal(size=g.size) * 0.1
    assert loss.value_and_gradient(w, g) >= 1.0


def test_the_perturbation_is_undone():
    """A tiny space: q0 ∝ p exp(-w*.f) off p by known weights; M-estimation from p itself finds p again (section 3)."""
    rng = np.random.default_rng(1)
    F = np.array(list(itertools.product([0.0, 1.0], repeat=3)))  # all points, one feature per coordinate
    F = np.hstack([np.ones((8, 1)), F])  # with a constant feature the scale of q0 can be matched too
    p = rng.integers(1, 6, size=8)
    truth = rng.normal(size=4) * 0.5
    q = (p / p.sum()) * np.exp(-F @ truth)
    q /= q.sum()
    rows = np.repeat(F, p, axis=0)
    loss = make(rows, q @ F)
    result = minimise(Objective(loss, L2(1e-12)), Newton(), violation_tolerance=1e-10)
    model = q * np.exp(F @ result.weights)
    np.testing.assert_allclose(model / model.sum(), p / p.sum(), rtol=1e-5)
    np.testing.assert_allclose(result.weights[1:], truth[1:], atol=1e-5)


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_solvers_agree(strength):
    F, expectations = problem()
    objective = Objective(make(F, expectations), L2(strength))
    results = [minimise(objective, s, violation_tolerance=1e-9) for s in (Lbfgs(), Newton(), Fista())]
    reference = minimize(
        lambda w: twin(F, expectations, w)[0] + strength / 2 * w @ w, np.zeros(12), method="BFGS", tol=1e-9,
        jac=lambda w: twin(F, expectations, w)[1] + strength * w,
    )  # fmt: skip
    for result in results:
        np.testing.assert_allclose(result.weights, reference.x, atol=1e-5)
    objective = Objective(make(F, expectations), L1(0.05))
    sparse = [minimise(objective, s, violation_tolerance=1e-8) for s in (Owlqn(), WorkingSet(), Fista())]
    for result in sparse:
        assert result.converged
        np.testing.assert_allclose(result.weights, sparse[0].weights, atol=1e-5)


class TestHugeExponents:
    """Overflow is an infinite value, never NaN, and solvers come back from it."""

    def test_value_and_gradient(self):
        F, expectations = problem()
        loss, g = make(F, expectations), np.empty(12)
        for scale in (1e3, 1e100, 1e300):
            assert loss.value_and_gradient(np.full(12, -scale), g) == np.inf
            assert np.all(np.isfinite(g))
            w = np.full(12, scale)  # all exponentials but those of empty rows vanish
            value, gradient = twin(F, expectations, w)
            assert np.isfinite(value)
            assert loss.value_and_gradient(w, g) == pytest.approx(value, rel=1e-12)
            np.testing.assert_allclose(g, gradient, rtol=1e-12)

    @pytest.mark.parametrize("solver", [Lbfgs(), Newton(), Owlqn(), Fista()], ids=lambda s: s.name)
    def test_solvers_survive_counts_of_thousands(self, solver):
        """The first steps overshoot: exp of thousands."""
        F, expectations = problem()
        loss = make(F * 1000.0, expectations * 1000.0)
        penalty = L1(0.1) if solver.name == "owlqn" else L2(0.1)
        result = minimise(Objective(loss, penalty), solver, violation_tolerance=1e-5, max_iterations=5000)
        assert np.isfinite(result.value)
        assert result.value < 1.0
        assert result.converged, result.status

    def test_a_start_far_off_is_left(self):
        F, expectations = problem()
        objective = Objective(make(F, expectations), L2(0.1))
        result = minimise(objective, Lbfgs(), np.full(12, -40.0), violation_tolerance=1e-8)
        assert result.history.objective[0] > 1e100
        assert result.converged


class TestPowers:
    def test_tied(self):
        F, expectations = problem()
        tying = Tying(np.arange(12) % 5, 5)
        loss = make(F, expectations)
        u, full, tied = np.random.default_rng(0).normal(size=5), np.empty(12), np.empty(5)
        value = loss.value_and_gradient(tying.up(u), full)
        assert loss.tied(tying).value_and_gradient(u, tied) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(tied, tying.down(full), atol=1e-12)

    def test_threads_agree_to_the_bit(self):
        data, features = random_sequences()
        results = []
        for k in (1, 2, 3):
            loss = MEstimationLoss(feature_counts(data, features, pool(k)), np.ones(features.n_weights), k)
            g = np.empty(loss.n_weights)
            results.append((loss.value_and_gradient(np.full(g.size, 0.1), g), g))
        for value, g in results[1:]:
            assert value == results[0][0]
            np.testing.assert_array_equal(g, results[0][1])


def test_ranking():
    F, expectations = problem()
    loss = make(F, expectations)
    gradient = expectations - F.mean(axis=0)
    np.testing.assert_array_equal(rank_features(loss), np.argsort(-np.abs(gradient), kind="stable"))
    w = np.random.default_rng(0).normal(size=12)
    order = rank_features(loss, w)
    assert np.all(np.diff(np.abs(w[order])) <= 0)
    with pytest.raises(ValueError, match="3 weights for a loss of 12"):
        rank_features(loss, np.zeros(3))


class TestCounts:
    @pytest.mark.parametrize("values", [True, False])
    @pytest.mark.parametrize("order", [1, 2])
    def test_against_twin(self, values, order):
        data, features = random_sequences(order, values=values, order=order)
        expected = counted_slowly(data, features)
        for k in (1, 3):
            rows = feature_counts(data, features, pool(k))
            dense = sp.csr_matrix((rows.values, rows.indices, rows.indptr), expected.shape).toarray()
            np.testing.assert_allclose(dense, expected, atol=1e-12)
            for a, b in itertools.pairwise(rows.indptr):
                assert np.all(np.diff(rows.indices[a:b]) > 0)
        np.testing.assert_allclose(mean_counts(rows), expected.mean(axis=0))

    def test_unknown_labels_are_refused(self):
        data, features = random_sequences()
        labels = data.labels.copy()
        i = int(np.flatnonzero(np.diff(data.sequence_ptr) >= 2)[3])
        labels[data.sequence_ptr[i] + 1] = -1
        bad = SequenceData(data.sequence_ptr, data.rows, data.n_attributes, labels, data.n_labels)
        with pytest.raises(ValueError, match=f"token 1 of sequence {i} has no known label; leave out"):
            feature_counts(bad, features, pool(1))

    def test_other_sizes_are_refused(self):
        data, features = random_sequences()
        other, _ = random_sequences(n_attributes=5)
        with pytest.raises(ValueError, match="data of 5 attributes and 3 labels"):
            feature_counts(other, features, pool(1))
        shuffled = dataclasses.replace(features, transition_code=np.array([1, 0], dtype=np.int32))
        with pytest.raises(ValueError, match="transitions must ascend"):
            feature_counts(data, shuffled, pool(1))


class TestLossRefusals:
    def test_shapes(self):
        F, expectations = problem()
        with pytest.raises(ValueError, match="3 expectations for 12 features"):
            make(F, np.zeros(3))
        with pytest.raises(ValueError, match="expectations must be finite"):
            make(F, np.full(12, np.inf))
        with pytest.raises(ValueError, match="at least one sequence"):
            make(F[:0], expectations)
        with pytest.raises(ValueError, match="7 weights for a loss of 12"):
            make(F, expectations).value_and_gradient(np.zeros(7), np.zeros(7))
