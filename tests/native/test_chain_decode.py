"""Decoding of chains against enumeration: best path, k best, marginals, probabilities, samples; any machine."""

import chains
import numpy as np
import pytest

from loglinear import _core
from loglinear.data.chain_base import ChainBase
from loglinear.threads import pool

SHAPES = [
    pytest.param({"order": 1, "pairs": False}, "dense", id="first-order"),
    pytest.param({"order": 1, "pairs": False}, "sparse", id="first-order-sparse"),
    pytest.param({"order": 1, "pairs": True}, "auto", id="pairs"),
    pytest.param({"order": 2, "pairs": True}, "auto", id="second-order"),
]


@pytest.fixture(params=["plain", "base", "constrained", "extreme"])
def kind(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["crf", "memm"])
def local(request):
    return request.param


@pytest.fixture
def setting(shape, machine, kind):
    rng = np.random.default_rng(12)
    data = chains.random_data(rng, (4, 1, 0, 5, 2), 3, 6, values=True)
    features = chains.random_features(rng, data, **shape)
    w = rng.normal(size=features.n_weights) * (500.0 if kind == "extreme" else 1.0)
    base = ChainBase()
    if kind == "base":
        base = chains.random_base(rng, data, shape["order"])
    if kind == "constrained":
        nodes = np.where(rng.random((data.n_tokens, 3)) < 0.3, -np.inf, 0.0)
        nodes[np.arange(data.n_tokens), data.labels] = 0.0
        transitions = np.where(rng.random((3, 3)) < 0.25, -np.inf, 0.0)
        for a, b in zip(data.sequence_ptr[:-1], data.sequence_ptr[1:]):
            transitions[data.labels[a : b - 1], data.labels[a + 1 : b]] = 0.0
        base = ChainBase(transitions=transitions, nodes=nodes)
    model = base.model(features, machine)
    model.set(w)
    return data, features, w, base, model


def twins(setting, local):
    data, features, w, base, _ = setting
    for i in range(data.n_examples):
        twin = chains.Enumeration(data, features, w, base, i)
        if twin.T:
            with np.errstate(invalid="ignore"):
                scores = np.array([twin.memm_score(y) for y in twin.labellings]) if local else twin.scores
            yield i, twin, np.where(np.isnan(scores), -np.inf, scores)


@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_best_labelling(setting, local):
    data, _, _, base, model = setting
    labels = np.empty(data.n_tokens, dtype=np.int32)
    _core.chain_viterbi(pool(2), model, data.native, base.nodes, model if local else None, labels)
    for _, twin, scores in twins(setting, local):
        found = tuple(labels[twin.first : twin.end])
        assert scores[twin.labellings.index(found)] == pytest.approx(scores.max(), rel=1e-12)


@pytest.mark.parametrize(("shape", "machine"), SHAPES)
@pytest.mark.parametrize("k", [1, 4, 300])
def test_k_best(setting, local, k):
    data, _, _, base, model = setting
    labels = np.empty((k, data.n_tokens), dtype=np.int32)
    scores = np.empty((data.n_examples, k))
    _core.chain_nbest(pool(2), model, data.native, base.nodes, model if local else None, k, labels, scores)
    for i, twin, expected in twins(setting, local):
        possible = np.sort(expected[expected > -np.inf])[::-1][:k]
        np.testing.assert_allclose(scores[i, : possible.size], possible, rtol=1e-10, atol=1e-10)
        assert np.all(scores[i, possible.size :] == -np.inf)
        paths = [tuple(labels[r, twin.first : twin.end]) for r in range(possible.size)]
        assert len(set(paths)) == len(paths)
        for path, score in zip(paths, scores[i]):
            assert expected[twin.labellings.index(path)] == pytest.approx(score, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_marginals_and_probabilities(setting, local):
    data, _, _, base, model = setting
    L = data.n_labels
    log_z, nodes, edges = np.empty(data.n_examples), np.empty((data.n_tokens, L)), np.empty((data.n_tokens, L, L))
    _core.chain_marginals(pool(2), model, data.native, base.nodes, model if local else None, log_z, nodes, edges)
    alone = np.empty(data.n_examples)
    _core.chain_marginals(pool(1), model, data.native, base.nodes, model if local else None, alone, None, None)
    np.testing.assert_allclose(alone, log_z, rtol=1e-12, atol=1e-12)
    path = np.empty(data.n_examples)
    legal = np.empty(data.n_tokens, dtype=np.int32)
    _core.chain_viterbi(pool(1), model, data.native, base.nodes, model if local else None, legal)
    _core.chain_scores(pool(2), model, data.native, base.nodes, model if local else None, legal, path)
    for i, twin, scores in twins(setting, local):
        total = np.logaddexp.reduce(scores)
        assert log_z[i] == pytest.approx(total, rel=1e-12, abs=1e-9)
        np.testing.assert_allclose(nodes[twin.first : twin.end], twin.node_marginals(scores), atol=1e-9)
        assert path[i] == pytest.approx(scores.max(), rel=1e-12, abs=1e-9)
        p = np.exp(scores - total)
        for t in range(1, twin.T):
            expected = np.zeros((L, L))
            for y, q in zip(twin.labellings, p):
                expected[y[t - 1], y[t]] += q
            np.testing.assert_allclose(edges[twin.first + t], expected, atol=1e-9)


@pytest.mark.parametrize(("shape", "machine"), SHAPES)
def test_samples_follow_the_distribution(setting, local):
    data, _, _, base, model = setting
    n = 20000
    samples, again = (np.empty((n, data.n_tokens), dtype=np.int32) for _ in range(2))
    _core.chain_sample(pool(2), model, data.native, base.nodes, model if local else None, 5, n, samples)
    _core.chain_sample(pool(1), model, data.native, base.nodes, model if local else None, 5, n, again)
    np.testing.assert_array_equal(samples, again)
    for _, twin, scores in twins(setting, local):
        p = np.exp(scores - np.logaddexp.reduce(scores))
        codes = samples[:, twin.first : twin.end] @ (3 ** np.arange(twin.T)[::-1])
        counts = np.bincount(codes, minlength=p.size)
        assert np.all(counts[p == 0] == 0)
        assert np.all(np.abs(counts - n * p) <= 6 * np.sqrt(n * p * (1 - p)) + 1e-6)
