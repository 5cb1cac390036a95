"""Chain losses against enumeration, finite differences and identities."""

import itertools

import chains
import numpy as np
import pytest

from loglinear import _core, penalties, solvers
from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import chain_features
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import TokenRows
from loglinear.losses.chain import KINDS, ChainLoss
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.structure.tying import Tying
from loglinear.testing import check_loss
from loglinear.threads import pool

SHAPES = [
    pytest.param({"order": 1, "pairs": False}, "dense", id="first-order"),
    pytest.param({"order": 1, "pairs": False}, "sparse", id="first-order-sparse"),
    pytest.param({"order": 1, "pairs": True}, "auto", id="pairs"),
    pytest.param({"order": 2, "pairs": False}, "auto", id="second-order"),
    pytest.param({"order": 2, "pairs": True}, "auto", id="second-order-pairs"),
    pytest.param({"order": 1, "everything": True}, "dense", id="all-features"),
    pytest.param({"order": 2, "pairs": True, "everything": True}, "auto", id="all-features-second-order"),
]


def problem(shape, seed, *, n_labels=3, lengths=(4, 1, 0, 2, 5), base=False, values=True):
    rng = np.random.default_rng(seed)
    data = chains.random_data(rng, lengths, n_labels, 7, values=values)
    features = chains.random_features(rng, data, **shape)
    w = rng.normal(size=features.n_weights)
    return data, features, w, chains.random_base(rng, data, shape["order"]) if base else None


def legal(data, base):
    """Labels that the base allows, so that the loss is finite."""
    for i in range(data.n_examples):
        a, b = data.sequence_ptr[i : i + 2]
        data.labels[a:b] = data.labels[a] if b > a else 0
    return data


