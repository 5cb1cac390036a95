import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear import _core
from loglinear.data.sentences import Sentences
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.losses.ngram_maxent import NgramMaxentLoss, native_maxent
from loglinear.protocols import Curvature, Loss
from loglinear.testing import check_loss
from loglinear.threads import pool


def random_sentences(rng, n_sentences=30, n_words=7, length=8):
    return [rng.integers(1, n_words, rng.integers(0, length)).tolist() for _ in range(n_sentences)]


def random_trie(seed, order=3, **options):
    sentences = random_sentences(np.random.default_rng(seed), **options)
    return reference_trie(sentences, order, options.get("n_words", 7)), sentences


def twin(trie, w):
    """(loss, expected counts) by summation over the vocabulary for each history."""
    loss, expected = -float(trie.entry_count @ w), np.zeros(trie.n_entries)

    def visit(c, scores, path):
        nonlocal loss
        entries = np.arange(trie.context_entry[c], trie.context_entry[c + 1])
        scores, path = scores.copy(), [*path, entries]
        scores[trie.entry_word[entries]] += w[entries]
        children = range(trie.context_child[c], trie.context_child[c + 1])
        own = int(trie.context_count[c]) - sum(int(trie.context_count[k]) for k in children)
        top = scores.max()
        log_z = top + np.log(np.exp(scores - top).sum())
        p = np.exp(scores - log_z)
        loss += own * log_z
        for e in path:
            expected[e] += own * p[trie.entry_word[e]]
        for k in children:
            visit(k, scores, path)

    visit(0, np.zeros(trie.n_words), [])
    return loss, expected


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0, 3), st.sampled_from([1, 3, 50, 8192]))
@settings(deadline=None, max_examples=60)
def test_the_sweeps_equal_summation_over_the_vocabulary(seed, order, scale, unit):
    trie, _ = random_trie(seed, order)
    w = np.random.default_rng(seed).normal(size=trie.n_entries) * scale
    gradient = np.empty(trie.n_entries)
    value = native_maxent(trie, unit).value_and_gradient(pool(2), w, gradient)
    loss, expected = twin(trie, w)
    assert value == pytest.approx(loss, rel=1e-11, abs=1e-9)
    np.testing.assert_allclose(gradient, expected - trie.entry_count, atol=1e-10 * max(1, trie.context_count[0]))


@given(st.integers(0, 10**6), st.sampled_from([20.0, 100.0, 250.0, 700.0]))
@settings(deadline=None, max_examples=40)
def test_extreme_signed_weights_stay_finite_and_right(seed, extent):
    trie, _ = random_trie(seed, order=4)
    w = np.random.default_rng(seed).uniform(-extent, extent, size=trie.n_entries)
    gradient = np.empty(trie.n_entries)
    loss = NgramMaxentLoss(trie)
    value = loss.value_and_gradient(w, gradient)
    expected_value, expected = twin(trie, w)
    assert value == pytest.approx(expected_value, rel=1e-6)
    np.testing.assert_allclose(gradient, expected - trie.entry_count, atol=1e-6)
    log_p, log_r = loss.log_probabilities(w)
    assert np.all(np.isfinite(log_r))
    assert not np.any(np.isnan(log_p))


@pytest.mark.parametrize(("scale", "unit"), [(3.0, 8192), (4.0, 8192), (4.0, 50), (12.0, 8192)])
def test_weights_of_deep_tries_are_measured_along_paths(scale, unit):
    """The largest weights of all levels together are beyond the range; those of a path are not, but for the last."""
    rng = np.random.default_rng(1)
    words = np.concatenate([np.append(np.ones(60), rng.integers(1, 6, 40)) for _ in range(6)]).astype(np.uint32)
    trie = build_suffix_tree(Sentences(6, words, np.array([0, words.size]))).trie
    assert trie.order > 55
    w = rng.normal(size=trie.n_entries) * scale
    w[rng.random(w.size) < 0.5] = 0
    gradient = np.empty(trie.n_entries)
    value = native_maxent(trie, unit).value_and_gradient(pool(2), w, gradient)
    loss, expected = twin(trie, w)
    assert value == pytest.approx(loss, rel=1e-10)
    np.testing.assert_allclose(gradient, expected - trie.entry_count, atol=1e-6)


def test_derivatives():
    trie, _ = random_trie(5, order=4)
    loss = NgramMaxentLoss(trie)
    assert isinstance(loss, Loss)
    assert isinstance(loss, Curvature)
    check_loss(loss)
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(2, trie.n_entries))
    product, ahead, behind = (np.empty_like(w) for _ in range(3))
    loss.hessian(w).product(v, product)
    loss.value_and_gradient(w + 1e-5 * v, ahead)
    loss.value_and_gradient(w - 1e-5 * v, behind)
    np.testing.assert_allclose(product, (ahead - behind) / 2e-5, atol=1e-6)
    diagonal, column = np.empty_like(w), np.empty_like(w)
    loss.hessian(w).diagonal(diagonal)
    for j in range(0, trie.n_entries, 7):
        loss.hessian(w).product(np.eye(1, trie.n_entries, j)[0], column)
        assert column[j] == pytest.approx(diagonal[j], abs=1e-9)


