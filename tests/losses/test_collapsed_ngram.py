"""The loss on the suffix tree is that of the trie, with weights that are equal along paths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suffix_trees import collapse, longest_order

from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.protocols import Curvature, Loss, Scaled
from loglinear.testing import check_loss


def problem(seed, order, n_sentences=12, n_words=5, length=9):
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(1, n_words, rng.integers(0, length)).tolist() for _ in range(n_sentences)]
    sentences += sentences[:2]
    if order is not None:
        order = min(order, longest_order(sentences))
    lengths = np.cumsum([0, *map(len, sentences)])
    text = Sentences(n_words, np.array([w for s in sentences for w in s], np.uint32), lengths.astype(np.int64))
    return build_suffix_tree(text, order), collapse(sentences, order, n_words), rng


@given(st.integers(0, 10**6), st.none() | st.integers(1, 6), st.floats(0, 2))
@settings(deadline=None, max_examples=80)
def test_equals_the_loss_of_the_trie(seed, order, scale):
    tree, twin, rng = problem(seed, order)
    on_tree, on_trie = CollapsedNgramLoss(tree), NgramMaxentLoss(twin.full)
    x, v = rng.normal(size=(2, tree.n_entries)) * scale
    g, h, d = (np.empty(tree.n_entries) for _ in range(3))
    full_g, full_h = (np.empty(twin.full.n_entries) for _ in range(2))
    value = on_tree.value_and_gradient(x, g)
    assert value == pytest.approx(on_trie.value_and_gradient(x[twin.entry_of], full_g), rel=1e-10, abs=1e-9)

    def summed(values):
        return np.bincount(twin.entry_of, values, minlength=tree.n_entries)

    np.testing.assert_allclose(g, summed(full_g), atol=1e-8)
    one = np.zeros(tree.n_entries)  # any of the n-grams of an entry has the gradient of all of them, divided by m
    one[twin.entry_of] = full_g
    np.testing.assert_allclose(g, tree.entry_multiplicity * one, atol=1e-8)
    on_tree.hessian(x).product(v, h)
    on_trie.hessian(x[twin.entry_of]).product(v[twin.entry_of], full_h)
    np.testing.assert_allclose(h, summed(full_h), atol=1e-7)
    on_tree.hessian(x).diagonal(d)
    e = int(rng.integers(tree.n_entries))
    unit = np.zeros(tree.n_entries)
    unit[e] = 1
    on_tree.hessian(x).product(unit, h)
    assert h[e] == pytest.approx(d[e], abs=1e-7)


def test_derivatives_and_powers():
    tree, _, _ = problem(3, None)
    loss = CollapsedNgramLoss(tree)
    for power in (Loss, Curvature, Scaled):
        assert isinstance(loss, power)
    check_loss(loss)
    estimate = np.empty(tree.n_entries)
    loss.curvature_estimate(estimate)
    m = tree.entry_multiplicity.astype(float)
    np.testing.assert_array_equal(estimate, m * m * np.maximum(tree.trie.entry_count, 0.5))


def test_deep_trees():
    """A text of one word only is as deep as it is long."""
    text = Sentences(2, np.ones(3000, np.uint32), np.array([0, 3000]))
    tree = build_suffix_tree(text)
    assert tree.trie.order > 2900
    g = np.empty(tree.n_entries)
    value = CollapsedNgramLoss(tree).value_and_gradient(np.zeros(tree.n_entries), g)
    assert value == pytest.approx(3001 * np.log(2))
    assert np.all(np.isfinite(g))