@pytest.mark.parametrize("base", [False, True], ids=["plain", "base"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_value_is_that_of_enumeration(shape, machine, kind, base):
    data, features, w, q0 = problem(shape, 1, base=base)
    if base:
        legal(data, q0)
    loss = ChainLoss(data, features, kind, base=q0, machine=machine, n_threads=2)
    expected = 0.0
    for i in range(data.n_examples):
        twin = chains.Enumeration(data, features, w, q0, i)
        y = twin.true()
        log_p = {"crf": twin.score(y) - twin.log_z, "memm": twin.memm_score(y)}
        expected -= log_p[kind] if kind in log_p else twin.pseudolikelihood(y)
    assert loss.value_and_gradient(w, np.empty_like(w)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_gradient_passes_finite_differences(shape, machine, kind):
    data, features, _w, q0 = problem(shape, 2, n_labels=4, lengths=(6, 3, 1), base=True)
    legal(data, q0)
    check_loss(ChainLoss(data, features, kind, base=q0, machine=machine, n_threads=1))


@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_partly_labelled_sequences(shape, machine):
    data, features, w, _ = problem(shape, 3, lengths=(4, 3, 2))
    rng = np.random.default_rng(0)
    labels = data.labels.copy()
    labels[[1, 4, 5, 8]] = -1
    allowed = (rng.random((data.n_tokens, data.n_labels)) < 0.6).astype(np.uint8)
    allowed[np.arange(data.n_tokens), data.labels] = 1
    partial = type(data)(data.sequence_ptr, data.rows, data.n_attributes, labels, data.n_labels, allowed)
    expected = 0.0
    for i in range(data.n_examples):
        twin = chains.Enumeration(partial, features, w, None, i)
        known, may = labels[twin.first : twin.end], allowed[twin.first : twin.end]
        fits = [all(known[t] == k or (known[t] < 0 and may[t, k]) for t, k in enumerate(y)) for y in twin.labellings]
        expected += twin.log_z - np.logaddexp.reduce(twin.scores[fits])
    loss = ChainLoss(partial, features, "crf", machine=machine, n_threads=1)
    gradient = np.empty_like(w)
    assert loss.value_and_gradient(w, gradient) == pytest.approx(expected, rel=1e-11)
    step = rng.normal(size=w.size)
    ends = [loss.value_and_gradient(w + h * step, np.empty_like(w)) for h in (1e-6, -1e-6)]
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(step @ gradient, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("scale", [300.0, 700.0, 5000.0])
@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_extreme_weights_neither_overflow_nor_vanish(shape, machine, scale):
    data, features, w, _ = problem(shape, 4, values=False)
    w = np.where(w > 0, scale, -scale)
    loss = ChainLoss(data, features, "crf", machine=machine, n_threads=1)
    gradient = np.empty_like(w)
    value = loss.value_and_gradient(w, gradient)
    twins = [chains.Enumeration(data, features, w, None, i) for i in range(data.n_examples)]
    assert value == pytest.approx(sum(twin.log_z - twin.score(twin.true()) for twin in twins), rel=1e-12, abs=1e-9)
    assert np.all(np.isfinite(gradient))
    node = gradient[: features.offsets[1]]
    expected = np.zeros_like(node)
    for twin in twins:
        residual = twin.node_marginals(twin.scores)
        residual[np.arange(twin.T), twin.true()] -= 1
        for t in range(twin.T):
            a, b = data.rows.indptr[twin.first + t : twin.first + t + 2]
            for attribute in data.rows.indices[a:b]:
                place = slice(features.node_ptr[attribute], features.node_ptr[attribute + 1])
                expected[place] += residual[t, features.node_label[place]]
    np.testing.assert_allclose(node, expected, atol=1e-9)


def test_dense_and_sparse_machines_agree_on_many_labels():
    rng = np.random.default_rng(5)
    data = chains.random_data(rng, (30, 7, 12), 60, 40)
    features = chains.random_features(rng, data)
    w = rng.normal(size=features.n_weights) * 3
    results = []
    for machine in ("dense", "sparse"):
        loss = ChainLoss(data, features, machine=machine, n_threads=2)
        assert loss._model.machine == machine
        gradient = np.empty_like(w)
        results.append((loss.value_and_gradient(w, gradient), gradient))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-13)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-11)


@pytest.mark.parametrize("n_labels", [1, 2, 5, 9, 14, 22, 27, 70])
def test_sequences_side_by_side_are_sequences_one_by_one(n_labels):
    """Groups of every size, rows of every width: the sparse machine, which knows no groups, is the twin."""
    rng = np.random.default_rng(n_labels)
    data = chains.random_data(rng, [*range(31), 4, 4, 4, 90], n_labels, 25)
    features = chains.random_features(rng, data)
    w = rng.normal(size=features.n_weights)
    results = []
    for machine, n_threads in (("dense", 1), ("dense", 3), ("sparse", 1)):
        gradient = np.empty_like(w)
        loss = ChainLoss(data, features, machine=machine, n_threads=n_threads)
        results.append((loss.value_and_gradient(w, gradient), gradient))
    for value, gradient in results[:2]:
        assert value == pytest.approx(results[2][0], rel=1e-12)
        np.testing.assert_allclose(gradient, results[2][1], atol=1e-10)


@pytest.mark.parametrize("shape", [{"pairs": True}, {"order": 2}, {"order": 2, "pairs": True}], ids=str)
@pytest.mark.parametrize("n_labels", [9, 22, 30])
def test_listed_pairs_as_states_change_nothing(n_labels, shape):
    """The twin has all pairs of labels as states; weights of 300 need logarithms."""
    rng = np.random.default_rng(n_labels)
    data = chains.random_data(rng, [*rng.integers(1, 12, 9), 1, 2, 3, 40, 0], n_labels, 20)
    data.labels[:] = np.cumsum(rng.integers(0, 3, data.n_tokens)) % n_labels  # few pairs follow each other
    features = chains.random_features(rng, data, **shape)
    data.labels[-3:] = (data.labels[-3:] + 5) % n_labels  # as others may do that have no weight
    for scale in (1.0, 300.0):
        w = scale * rng.normal(size=features.n_weights)
        results = []
        for machine, n_threads in (("dense", 1), ("auto", 1), ("auto", 3)):
            loss, gradient = ChainLoss(data, features, machine=machine, n_threads=n_threads), np.empty_like(w)
            assert bool(loss._tokens.n_listed) == (machine == "auto")
            results.append((loss.value_and_gradient(w, gradient), gradient))
        for value, gradient in results[1:]:
            assert value == pytest.approx(results[0][0], rel=1e-12)
            np.testing.assert_allclose(gradient, results[0][1], atol=1e-9)


@pytest.mark.parametrize("n_labels", [9, 22, 27])
def test_instruction_sets_agree(n_labels):
    """Panels and blocks have other widths on each of them: first order by groups, second order by listed pairs."""
    rng = np.random.default_rng(n_labels)
    data = chains.random_data(rng, [*rng.integers(1, 12, 11), 150], n_labels, 20)
    data.labels[:] = np.cumsum(rng.integers(0, 3, data.n_tokens)) % n_labels
    for shape in ({}, {"order": 2, "pairs": True}):
        features, results = chains.random_features(rng, data, **shape), []
        w = rng.normal(size=features.n_weights)
        for name in ("auto", "baseline", "avx2"):
            if _core.simd_select(name):
                gradient = np.empty_like(w)
                results.append((ChainLoss(data, features, n_threads=2).value_and_gradient(w, gradient), gradient))
        _core.simd_select("auto")
        for value, gradient in results[1:]:
            assert value == pytest.approx(results[0][0], rel=1e-12)
            np.testing.assert_allclose(gradient, results[0][1], atol=1e-10)


def test_a_long_sequence_in_a_group_may_need_logarithms():
    """One member of a group is out of the range of doubles; the others are computed beside it."""
    rng = np.random.default_rng(12)
    data = chains.random_data(rng, [5] * 8, 3, 4)
    data.rows.indices[:] = np.where(np.arange(data.rows.indices.size) < 6, data.rows.indices, 0)
    features = chains.random_features(rng, data, everything=True)
    w = rng.normal(size=features.n_weights)
    node = features.split(w)[0]
    node[3:] *= 500.0  # attributes that only the first sequence has
    gradient, alone, total = np.empty_like(w), np.empty_like(w), np.zeros_like(w)
    value = ChainLoss(data, features, n_threads=1).value_and_gradient(w, gradient)
    parts = [ChainLoss(data.take(np.array([i])), features, n_threads=1) for i in range(8)]
    assert value == pytest.approx(sum(_add(part, w, alone, total) for part in parts), rel=1e-12)
    np.testing.assert_allclose(gradient, total, atol=1e-10)


def _add(part, w, alone, total):
    value = part.value_and_gradient(w, alone)
    total += alone
    return value


def cells_data(rng, n_sequences, n_labels):
    """Attributes as templates make them: of three cells, their pairs and triples; an attribute may be there twice."""
    lengths = rng.integers(1, 12, size=n_sequences)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    cells = rng.integers(0, 4, size=ptr[-1])
    numbers, lists = {}, []
    for a, b in itertools.pairwise(ptr.tolist()):
        for t in range(a, b):
            window = {k: cells[t + k] for k in (-1, 0, 1) if a <= t + k < b}
            names = [(p, *(window[k] for k in p)) for p in ((-1,), (0,), (1,), (-1, 0), (0, 1), (-1, 0, 1))
                     if all(k in window for k in p)]  # fmt: skip
            names += [names[0]] * (t % 7 == 0) + [("rare", t // 3)]
            lists.append([numbers.setdefault(name, len(numbers)) for name in names])
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    rows = TokenRows(indptr, np.concatenate(lists).astype(np.int32), None)
    labels = rng.integers(0, n_labels, size=ptr[-1]).astype(np.int32)
    return SequenceData(ptr, rows, len(numbers), labels, n_labels)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_bundles_of_attributes_change_nothing(kind, order):
    """The twin has values of one, for which no attributes are bundled."""
    rng = np.random.default_rng(13)
    data = cells_data(rng, 400, 5)
    ones = TokenRows(data.rows.indptr, data.rows.indices, np.ones(data.rows.indices.size))
    twin = SequenceData(data.sequence_ptr, ones, data.n_attributes, data.labels, data.n_labels)
    features = chains.random_features(rng, data, order=order, pairs=True)
    w = rng.normal(size=features.n_weights)
    results = []
    for one, n_threads in ((data, 1), (data, 3), (twin, 1)):
        loss, gradient = ChainLoss(one, features, kind, n_threads=n_threads), np.empty_like(w)
        assert (loss._tokens.n_bundles > 10) == (one is data)
        results.append((loss.value_and_gradient(w, gradient), gradient))
    for value, gradient in results[:2]:
        assert value == pytest.approx(results[2][0], rel=1e-12)
        np.testing.assert_allclose(gradient, results[2][1], atol=1e-10)


def test_bundles_are_scored_as_in_numpy():
    rng = np.random.default_rng(14)
    data = cells_data(rng, 400, 4)
    features = chain_features(data, all_features=True)
    w = rng.normal(size=features.n_weights)
    w[features.offsets[2] :] = 0.0  # without transitions tokens are independent
    loss, gradient = ChainLoss(data, features, n_threads=2), np.empty_like(w)
    assert loss._tokens.n_bundles > 10
    counts = np.zeros((data.n_tokens, data.n_attributes))
    token = np.repeat(np.arange(data.n_tokens), np.diff(data.rows.indptr))
    np.add.at(counts, (token, data.rows.indices), 1.0)
    scores = counts @ w[: features.offsets[1]].reshape(-1, 4)
    p = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    picked = p[np.arange(data.n_tokens), data.labels]
    assert loss.value_and_gradient(w, gradient) == pytest.approx(-np.log(picked).sum(), rel=1e-12)
    p[np.arange(data.n_tokens), data.labels] -= 1.0
    np.testing.assert_allclose(gradient[: features.offsets[1]], (counts.T @ p).ravel(), atol=1e-10)


def test_sparse_sums_survive_cancellation():
    """Every listed transition almost forbidden: what is left is the small rest, not the difference of two ones."""
    rng = np.random.default_rng(6)
    data = chains.random_data(rng, (6, 5), 5, 4)
    features = chains.random_features(rng, data, everything=True)
    w = rng.normal(size=features.n_weights)
    w[features.offsets[2] : features.offsets[3]] -= 60.0
    keep = np.ones(features.n_weights, dtype=bool)
    keep[features.offsets[2] + 7] = False
    features, w = features.keep(keep), w[keep]
    gradients = []
    for machine in ("dense", "sparse"):
        gradients.append(np.empty_like(w))
        ChainLoss(data, features, machine=machine).value_and_gradient(w, gradients[-1])
    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-12)


def test_threads_agree():
    rng = np.random.default_rng(7)
    data = chains.random_data(rng, rng.integers(0, 20, size=60), 5, 30)
    features = chains.random_features(rng, data, order=2, pairs=True)
    w = rng.normal(size=features.n_weights)
    results = []
    for n_threads in (1, 2, 2, 5):
        gradient = np.empty_like(w)
        results.append((ChainLoss(data, features, n_threads=n_threads).value_and_gradient(w, gradient), gradient))
    assert results[1][0] == results[2][0]
    np.testing.assert_array_equal(results[1][1], results[2][1])
    for value, gradient in results[1:]:
        assert value == pytest.approx(results[0][0], rel=1e-13)
        np.testing.assert_allclose(gradient, results[0][1], atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_chains_of_one_token_are_a_classifier(kind):
    rng = np.random.default_rng(8)
    data = chains.random_data(rng, [1] * 50, 4, 6, values=True)
    features = chain_features(data, all_features=True)
    w = rng.normal(size=features.n_weights)
    chain, gradient = ChainLoss(data, features, kind), np.empty_like(w)
    n = data.n_attributes * data.n_labels
    rows = SparseRows(data.rows.indptr, data.rows.indices, data.rows.values, data.n_attributes)
    flat = MultinomialLoss(MulticlassData(rows, data.labels, data.n_labels), intercept=False)
    expected = np.empty(n)
    assert chain.value_and_gradient(w, gradient) == pytest.approx(flat.value_and_gradient(w[:n], expected), rel=1e-13)
    np.testing.assert_allclose(gradient[:n], expected, atol=1e-12)
    assert not np.any(gradient[n:])


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "clustered", "stochastic", "working_set"])
def test_solvers_meet_at_one_optimum(solver):
    data, features, _, _ = problem({"order": 1, "pairs": True}, 9, lengths=(4, 5, 6, 3, 2))
    name = "l1" if solver in ("owlqn", "working_set") else "l2"
    objective = Objective(ChainLoss(data, features, n_threads=1), penalties.make(name, 0.5))
    result = minimise(objective, solvers.make(solver), violation_tolerance=1e-6, max_iterations=3000)
    other = "fista" if name == "l1" else "lbfgs"
    reference = minimise(objective, solvers.make(other), violation_tolerance=1e-8, max_iterations=20000)
    assert result.value == pytest.approx(reference.value, rel=1e-7)
    assert result.violation < 1e-4


def test_tied_and_restricted_losses():
    data, features, w, _ = problem({"order": 2, "pairs": True}, 10)
    loss = ChainLoss(data, features, n_threads=1)
    rng = np.random.default_rng(0)
    tying = Tying(rng.integers(0, 9, size=w.size).astype(np.int32), 9)
    u = rng.normal(size=9)
    tied, full = np.empty(9), np.empty_like(w)
    assert loss.tied(tying).value_and_gradient(u, tied) == pytest.approx(loss.value_and_gradient(tying.up(u), full))
    np.testing.assert_allclose(tied, tying.down(full), atol=1e-12)

    active = rng.random(w.size) < 0.4
    small, kept = loss.restrict(active)
    inside = np.where(active, w, 0.0)
    part = np.empty(small.n_weights)
    assert small.value_and_gradient(w[kept], part) == pytest.approx(loss.value_and_gradient(inside, full))
    np.testing.assert_allclose(part, full[kept], atol=1e-12)


def test_forbidden_labels_are_refused_with_their_place():
    data, features, w, _ = problem({"order": 1, "pairs": False}, 11, lengths=(2, 4))
    transitions = np.zeros((3, 3))
    transitions[data.labels[3], data.labels[4]] = -np.inf
    nodes = np.zeros((data.n_tokens, 3))
    base = ChainBase(transitions=transitions, nodes=nodes)
    data.labels[:] = [0, 0, data.labels[2], data.labels[3], data.labels[4], data.labels[5]]
    with pytest.raises(ValueError, match=r"sequence 1, token 2 .*no legal path"):
        ChainLoss(data, features, base=ChainBase(transitions=transitions, nodes=nodes)).value_and_gradient(w, w.copy())
    nodes[1] = -np.inf
    with pytest.raises(ValueError, match=r"sequence 0, token 1 .*no legal path"):
        _core.chain_viterbi(pool(1), _set(base, features, w), data.native, nodes, None, np.empty(6, np.int32))


def _set(base, features, w):
    model = base.model(features)
    model.set(w)
    return model
