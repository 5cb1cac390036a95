"""Witten-Bell against its formula, and by its sums."""

from math import exp

import numpy as np
import pytest
from backoff_tables import log_probability, tables, worst_sum
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear.backoff.witten_bell import witten_bell
from loglinear.features.word_vocabulary import WordVocabulary

ABC = WordVocabulary.from_words("abc", is_open=False)


def followers(trie):
    """{history: {word: tokens}}, newest word first."""
    contexts = [()] + [None] * (trie.n_contexts - 1)
    for c in range(trie.n_contexts):
        for child in range(int(trie.context_child[c]), int(trie.context_child[c + 1])):
            contexts[child] = (*contexts[c], int(trie.context_word[child]))
    return {
        h: {int(trie.entry_word[e]): int(trie.entry_count[e]) for e in range(*trie.context_entry[c : c + 2].tolist())}
        for c, h in enumerate(contexts)
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(1, 3), max_size=6), max_size=10), st.integers(1, 4))
def test_equals_the_formula(sentences, order):
    trie = reference_trie(sentences, order, 4)
    counts = followers(trie)

    def probability(h, w):
        lower = 1 / 4 if h == () else probability(h[:-1], w)
        seen = {v: c for v, c in counts.get(h, {}).items() if c > 0}
        if not seen:
            return lower
        return (seen.get(w, 0) + len(seen) * lower) / (sum(seen.values()) + len(seen))

    t = tables(witten_bell(trie, ABC))
    for h in counts:
        for w in range(4):
            assert exp(log_probability(t, h, w)) == pytest.approx(probability(h, w), rel=1e-12)
    assert worst_sum(t) < 1e-12


def test_tokens_cut_off_go_to_the_lower_order():
    trie = reference_trie([[1, 2], [1, 2], [1, 3]], 2, 4)
    c = 1  # the context of word 1
    assert trie.context_word[c] == 1
    e = next(i for i in range(*trie.context_entry[c : c + 2].tolist()) if trie.entry_word[i] == 3)
    fields = dict(vars(trie))
    for name in ("entry_word", "entry_parent", "entry_count"):
        fields[name] = np.delete(fields[name], e)
    fields["context_entry"] = trie.context_entry - (np.arange(trie.n_contexts + 1) > c).astype(np.uint32)
    fields["entry_start"] = trie.entry_start - np.array([0, 0, 1])
    t = tables(witten_bell(type(trie)(**fields), ABC))
    assert exp(t.backoff[(1,)]) == pytest.approx((1 + 1) / (3 + 1))  # one type seen, one token of three cut off
    assert worst_sum(t) < 1e-12
