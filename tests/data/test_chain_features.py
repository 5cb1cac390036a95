"""Lists of chain features: those that occur, their places, and the union with older lists."""

import pickle

import chains
import numpy as np
import pytest

from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures, chain_features, union, widen
from loglinear.data.sequence import SequenceData
from loglinear.losses.chain import ChainLoss


@pytest.fixture(params=range(4))
def rng(request):
    return np.random.default_rng(request.param)


def as_sets(f: ChainFeatures):
    """The features themselves, free of numbering: sets of (attribute, labels...)."""
    L = f.n_labels
    nodes = set(zip(f.attribute_of().tolist(), f.node_label.tolist()))
    pairs = np.repeat(np.arange(f.n_attributes), np.diff(f.pair_ptr)).tolist()
    pairs = {(a, c // L, c % L) for a, c in zip(pairs, f.pair_code.tolist())}
    steps = {divmod(c, L) for c in f.transition_code.tolist()}
    trigrams = {("start" if c // (L * L) == L else c // (L * L), c // L % L, c % L) for c in f.trigram_code.tolist()}
    return nodes, pairs, steps, trigrams


def by_name(f, w):
    """Weights by feature."""
    L, result = f.n_labels, {}
    node, pair, step, trigram = f.split(w)
    result |= {("node", a, y): v for a, y, v in zip(f.attribute_of().tolist(), f.node_label.tolist(), node)}
    owner = np.repeat(np.arange(f.n_attributes), np.diff(f.pair_ptr)).tolist()
    result |= {("pair", a, *divmod(c, L)): v for a, c, v in zip(owner, f.pair_code.tolist(), pair)}
    result |= {("step", *divmod(c, L)): v for c, v in zip(f.transition_code.tolist(), step)}
    for c, v in zip(f.trigram_code.tolist(), trigram):
        first = c // (L * L)
        result["trigram", "start" if first == L else first, c // L % L, c % L] = v
    return result


def observed(data, scopes):
    """What occurs, in plain Python."""
    nodes, pairs, steps, trigrams = set(), set(), set(), set()
    for a, b in zip(data.sequence_ptr[:-1], data.sequence_ptr[1:]):
        y = data.labels[a:b].tolist()
        for t, label in enumerate(y):
            before = y[t - 1] if t else -1
            for attribute in data.rows.indices[data.rows.indptr[a + t] : data.rows.indptr[a + t + 1]].tolist():
                if label >= 0 and scopes[attribute] & 1:
                    nodes.add((attribute, label))
                if label >= 0 and before >= 0 and scopes[attribute] & 2:
                    pairs.add((attribute, before, label))
            if label >= 0 and before >= 0:
                steps.add((before, label))
                second = "start" if t == 1 else y[t - 2]
                if second != -1:
                    trigrams.add((second, before, label))
    return nodes, pairs, steps, trigrams


@pytest.mark.parametrize("n_threads", [1, 3])
def test_observed_features(rng, n_threads):
    data = chains.random_data(rng, (4, 1, 0, 2, 5), 3, 7)
    data.labels[rng.random(data.n_tokens) < 0.2] = -1
    scopes = rng.integers(1, 4, size=7).astype(np.uint8)
    features = chain_features(data, scopes=scopes, order=2, n_threads=n_threads)
    expected = observed(data, scopes)
    assert as_sets(features) == expected
    assert features.n_weights == sum(map(len, expected)) == features.offsets[-1]
    assert features.order == (2 if expected[3] else 1)
    first = chain_features(data, scopes=scopes, n_threads=n_threads)
    assert as_sets(first) == (*expected[:3], set())
    assert as_sets(chain_features(data, scopes=scopes, transitions=False, order=2))[2:] == (set(), set())


def test_all_features(rng):
    data = chains.random_data(rng, (4, 3), 3, 5)
    scopes = np.array([1, 2, 3, 1, 2], dtype=np.uint8)
    f = chain_features(data, scopes=scopes, order=2, all_features=True, all_transitions=True)
    assert (f.node_label.size, f.pair_code.size, f.transition_code.size, f.trigram_code.size) == (9, 27, 9, 36)
    nodes, pairs, steps, trigrams = as_sets(f)
    assert nodes == {(a, y) for a in (0, 2, 3) for y in range(3)}
    assert pairs == {(a, p, y) for a in (1, 2, 4) for p in range(3) for y in range(3)}
    assert len(steps) == 9
    assert ("start", 2, 2) in trigrams


def test_rare_features_are_dropped():
    rng = np.random.default_rng(0)
    data = chains.random_data(rng, (40, 30), 2, 6)
    counts = {}
    for t in range(data.n_tokens):
        for attribute in data.rows.indices[data.rows.indptr[t] : data.rows.indptr[t + 1]].tolist():
            counts[attribute, int(data.labels[t])] = counts.get((attribute, int(data.labels[t])), 0) + 1
    features = chain_features(data, min_count=10)
    assert as_sets(features)[0] == {key for key, n in counts.items() if n >= 10}


def test_limits():
    data = chains.random_data(np.random.default_rng(0), (3,), 2, 3)
    with pytest.raises(ValueError, match="order must be 1 or 2, not 3"):
        chain_features(data, order=3)
    many = SequenceData(data.sequence_ptr, data.rows, 3, data.labels, 2000)
    with pytest.raises(ValueError, match="2000 labels are too many for order 2"):
        chain_features(many, order=2)
    wide = SequenceData(data.sequence_ptr, data.rows, 3, data.labels, 40000)
    with pytest.raises(ValueError, match="keep to the observed ones"):
        chain_features(wide, scopes=np.full(3, 2, dtype=np.uint8), all_features=True)


def test_keeping_and_taking(rng):
    data = chains.random_data(rng, (4, 5, 3), 3, 7)
    features = chains.random_features(rng, data, order=2, pairs=True)
    w = rng.normal(size=features.n_weights)
    kept = rng.random(w.size) < 0.5
    smaller = features.keep(kept)
    names = by_name(features, w)
    assert by_name(smaller, w[kept]) == {key: v for key, v in names.items() if v in set(w[kept])}
    attributes = rng.permutation(7)[:4]
    taken, places = features.take_attributes(attributes)
    number = {int(a): k for k, a in enumerate(attributes)}
    expected = {}
    for key, v in names.items():
        if key[0] in ("step", "trigram"):
            expected[key] = v
        elif key[1] in number:
            expected[(key[0], number[key[1]], *key[2:])] = v
    assert by_name(taken, w[places]) == expected
    assert taken.native is not None  # in order, checked


@pytest.mark.parametrize("order", [1, 2])
def test_wider_features_are_the_same_features(rng, order):
    data = chains.random_data(rng, (4, 5, 3), 3, 7)
    old = chains.random_features(rng, data, order=order, pairs=True)
    w = rng.normal(size=old.n_weights)
    wide = widen(old, 9, 5)
    assert by_name(wide, w) == by_name(old, w)
    assert wide.native is not None
    more = chains.random_data(rng, (6, 2), 5, 9)
    new = chains.random_features(rng, more, order=order, pairs=True)
    both, places = union(wide, new)
    assert [a | b for a, b in zip(as_sets(wide), as_sets(new))] == list(as_sets(both))
    full = np.zeros(both.n_weights)
    full[places] = w
    assert {key: v for key, v in by_name(both, full).items() if v} == by_name(old, w)
    assert both.native is not None
    # Scores of labellings that use old labels alone are those of the old model.
    wider = SequenceData(data.sequence_ptr, data.rows, 9, data.labels, 5)
    allowed = np.zeros((data.n_tokens, 5))
    allowed[:, 3:] = -np.inf
    values = [
        ChainLoss(d, f, base=base).value_and_gradient(x, np.empty_like(x))
        for d, f, base, x in [(data, old, None, w), (wider, both, ChainBase(nodes=allowed), full)]
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_lists_are_checked_once_and_pickled(rng):
    data = chains.random_data(rng, (4, 5), 3, 7)
    features = chains.random_features(rng, data)
    assert features.native is features.native
    again = pickle.loads(pickle.dumps(features))
    assert "native" not in vars(again)
    assert as_sets(again) == as_sets(features)
    wrong = features.node_label.copy()
    wrong[0] = 3
    with pytest.raises(ValueError, match="node feature 0 is out of range"):
        _ = ChainFeatures(3, features.node_ptr, wrong, *list(vars(again).values())[3:]).native
