"""The automaton made straight from a trie is that of the back-off model with the n-grams that are kept."""

from dataclasses import replace

import numpy as np
import pytest

from loglinear.arrays import vectors_made_by
from loglinear.backoff.queries import NgramQueries
from loglinear.backoff.trie_model import TrieModel
from loglinear.data.ngram import build_trie, cut
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.backoff_form import trie_model_of

V = 12


def some_sentences(seed, n=300):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, n)
    words = np.minimum(rng.zipf(1.5, lengths.sum()), V - 2).astype(np.uint32)  # one word has no tokens
    return Sentences(V, words, np.r_[0, np.cumsum(lengths)])


def some_model(seed=0, order=4, density=0.3, min_counts=None, n_threads=None):
    """A model of random weights, of which only some are not zero; contexts without a weight are left to back off."""
    rng = np.random.default_rng(seed)
    trie = build_trie(some_sentences(seed), order)
    if min_counts is not None:
        trie = cut(trie, min_counts)
    weights = rng.exponential(size=trie.n_entries) * (rng.random(trie.n_entries) < density)
    words = WordVocabulary.from_words([f"w{i}" for i in range(V - 2)], is_open=True)
    return trie_model_of(NgramMaxentLoss(trie, n_threads=n_threads), words, weights)


def with_beginnings(model):
    """The model that also keeps the beginnings of its contexts: for each context (.., w), the n-gram that it is."""
    trie = model.trie
    words = [()] + [None] * (trie.n_contexts - 1)  # of contexts, oldest first
    for c in range(trie.n_contexts):
        for child in range(trie.context_child[c], trie.context_child[c + 1]):
            words[child] = (int(trie.context_word[child]), *words[c])
    context = np.repeat(np.arange(trie.n_contexts), np.diff(trie.context_entry.astype(np.int64)))
    number = {(*words[c], int(w)): e for e, (c, w) in enumerate(zip(context, trie.entry_word))}
    keep, todo = model.keep.copy(), [words[c] for c in context[model.keep]]
    while todo:
        for end in range(2, len(history := todo.pop()) + 1):  # "a b c" ends in the contexts "b c" and "c"
            beginning = history[-end:]
            if not keep[number[beginning]]:
                keep[number[beginning]] = True
                todo.append(beginning[:-1])
    return replace(model, keep=keep)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("min_counts", [None, (1, 1, 2), (1, 2)])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_is_the_automaton_of_the_model_without_what_is_left_out(order, density, min_counts, n_threads):
    if min_counts is not None and order < len(min_counts):
        min_counts = min_counts[:order]
    for seed in range(5):
        model = some_model(seed, order, density, min_counts)
        expected = NgramQueries.from_backoff(with_beginnings(model).to_backoff()).arrays()
        before = model.keep.copy()
        found = model.to_queries(n_threads=n_threads)
        for name, array in found.arrays().items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
        np.testing.assert_array_equal(model.keep, before)
        backoff = model.to_backoff()
        assert model.n_ngrams == np.diff(backoff.entry_start).tolist()
        sentences = some_sentences(seed, 30)
        other = NgramQueries.from_backoff(backoff).score_sentences(sentences).log_probability
        np.testing.assert_allclose(found.score_sentences(sentences).log_probability, other, rtol=1e-5)


def test_arrays_are_made_where_vectors_live():
    model = some_model()
    made = []

    def make(size, dtype):
        made.append(size * dtype.itemsize)
        return np.full(size, 77, np.uint8).view(dtype) if dtype.itemsize == 1 else np.full(size, 77, dtype)

    with vectors_made_by(make):
        found = model.to_queries().arrays()
    for name, array in model.to_queries().arrays().items():
        np.testing.assert_array_equal(found[name], array)
    assert {found["contexts"].nbytes, found["entries"].nbytes, model.trie.n_entries} <= set(made)


def test_refusals():
    model = some_model()
    for name, at, message in [
        ("entry_parent", -1, "the parent of an entry is not in the parent context"),
        ("entry_word", -1, "the parent of an entry is not in the parent context"),
        ("context_entry", -1, "do not ascend"),
    ]:
        array = getattr(model.trie, name).copy()
        array[at] = 0
        with pytest.raises(ValueError, match=message):
            replace(model, trie=replace(model.trie, **{name: array})).to_queries()
    for name in ("log_probability", "log_backoff", "keep"):
        shorter = TrieModel(**{**vars(model), name: getattr(model, name)[1:]})
        with pytest.raises(ValueError, match="one number is needed for every context, or for every entry"):
            shorter.to_queries()