def test_second_derivatives_of_extreme_weights():
    trie, _ = random_trie(6, order=3)
    w = np.random.default_rng(1).uniform(-650, 650, size=trie.n_entries)
    v = np.random.default_rng(2).normal(size=trie.n_entries)
    product, diagonal = np.empty_like(w), np.empty_like(w)
    hessian = NgramMaxentLoss(trie).hessian(w)
    hessian.product(v, product)
    hessian.diagonal(diagonal)
    assert np.all(np.isfinite(product))
    assert np.all(diagonal >= 0)


def test_every_context_sums_to_one():
    trie, _ = random_trie(8, order=4)
    w = np.random.default_rng(3).normal(size=trie.n_entries)
    log_p, log_r = NgramMaxentLoss(trie).log_probabilities(w)

    def visit(c, p):
        p = p / np.exp(log_r[c]) if c else p
        entries = slice(trie.context_entry[c], trie.context_entry[c + 1])
        p = p.copy()
        p[trie.entry_word[entries]] = np.exp(log_p[entries])
        assert p.sum() == pytest.approx(1, abs=1e-12)
        for k in range(trie.context_child[c], trie.context_child[c + 1]):
            visit(k, p)

    visit(0, np.zeros(trie.n_words))


def test_the_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    sentences = [rng.integers(1, 200, 20).tolist() for _ in range(2000)]
    trie = reference_trie(sentences, 4, 200)
    w = rng.normal(size=trie.n_entries)
    results = []
    for n_threads in (1, 2, 3):
        gradient, diagonal = np.empty_like(w), np.empty_like(w)
        loss = NgramMaxentLoss(trie, n_threads=n_threads)
        value = loss.value_and_gradient(w, gradient)
        loss.hessian(w).diagonal(diagonal)
        results.append((value, gradient.tobytes(), diagonal.tobytes()))
    assert results[0] == results[1] == results[2]


def test_other_text_is_scored_by_the_same_weights():
    trie, sentences = random_trie(11, order=4)
    loss, w = NgramMaxentLoss(trie), np.random.default_rng(5).normal(size=trie.n_entries)

    def sentences_of(lists):
        lengths = np.cumsum([0, *map(len, lists)])
        flat = [w for words in lists for w in words]
        return Sentences(trie.n_words, np.array(flat, np.uint32), lengths.astype(np.int64))

    same = loss.on(sentences_of(sentences))
    np.testing.assert_array_equal(same.trie.entry_count, trie.entry_count)
    np.testing.assert_array_equal(same.trie.context_count, trie.context_count)
    other = random_sentences(np.random.default_rng(77))
    log_p, log_r = loss.log_probabilities(w)
    place = {h: c for c, h in enumerate(contexts_of(trie))}

    def log_probability(history, word):
        if history not in place:
            return log_probability(history[:-1], word)
        c = place[history]
        for e in range(trie.context_entry[c], trie.context_entry[c + 1]):
            if trie.entry_word[e] == word:
                return log_p[e]
        return log_probability(history[:-1], word) - log_r[c]

    total = 0.0
    for sentence in other:
        history = (trie.n_words,)
        for word in [*sentence, 0]:
            total += log_probability(history[:3], word)
            history = (word, *history)
    assert loss.on(sentences_of(other)).value_and_gradient(w, np.empty_like(w)) == pytest.approx(-total, rel=1e-12)
    with pytest.raises(ValueError, match="vocabulary"):
        loss.on(sentences_of([[99]]))


def contexts_of(trie):
    """The words of each context, most recent first."""
    contexts = [()]
    for c in range(trie.n_contexts):
        contexts += [(*contexts[c], int(trie.context_word[k])) for k in range(*trie.context_child[c : c + 2])]
    return contexts


def test_an_offset_moves_the_weights():
    trie, _ = random_trie(9)
    rng = np.random.default_rng(4)
    w, offset = rng.normal(size=(2, trie.n_entries))
    a, b = np.empty_like(w), np.empty_like(w)
    assert NgramMaxentLoss(trie, offset=offset).value_and_gradient(w, a) == NgramMaxentLoss(trie).value_and_gradient(
        w + offset, b
    )
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="offsets for"):
        NgramMaxentLoss(trie, offset=offset[1:])


def test_a_damaged_trie_is_refused():
    trie, _ = random_trie(10)
    for name in ("context_child", "context_entry", "entry_parent", "entry_word"):
        arrays = {key: value.copy() for key, value in vars(trie).items() if isinstance(value, np.ndarray)}
        arrays[name][trie.n_words + 3 if name.startswith("entry") else 2] += 1000
        damaged = type(trie)(trie.order, trie.n_words, **arrays)
        with pytest.raises(ValueError, match="n-gram trie"):
            NgramMaxentLoss(damaged)
    with pytest.raises(ValueError, match="one number per n-gram"):
        NgramMaxentLoss(trie).value_and_gradient(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="seven arrays"):
        _core.NgramMaxent(7, trie.context_start, trie.entry_start, [], 8)
