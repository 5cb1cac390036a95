"""The growing tree against the trie of all n-grams, its gradients against the batch loss, its steps against plain
Python, and algorithm 1 against a certificate of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie
from online_models import Examined

from loglinear import _core
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.online import _batches
from loglinear.models.language_model.penalty import NgramPenalty, TreePenalty
from loglinear.models.language_model.tree_training import OnSuffixTree, OnTrie
from loglinear.threads import pool

ARRAYS = ("context_word", "context_child", "context_entry", "context_count")
ARRAYS += ("entry_word", "entry_parent", "entry_count")


def penalties(nonnegative=True, growth=1.2):
    common = {"nonnegative": nonnegative, "depth_growth": growth}
    return [
        TreePenalty("tree-linf", 0.2, l2=0.05, **common),
        TreePenalty("tree-l2", 0.2, l2=0.05, **common),
        NgramPenalty("elastic_net", (0.3, 0.2), (0.6, 0.4), **common),
        NgramPenalty("l1", (0.2,), **common),
        NgramPenalty("l2", (0.2,), **common),
        NgramPenalty("none", **common),
    ]


LINF, L2 = penalties()[:2]
ALL = [
    pytest.param(p, id=f"{p.penalty}-{'nonnegative' if p.nonnegative else 'signed'}")
    for p in (*penalties(), *penalties(nonnegative=False, growth=1.0))
]


def numbered(sentences, n_words):
    ptr = np.cumsum([0] + [len(s) for s in sentences])
    return Sentences(n_words, np.array([w for s in sentences for w in s], np.uint32), ptr.astype(np.int64))


def random_text(seed, n_sentences=20, n_words=6, length=8):
    rng = np.random.default_rng(seed)
    return [rng.integers(1, n_words, rng.integers(0, length)).tolist() for _ in range(n_sentences)]


def trained(sentences, n_words=6, order=4, penalty=LINF, epochs=1, **options):
    model = Examined(n_words, order, penalty, **{"batch_tokens": 15, **options})
    model.learn(numbered(sentences, n_words))
    for k in range(epochs):
        model.epoch(k)
    return model


def assert_same_tree(tree, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree.trie, name), getattr(expected.trie, name))
    np.testing.assert_array_equal(tree.context_length, expected.context_length)
    for c in range(1, tree.n_contexts):
        a, b = tree.context_end[c], expected.context_end[c]
        words = [tree.text[a - 1 - k] for k in range(tree.context_length[c])]
        assert words == [expected.text[b - 1 - k] for k in range(tree.context_length[c])]


# ---- the tree -------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 5, None]), st.integers(1, 60))
@settings(deadline=None, max_examples=60)
def test_the_growing_tree_is_the_suffix_tree_of_the_text(seed, order, batch):
    text = random_text(seed)
    model = Examined(6, order, LINF, batch_tokens=batch)
    model.learn(numbered(text[:9], 6))
    model.learn(numbered(text[9:], 6))
    assert_same_tree(model.tree()[0], build_suffix_tree(numbered(text, 6), order))


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(deadline=None, max_examples=30)
def test_where_nothing_collapses_it_is_the_trie_of_all_ngrams(seed, order):
    text = random_text(seed)
    model = trained(text, order=order, penalty=L2)
    expected = reference_trie(text, order, 6)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(model.tree()[0].trie, name), getattr(expected, name))


def test_batches_and_calls_make_the_same_tree_as_taking_all_in_at_once():
    text = random_text(3, n_sentences=60, n_words=20)
    whole, parts = Examined(20, None), Examined(20, None, batch_tokens=30)
    whole.extend(numbered(text, 20))
    parts.learn(numbered(text[:25], 20))
    parts.learn(numbered(text[25:], 20))
    assert_same_tree(whole.tree()[0], parts.tree()[0])
    assert parts.n_tokens == whole.n_tokens == sum(len(s) + 1 for s in text)


@pytest.mark.parametrize("penalty", [LINF, L2])
def test_splitting_changes_no_probability(penalty):
    text = random_text(5, n_sentences=30)
    model = trained(text[:10], order=7, penalty=penalty)
    tree, w = model.tree()
    model.extend(numbered(text[10:], 6))
    larger, moved = model.tree()
    assert larger.n_entries > tree.n_entries
    other = numbered(random_text(6), 6)
    before, after = CollapsedNgramLoss(tree), CollapsedNgramLoss(larger)
    assert before.value_on(w, other) == pytest.approx(after.value_on(moved, other), rel=1e-12)


def test_memory_follows_the_classes():
    rng = np.random.default_rng(0)
    text = [rng.integers(1, 500, 60).tolist() for _ in range(20)]  # nearly every history is new
    model = Examined(500, None)
    model.extend(numbered(text, 500))
    assert model.n_entries < model.tree()[0].n_ngrams / 10
    assert model.n_entries < 500 + 3 * model.n_tokens
    assert model._native.n_bytes < 500 * (model.n_tokens + 500)


# ---- gradients ------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([LINF, L2]), st.sampled_from([0.5, 6.0]))
@settings(deadline=None, max_examples=60)
def test_the_gradient_of_a_batch_is_that_of_the_batch_loss(seed, order, penalty, scale):
    text = random_text(seed)
    model = Examined(6, order, penalty)
    model.extend(numbered(text, 6))
    rng = np.random.default_rng(seed)
    model.set_weights(rng.normal(size=model.n_entries) * scale)
    batch = rng.permutation(len(text))[:7]
    value, gradient = model.loss_and_gradient(batch)
    tree, x = model.tree()
    trie, w = tree.expand(np.where(x == 0, 1e-300, x))  # every n-gram
    loss = NgramMaxentLoss(trie).on(numbered([text[i] for i in batch], 6))
    expected = np.empty(trie.n_entries)
    assert value == pytest.approx(loss.value_and_gradient(w, expected), rel=1e-9)
    by_value = dict(zip(w.tolist(), expected))  # the n-grams of a class agree in both
    np.testing.assert_allclose(gradient, [by_value[v] for v in model.weights.tolist()], atol=1e-8)


# ---- steps ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("penalty", ALL)
@pytest.mark.parametrize("mu", [0.0, 0.01])
def test_trees_that_lag_behind_end_with_the_same_bits(penalty, mu):
    text = random_text(7, n_sentences=60, n_words=25)
    options = {"n_words": 25, "penalty": penalty, "mu": mu, "epochs": 2}
    lazy, eager = trained(text, **options), trained(text, eager=True, **options)
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
            cap = max(0.0, ((total - threshold[g]) / weight).max())
            x[rows] = np.sign(x[rows]) * np.minimum(np.abs(x[rows]), cap)
        else:
            x[g] = np.sign(x[g]) * max(0.0, abs(x[g]) - threshold[g] / mass[g])
    return x


def residual(model):
    """Largest move of a proximal step from the weights, by plain Python; 0 at the optimum only."""
    tree, x = model.tree()
    penalty, trie, V = model.penalty, tree.trie, tree.n_words
    m, depth = tree.entry_multiplicity.astype(float), tree.entry_depth.tolist()
    g = np.empty(tree.n_entries)
    CollapsedNgramLoss(tree).value_and_gradient(x, g)
    if isinstance(penalty, TreePenalty):
        pairs = [(penalty.strength * penalty.depth_growth**d, penalty.l2) for d in range(tree.order)]
    else:
        pairs = [penalty.of_order(d + 2) for d in range(tree.order)]
    threshold = np.array([sum(a for a, _ in pairs[d : d + int(k)]) for d, k in zip(depth, m)])
    ridge = np.array([pairs[d][1] for d in depth])
    ridge[:V] = penalty.unigram_strength
    mass = np.maximum(trie.entry_count, 1.0) + ridge
    z = x - (g / m + ridge * x) / mass
    unigrams = np.abs(z - x)[:V].max()
    parent = np.maximum(trie.entry_parent[V:].astype(np.int64) - V, -1)
    z = np.maximum(z[V:], 0) if penalty.nonnegative else z[V:]
    best = twin_prox(penalty.penalty, parent, (m * mass)[V:], threshold[V:], z)
    return max(unigrams, np.abs(best - x[V:]).max())


@pytest.mark.parametrize("penalty", ALL)
def test_full_batches_reach_a_certified_optimum(penalty):
    if penalty.penalty == "none":
        pytest.skip("without a penalty weights of n-grams grow without end")
    model = Examined(6, 4, penalty, gain=0.0, batch_tokens=10**6)
    model.extend(numbered(random_text(11, n_sentences=25), 6))
    before = residual(model)
    for _ in range(3000):
        model.epoch(0)
    assert residual(model) < 1e-6 * before
    assert np.count_nonzero(model.weights[6:])


def test_small_batches_approach_the_optimum():
    text = random_text(12, n_sentences=80)
    penalty = TreePenalty("tree-linf", 0.5, 1.0)
    best = Examined(6, 3, penalty, gain=0.0, batch_tokens=10**6)
    best.extend(numbered(text, 6))
    start = best.objective()
    for _ in range(1000):
        best.epoch(0)
    model = trained(text, order=3, epochs=30, penalty=penalty)
    assert model.objective() - best.objective() < 0.05 * (start - best.objective())


@pytest.mark.parametrize("penalty", [p for p in ALL if isinstance(p.values[0], TreePenalty)])
def test_the_objective_is_that_of_batch_training(penalty):
    model = trained(random_text(13), penalty=penalty)
    tree, x = model.tree()
    vocabulary = WordVocabulary.from_words("abcde", is_open=False)
    weights = OnSuffixTree(tree, vocabulary) if model.collapses else OnTrie(tree.trie, vocabulary)
    gradient = np.empty(x.size)
    expected = weights.objective(penalty).value_and_loss_gradient(x, gradient)
    assert model.objective() == pytest.approx(expected, rel=1e-10)


# ---- use ------------------------------------------------------------------------------------------------------------
def test_the_backoff_model_sums_to_one_and_knows_unknown_words():
    text = random_text(14, n_sentences=40)
    text = [[w for w in s if w != 1] for s in text]  # 1 is <unk>
    vocabulary = WordVocabulary.from_words(["a", "b", "c", "d"], is_open=True)
    model = trained(text, n_words=vocabulary.n_words, order=3)
    assert model.pack(vocabulary) is not None
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
    with pytest.raises(ValueError, match="the order is 0"):
        Examined(5, 0)
    with pytest.raises(ValueError, match="batch_tokens is 0"):
        Examined(5, 3, batch_tokens=0)
    with pytest.raises(ValueError, match="finite numbers from 0"):
        Examined(5, 3, gain=float("nan"))
    with pytest.raises(ValueError, match="leaves the range of numbers at depth 2"):
        Examined(5, None, TreePenalty("tree-linf", 1.0, 1e-200)).learn(numbered([[1, 2, 3]], 5))
    model = Examined(5, 3)
    with pytest.raises(ValueError, match="vocabulary of 6 words for a model of 5"):
        model.learn(numbered([[1]], 6))
    with pytest.raises(ValueError, match="word 7 is not one of the 1 to 4"):
        model.learn(Sentences(5, np.array([7], np.uint32), np.array([0, 1])))
    with pytest.raises(ValueError, match="sentence 0 ends before it begins"):
        model.learn(Sentences(5, np.array([1], np.uint32), np.array([0, -1, 1])))
    assert model.n_tokens == 0
    with pytest.raises(ValueError, match="there is no sentence 3"):
        model.loss_and_gradient(np.array([3]))
    with pytest.raises(ValueError, match="vocabulary of 4 words for a model of 5"):
        model.to_backoff(WordVocabulary.from_words("abc", is_open=False))
    settings = ([1.0], [0.0], 1.0, 1.0, 0.01, 1.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="one number per n-gram"):
        _core.OnlineTree(5, 3, "l1", True, True, *settings).values(pool(1), np.empty(3))
    with pytest.raises(ValueError, match="do not collapse"):
        _core.OnlineTree(5, 3, "tree-l2", True, True, *settings)
    with pytest.raises(ValueError, match="the penalty must be"):
        _core.OnlineTree(5, 3, "l3", True, True, *settings)
