"""The trie of a corpus, cut or extended, equals its plain twin, on any number of threads."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import contexts_of, reference_trie, trie_of

from loglinear.backoff.model import BackoffModel
from loglinear.data.ngram import _build_in_files, build_trie, cut, extend_trie, memory_needed
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary


def encode(sentences, n_words):
    """Lists of word numbers as Sentences."""
    words = np.array([word for sentence in sentences for word in sentence], dtype=np.uint32)
    return Sentences(n_words, words, np.cumsum([0] + [len(s) for s in sentences], dtype=np.int64))


def assert_equal(found, expected):
    for name, value in vars(expected).items():
        assert np.array_equal(getattr(found, name), value), name
        if isinstance(value, np.ndarray):
            assert getattr(found, name).dtype == value.dtype


def random_corpus(rng, n_sentences, n_words, longest=12):
    """Words with frequencies that fall off, so that n-grams repeat."""
    lengths = rng.integers(0, longest + 1, n_sentences)
    return [np.minimum(rng.zipf(1.5, n) - 1, n_words - 1).tolist() for n in lengths]


corpora = st.integers(1, 6).flatmap(
    lambda n_words: st.tuples(
        st.just(n_words), st.lists(st.lists(st.integers(0, n_words - 1), max_size=9), max_size=12)
    )
)


@settings(max_examples=150, deadline=None)
@given(corpora, st.integers(1, 7), st.integers(1, 3))
def test_equals_the_twin(corpus, order, n_threads):
    n_words, sentences = corpus
    found = build_trie(encode(sentences, n_words), order, n_threads=n_threads)
    assert_equal(found, reference_trie(sentences, order, n_words))


@pytest.mark.parametrize(("n_words", "order"), [(2, 12), (60, 5), (300, 6), (70_000, 5), (300_000, 4)])
def test_keys_of_several_words_of_any_width(n_words, order):
    """Few words pack a whole n-gram into one key; many need several."""
    rng = np.random.default_rng(n_words)
    sentences = random_corpus(rng, 60, n_words)
    assert_equal(build_trie(encode(sentences, n_words), order, n_threads=2), reference_trie(sentences, order, n_words))


def test_threads_agree_on_many_chunks():
    """Enough tokens for several chunks of work, large groups and every way of merging."""
    rng = np.random.default_rng(5)
    for n_words in (3, 400, 20_000):
        sentences = encode(random_corpus(rng, 12_000, n_words, longest=40), n_words)
        one = build_trie(sentences, 4, n_threads=1)
        for n_threads in (2, 3):
            assert_equal(build_trie(sentences, 4, n_threads=n_threads), one)
        assert int(one.entry_count[:n_words].sum()) == sentences.n_tokens + sentences.n_sentences
        for n in range(1, 4):  # counts add up along parents, but for histories that end before
            part = slice(one.entry_start[n], one.entry_start[n + 1])
            total = np.zeros(one.n_entries, dtype=np.int64)
            np.add.at(total, one.entry_parent[part], one.entry_count[part])
            parents = slice(one.entry_start[n - 1], one.entry_start[n])
            assert (total[parents] <= one.entry_count[parents]).all()


def test_larger_corpus_equals_the_twin():
    rng = np.random.default_rng(6)
    sentences = random_corpus(rng, 3000, 500, longest=25)
    assert_equal(build_trie(encode(sentences, 500), 4, n_threads=2), reference_trie(sentences, 4, 500))


def test_order_above_the_longest_sentence():
    trie = build_trie(encode([[1, 2], []], 3), 64)
    assert trie.entry_start.size == 65
    assert trie.entry_start[-1] == trie.entry_start[4]  # nothing is longer than <s> 1 2 </s>


def test_bytes_per_ngram():
    sentences = encode(random_corpus(np.random.default_rng(0), 200, 50), 50)
    trie = build_trie(sentences, 5)
    constant = 2 * 8 * 6 + 2 * 4  # where the levels begin, and the ends of two arrays
    assert trie.nbytes == 12 * trie.n_entries + 16 * trie.n_contexts + constant


def test_an_empty_corpus_has_unigrams_only():
    trie = build_trie(encode([], 4), 3)
    assert (trie.n_entries, trie.n_contexts, trie.context_count.tolist()) == (4, 1, [0])


@pytest.mark.parametrize("order", [0, -1, 256, 2.0, True])
def test_refuses_an_order(order):
    with pytest.raises(ValueError, match="whole number between 1 and 255"):
        build_trie(encode([[1]], 3), order)


def test_refuses_malformed_sentences():
    with pytest.raises(ValueError, match=r"word number 3 in sentence 1 is outside \[0, 3\)"):
        build_trie(encode([[1], [2, 3]], 3), 2)
    with pytest.raises(ValueError, match="must start at 0 and end at the number of words"):
        build_trie(Sentences(3, np.zeros(2, np.uint32), np.array([0, 3])), 2)
    with pytest.raises(ValueError, match="decreases at sentence 1"):
        build_trie(Sentences(3, np.zeros(2, np.uint32), np.array([0, 2, 1, 2])), 2)
    with pytest.raises(ValueError, match="n_words must be between 1"):
        build_trie(Sentences(0, np.zeros(0, np.uint32), np.array([0])), 2)


def cut_twin(trie, min_counts):
    """From dictionaries."""
    contexts = contexts_of(trie)
    totals = dict(zip(contexts, trie.context_count.tolist()))
    counts = {}
    for c, h in enumerate(contexts):
        for e in range(trie.context_entry[c], trie.context_entry[c + 1]):
            if not h or trie.entry_count[e] >= min_counts[len(h)]:
                counts[h, int(trie.entry_word[e])] = int(trie.entry_count[e])
    kept = {h for h, _ in counts}
    return trie_of({h: n for h, n in totals.items() if h in kept}, counts, trie.order, trie.n_words)


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(1, 5), st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_cut_equals_the_twin(corpus, order, steps):
    n_words, sentences = corpus
    trie = build_trie(encode(sentences, n_words), order)
    min_counts = np.cumsum(steps)[:order].tolist()
    assert_equal(cut(trie, min_counts), cut_twin(trie, min_counts))


def test_the_last_cut_off_is_that_of_all_higher_orders():
    sentences = random_corpus(np.random.default_rng(1), 200, 20)
    trie = build_trie(encode(sentences, 20), 5)
    assert_equal(cut(trie, [1]), trie)
    assert_equal(cut(trie, [1, 1, 2]), cut(trie, [1, 1, 2, 2, 2]))
    assert cut(trie, [10**9]).n_entries == 20


def test_refuses_cut_offs():
    trie = build_trie(encode([[1, 2]], 3), 3)
    with pytest.raises(ValueError, match="must not decrease with the order, but order 3 has 1 after 2: an"):
        cut(trie, [1, 2, 1])
    with pytest.raises(ValueError, match="4 cut-offs for a trie of order 3"):
        cut(trie, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="whole numbers"):
        cut(trie, [1, 1.5])
    with pytest.raises(ValueError, match="counted more often than its shorter"):
        cut(replace(trie, entry_count=np.arange(trie.n_entries, dtype=np.uint32)), [1, 4, 4])


def model_of(trie, n_words, keep=None):
    """A back-off model with the n-grams of a trie, or only with those of the numbers to keep."""
    vocabulary = WordVocabulary.from_words([f"w{i}" for i in range(n_words - 1)], is_open=False)
    keep = np.ones(trie.n_entries, bool) if keep is None else keep
    before = np.append(0, np.cumsum(keep))
    return BackoffModel(
        vocabulary,
        trie.order,
        trie.context_start,
        before[trie.entry_start],
        trie.context_word,
        trie.context_child,
        before[trie.context_entry].astype(np.uint32),
        np.zeros(trie.n_contexts),
        trie.entry_word[keep],
        np.zeros(int(keep.sum())),
    )


def union_twin(trie, model, order, n_words):
    """From dictionaries."""
    contexts = contexts_of(trie)
    totals = dict(zip(contexts, trie.context_count.tolist()))
    counts = {}
    for c, h in enumerate(contexts):
        for e in range(trie.context_entry[c], trie.context_entry[c + 1]):
            counts[h, int(trie.entry_word[e])] = int(trie.entry_count[e])
    for c, h in enumerate(contexts_of(model)):
        for word in model.entry_word[model.context_entry[c] : model.context_entry[c + 1]].tolist():
            for k in range(len(h) + 1):
                totals.setdefault(h[:k], 0)
                counts.setdefault((h[:k], word), 0)
    return trie_of(totals, counts, order, n_words)


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(1, 5), st.integers(1, 5), st.randoms(use_true_random=False))
def test_extended_trie_equals_the_twin(corpus, order, model_order, random):
    n_words, sentences = corpus
    half = len(sentences) // 2
    trie = build_trie(encode(sentences[:half], n_words), order)
    others = build_trie(encode(sentences[half:], n_words), model_order)
    model = model_of(others, n_words, np.array([random.random() < 0.6 for _ in range(others.n_entries)]))
    expected = union_twin(trie, model, max(order, model_order), n_words)
    assert_equal(extend_trie(trie, model), expected)


def test_extending_by_itself_changes_nothing():
    trie = build_trie(encode(random_corpus(np.random.default_rng(2), 300, 30), 30), 4)
    assert_equal(extend_trie(trie, model_of(trie, 30)), trie)


def test_refuses_to_extend():
    trie = build_trie(encode([[1, 2]], 3), 3)
    with pytest.raises(ValueError, match="3 words and the model 4: they need the same vocabulary"):
        extend_trie(trie, model_of(build_trie(encode([[1, 2]], 4), 3), 4))
    model = model_of(trie, 3)
    for name, wrong in [
        ("entry_word", np.full(model.n_entries, 3, np.uint32)),
        ("context_word", np.full(model.n_contexts, 4, np.uint32)),
        ("context_child", np.full(model.n_contexts + 1, 10**6, np.uint32)),
        ("context_entry", model.context_entry[::-1].copy()),
        ("entry_start", np.array([0, 3])),
        ("context_start", np.array([0, 10**6, -5, 7])),
    ]:
        with pytest.raises(ValueError, match="trie: "):
            extend_trie(trie, replace(model, **{name: wrong}))


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(1, 7), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_built_in_files_equals_the_twin(corpus, order, piece_tokens, n_blocks, n_threads):
    """Pieces end anywhere, also within sentences; buffers hold a few records."""
    n_words, sentences = corpus
    cuts = [len(sentences) * i // n_blocks for i in range(n_blocks + 1)]
    blocks = [encode(sentences[a:b], n_words) for a, b in pairwise(cuts)]
    found = _build_in_files(blocks, order, 1, None, n_threads, piece_tokens)
    assert_equal(found, reference_trie(sentences, order, n_words))


@pytest.mark.parametrize("n_words", [3, 400, 20_000])
def test_absurdly_little_memory_changes_nothing(n_words, tmp_path):
    rng = np.random.default_rng(n_words)
    sentences = random_corpus(rng, 8000, n_words, longest=40)
    whole = encode(sentences, n_words)
    trie = build_trie(whole, 4)
    assert_equal(build_trie(whole, 4, memory=1, folder=tmp_path), trie)
    blocks = [encode(sentences[i : i + 1000], n_words) for i in range(0, 8000, 1000)]
    assert_equal(build_trie(iter(blocks), 4, memory="100k", folder=tmp_path, n_threads=3), trie)
    assert_equal(build_trie(iter(blocks), 4, memory="4G", folder=tmp_path), trie)
    assert_equal(build_trie(blocks, 4), trie)
    assert list(tmp_path.iterdir()) == []


def test_memory_mapped_sentences(tmp_path):
    whole = encode(random_corpus(np.random.default_rng(4), 3000, 100), 100)
    np.save(tmp_path / "words.npy", whole.words)
    mapped = replace(whole, words=np.load(tmp_path / "words.npy", mmap_mode="r"))
    assert_equal(build_trie(mapped, 3, memory=1), build_trie(whole, 3))


def test_memory_needed_suffices():
    """No n-gram repeats, each fills a bucket of its own: the most that a corpus of its size can take."""
    sentences = encode([np.arange(1, 5001).tolist()], 5001)
    trie = build_trie(sentences, 5)
    assert trie.nbytes < memory_needed(5001, 5001, 5)


def test_the_temporary_folder_goes_on_failure(tmp_path):
    def blocks():
        yield encode([[1, 2]] * 20_000, 3)
        raise KeyError("the reader failed")

    with pytest.raises(KeyError, match="the reader failed"):
        build_trie(blocks(), 3, memory=1, folder=tmp_path)
    with pytest.raises(ValueError, match=r"word number 5 in sentence 0 is outside \[0, 3\)"):
        build_trie(encode([[1, 5]] * 20_000, 3), 3, memory=1, folder=tmp_path)
    with pytest.raises(ValueError, match="3 and 4 words; they need the same vocabulary"):
        build_trie([encode([[1]] * 20_000, 3), encode([[1]], 4)], 3, memory=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, sys
import numpy as np
from loglinear.data.ngram import build_trie
from loglinear.data.sentences import Sentences
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
words = np.random.default_rng(0).integers(1, 1000, 50_000).astype(np.uint32)
try:
    build_trie(Sentences(1000, words, np.array([0, words.size])), 3, memory=1, folder=sys.argv[1])
except OSError as error:
    print("refused", error.filename)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of file size are set as POSIX does")
def test_a_disk_that_is_full(tmp_path):
    result = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"refused {tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_refuses_blocks():
    with pytest.raises(ValueError, match="no sentences: give at least one block"):
        build_trie([], 3)
    with pytest.raises(ValueError, match="no sentences: give at least one block"):
        build_trie([], 3, memory=1)
    with pytest.raises(ValueError, match="3 and 4 words; they need the same vocabulary"):
        build_trie([encode([[1]], 3), encode([[1]], 4)], 3)
    with pytest.raises(ValueError, match="memory is a positive number of bytes or text such as '4G'"):
        build_trie(encode([[1]], 3), 3, memory="lots")
