"""The growing tree against the trie of all n-grams, its gradients against the batch loss, its steps against plain
Python, and algorithm 1 against a certificate of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import contexts_of, reference_trie

from loglinear import _core
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.online_ngram import PENALTIES, OnlineNgrams, _batches
from loglinear.threads import pool

ARRAYS = ("context_word", "context_child", "context_entry", "context_count", "entry_word", "entry_parent", "entry_count")


def numbered(sentences, n_words):
    ptr = np.cumsum([0] + [len(s) for s in sentences])
    return Sentences(n_words, np.array([w for s in sentences for w in s], np.uint32), ptr.astype(np.int64))


def random_text(seed, n_sentences=20, n_words=6, length=8):
    rng = np.random.default_rng(seed)
    return [rng.integers(1, n_words, rng.integers(0, length)).tolist() for _ in range(n_sentences)]


def trained(sentences, n_words=6, order=4, epochs=1, **options):
    options = {"batch_tokens": 15, "strength": 0.2, **options}
    model = OnlineNgrams(n_words, order, **options)
    model.learn(numbered(sentences, n_words))
    for k in range(epochs):
        model.epoch(k)
    return model


def classes(trie):
    """Contexts of a trie of all n-grams by class: longest context to the set of its contexts."""
    words = contexts_of(trie)
    count = dict(zip(words, trie.context_count.tolist()))
    children = {}
    for h in words[1:]:
        children.setdefault(h[:-1], []).append(h)
    result = {}
    for h in words[1:]:
        longest = h
        while len(below := children.get(longest, [])) == 1 and count[below[0]] == count[longest]:
            longest = below[0]
        result.setdefault(longest, set()).add(h)
    return result


# ---- the tree -------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["tree-linf", "tree-l2"]), st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_spelt_out_the_growing_tree_is_the_trie_of_all_ngrams(seed, order, penalty, batch):
    text = random_text(seed)
    model = OnlineNgrams(6, order, penalty=penalty, batch_tokens=batch)
    model.learn(numbered(text[:9], 6))
    model.learn(numbered(text[9:], 6))
    trie, _ = model.ngrams()
    expected = reference_trie(text, order, 6)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(trie, name), getattr(expected, name))


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5, None]))
@settings(deadline=None, max_examples=60)
def test_contexts_that_always_occur_together_are_one_class(seed, order):
    text = random_text(seed, n_sentences=8, n_words=5)
    model = OnlineNgrams(5, order, batch_tokens=10)
    model.learn(numbered(text, 5))
    tree = model.tree()
    longest = max(len(s) for s in text) + 2
    expected = classes(reference_trie(text, order or longest, 5))
    words = model._native.text()
    found = {}
    for end, length in zip(tree.context_end[1:].tolist(), tree.context_length[1:].tolist()):
        found[tuple(words[end - 1 - k] for k in range(length))] = length
    assert set(found) == set(expected)
    multiplicity = dict(zip(found, tree._context_multiplicity()[1:]))
    assert multiplicity == {h: len(members) for h, members in expected.items()}
    assert tree.trie.n_contexts == 1 + len(expected)


def test_batches_and_calls_make_the_same_tree_as_taking_all_in_at_once():
    text = random_text(3, n_sentences=60, n_words=20)
    whole, parts = OnlineNgrams(20, None), OnlineNgrams(20, None, batch_tokens=30)
    whole.extend(numbered(text, 20))
    parts.learn(numbered(text[:25], 20))
    parts.learn(numbered(text[25:], 20))
    a, b = whole.tree(), parts.tree()
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a.trie, name), getattr(b.trie, name))
    np.testing.assert_array_equal(a.context_length, b.context_length)
    np.testing.assert_array_equal(a.entry_multiplicity, b.entry_multiplicity)


def test_splitting_changes_no_probability():
    text = random_text(5, n_sentences=30)
    model = trained(text[:10], order=None)
    trie, w = model.ngrams()
    model.extend(numbered(text[10:], 6))
    larger, moved = model.ngrams()
    assert larger.n_entries > trie.n_entries

    def log_p(trie, w):
        values, _ = NgramMaxentLoss(trie).log_probabilities(w)
        names = contexts_of(trie)
        spans = zip(names, trie.context_entry[:-1], trie.context_entry[1:])
        return {(h, int(trie.entry_word[e])): values[e] for h, a, b in spans for e in range(a, b)}

    before, after = log_p(trie, w), log_p(larger, moved)
    assert all(after[e] == pytest.approx(p, abs=1e-12) for e, p in before.items())


def test_memory_follows_the_classes():
    rng = np.random.default_rng(0)
    text = [rng.integers(1, 500, 60).tolist() for _ in range(20)]  # nearly every history is new
    model = OnlineNgrams(500, None)
    model.extend(numbered(text, 500))
    spelt_out, _ = model.ngrams()
    assert model.n_entries < spelt_out.n_entries / 10
    assert model.n_entries < 500 + 3 * model.n_tokens


# ---- gradients ------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from(["tree-linf", "tree-l2"]), st.sampled_from([0.5, 6.0]))
@settings(deadline=None, max_examples=60)
def test_the_gradient_of_a_batch_is_that_of_the_batch_loss(seed, order, penalty, scale):
    text = random_text(seed)
    model = OnlineNgrams(6, order, penalty=penalty)
    model.extend(numbered(text, 6))
    rng = np.random.default_rng(seed)
    model.weights = rng.normal(size=model.n_entries) * scale
    batch = rng.permutation(len(text))[:7]
    value, gradient = model.loss_and_gradient(batch)
    trie, w = model.ngrams()
    loss = NgramMaxentLoss(trie).on(numbered([text[i] for i in batch], 6))
    expected = np.empty(trie.n_entries)
    assert value == pytest.approx(loss.value_and_gradient(w, expected), rel=1e-9)
    source = model._native.layout(True)[-1]
    np.testing.assert_allclose(gradient[source], expected, atol=1e-8)


# ---- steps ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("nonnegative", [True, False])
def test_trees_that_lag_behind_end_with_the_same_bits(penalty, nonnegative):
    text = random_text(7, n_sentences=60, n_words=25)
    options = {"penalty": penalty, "nonnegative": nonnegative, "l2": 0.1, "depth_growth": 1.2, "mu": 0.01, "n_words": 25}
    lazy, eager = trained(text, epochs=2, **options), trained(text, epochs=2, eager=True, **options)
    np.testing.assert_array_equal(lazy.weights, eager.weights)
    assert np.any(lazy.weights[25:] != 0)


def test_threads_do_not_change_a_bit():
    text = random_text(8, n_sentences=60, n_words=25)
    one, three = (trained(text, n_words=25, epochs=2, n_threads=n).weights for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def twin_prox(penalty, parent, mass, threshold, z):
    """Group by group from the leaves (Jenatton et al. 2011), each by sorting or scaling."""
    x = z.copy()
    members = [[i] for i in range(len(z))]
    for i in reversed(range(len(z))):
        if parent[i] >= 0:
            members[parent[i]] += members[i]
    for g in reversed(range(len(z))):
        rows = np.array(members[g])
        if penalty == "tree-l2":
            norm = np.sqrt(np.sum(mass[rows] * x[rows] ** 2))
            x[rows] *= max(0.0, 1 - threshold[g] / np.sqrt(mass[g]) / norm) if norm > 0 else 0.0
        elif penalty == "tree-linf":
            order = rows[np.argsort(-np.abs(x[rows]))]
            total, weight = np.cumsum(mass[order] * np.abs(x[order])), np.cumsum(mass[order])
            caps = (total - threshold[g]) / weight
            cap = max(0.0, caps.max())
            x[rows] = np.sign(x[rows]) * np.minimum(np.abs(x[rows]), cap)
        else:
            x[g] = np.sign(x[g]) * max(0.0, abs(x[g]) - threshold[g] / mass[g])
    return x


def residual(model, penalty, strength, l2, growth, nonnegative):
    """Largest move of a proximal step from the weights, on the trie of all n-grams; 0 at the optimum only."""
    trie, x = model.ngrams()
    tree = model.tree()
    source = model._native.layout(True)[-1]
    depth = np.empty(model.n_entries)
    depth[tree.source] = tree.entry_depth  # constant on a class
    V, g = trie.n_words, np.empty(trie.n_entries)
    NgramMaxentLoss(trie).value_and_gradient(x, g)
    ridge = np.full(trie.n_entries, l2 + (strength * growth ** depth[source] if penalty == "l2" else 0.0))
    ridge[:V] = 0.01
    mass = np.maximum(trie.entry_count, 1.0)
    z = x - (g + ridge * x) / mass
    unigrams = np.abs(z - x)[:V].max()
    parent = trie.entry_parent[V:].astype(np.int64) - V
    parent[: trie.entry_start[2] - V] = -1
    threshold = strength * growth ** depth[source][V:] * (penalty not in ("l2", "none"))
    z = np.maximum(z[V:], 0) if nonnegative else z[V:]
    return max(unigrams, np.abs(twin_prox(penalty, parent, mass[V:], threshold, z) - x[V:]).max())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("nonnegative", "growth"), [(True, 1.3), (False, 1.0)])
def test_full_batches_reach_a_certified_optimum(penalty, nonnegative, growth):
    text = random_text(11, n_sentences=25)
    options = {"strength": 0.4, "l2": 0.05, "depth_growth": growth}
    model = OnlineNgrams(
        6, 4, penalty=penalty, nonnegative=nonnegative, gain=0.0, batch_tokens=10**6, **options
    )
    model.extend(numbered(text, 6))
    before = residual(model, penalty, 0.4, 0.05, growth, nonnegative)
    for _ in range(3000):
        model.epoch(0)
    assert residual(model, penalty, 0.4, 0.05, growth, nonnegative) < 1e-6 * before
    assert np.count_nonzero(model.weights[6:])


def test_small_batches_approach_the_optimum():
    text = random_text(12, n_sentences=80)
    best = OnlineNgrams(6, 3, gain=0.0, batch_tokens=10**6, strength=0.5)
    best.extend(numbered(text, 6))
    start = best.objective()
    for _ in range(1000):
        best.epoch(0)
    model = trained(text, order=3, epochs=30, strength=0.5)
    assert model.objective() - best.objective() < 0.05 * (start - best.objective())


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_penalty_is_what_its_formula_says(penalty):
    model = trained(random_text(13), penalty=penalty, l2=0.3, depth_growth=1.1)
    tree, w = model.tree(), model.weights
    x, m, depth, trie = w[tree.source], tree.entry_multiplicity, tree.entry_depth, tree.trie
    V, expected = 6, 0.5 * 0.01 * np.sum(w[:6] ** 2)
    below = {e: [e] for e in range(trie.n_entries)}
    for e in reversed(range(trie.entry_start[2] if trie.order > 1 else V, trie.n_entries)):
        below[trie.entry_parent[e]] += below[e]
    for e in range(V, trie.n_entries):
        group, weight = x[below[e]], 0.2 * m[e] * 1.1 ** depth[e]
        scale = trie.entry_count[below[e]] / trie.entry_count[e]
        norms = {"tree-linf": np.abs(group).max(), "tree-l2": np.sqrt(np.sum(scale * group**2)), "l1": abs(x[e])}
        expected += weight * norms.get(penalty, 0.5 * x[e] ** 2 if penalty == "l2" else 0.0) + 0.15 * m[e] * x[e] ** 2
    assert model.penalty_value() == pytest.approx(expected, rel=1e-12)


# ---- use ------------------------------------------------------------------------------------------------------------
def test_the_backoff_model_sums_to_one_and_knows_unknown_words():
    text = random_text(14, n_sentences=40)
    text = [[w for w in s if w != 1] for s in text]  # 1 is <unk>
    vocabulary = WordVocabulary.from_words(["a", "b", "c", "d"], is_open=True)
    model = trained(text, n_words=vocabulary.n_words, order=3)
    backoff = model.to_backoff(vocabulary)
    p = np.exp(backoff.log_probability[: vocabulary.n_words])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert 1e-4 < p[1] < 0.1


def test_batches_are_whole_sentences():
    assert _batches(np.array([5, 5, 5, 5, 3]), 10) == [0, 2, 5]
    assert _batches(np.array([3]), 10) == [0, 1]
    assert _batches(np.array([], dtype=int), 10) == [0]
    assert _batches(np.array([30, 1, 10]), 10) == [0, 1, 3]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="unknown penalty 'l3'; known: tree-linf"):
        OnlineNgrams(5, 3, penalty="l3")
    with pytest.raises(ValueError, match="the order is 0"):
        OnlineNgrams(5, 0)
    with pytest.raises(ValueError, match="batch_tokens is 0"):
        OnlineNgrams(5, 3, batch_tokens=0)
    with pytest.raises(ValueError, match="finite numbers from 0"):
        OnlineNgrams(5, 3, strength=float("nan"))
    with pytest.raises(ValueError, match="depth_growth must be a positive"):
        OnlineNgrams(5, 3, depth_growth=0.0)
    with pytest.raises(ValueError, match="leaves the range of numbers at depth 1"):
        OnlineNgrams(5, 3, depth_growth=1e-320).learn(numbered([[1, 2, 3]], 5))
    model = OnlineNgrams(5, 3)
    with pytest.raises(ValueError, match="vocabulary of 6 words for a model of 5"):
        model.learn(numbered([[1]], 6))
    with pytest.raises(ValueError, match="word 7 is not one of the 1 to 4"):
        model.learn(Sentences(5, np.array([7], np.uint32), np.array([0, 1])))
    with pytest.raises(ValueError, match="sentence 0 ends before it begins"):
        model.learn(Sentences(5, np.array([1], np.uint32), np.array([0, -1, 1])))
    assert model.n_tokens == 0
    with pytest.raises(ValueError, match="there is no sentence 3"):
        model.loss_and_gradient(np.array([3]))
    native = _core.OnlineTree(5, 3, "l1", True, True, 1.0, 0.0, 0.0, 1.0, 0.01, 1.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="one number per n-gram"):
        native.values(pool(1), np.empty(3))
