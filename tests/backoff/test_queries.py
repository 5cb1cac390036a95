"""Queries against the definition of back-off models, on models with missing beginnings; refusals of damaged arrays."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest
from backoff_models import arrange, dictionaries, every_history, log_p, random_model, wide_bigrams
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import reference_trie

from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.queries import NgramQueries, State
from loglinear.data.corpus import read_corpus
from loglinear.data.ngram import build_trie
from loglinear.data.sentences import Sentences
from loglinear.errors import IncompatibleError, ModelFileError
from loglinear.features.word_vocabulary import WordVocabulary

LN10 = math.log(10)


def twin(model, sentence, bos=True, eos=True):
    """[(natural log p, n-gram found)] of each word number of a sentence, by the definition."""
    entries, backoffs = dictionaries(model)
    history, out = ((model.vocabulary.begin,) if bos else ()), []
    for word in [*sentence, *([0] if eos else [])]:
        h = history[: model.order - 1]
        found = next(k for k in range(len(h), -1, -1) if (h[:k], word) in entries)
        out.append((log_p(entries, backoffs, h, word), found + 1))
        history = (word, *history)
    return out


def text(model, sentence):
    return " ".join(model.vocabulary.word(w) for w in sentence)


def encoded(sentences, n_words):
    words = np.array([w for s in sentences for w in s], dtype=np.uint32)
    return Sentences(n_words, words, np.cumsum([0, *map(len, sentences)]).astype(np.int64))


def large_model(order=3, n_words=60, n_sentences=120, seed=0):
    """Kneser-Ney on random text: contexts with tables, lists and single entries."""
    rng = np.random.default_rng(seed)
    sentences = [
        list((1 + (n_words - 1) * rng.random(rng.integers(0, 12)) ** 3).astype(int)) for _ in range(n_sentences)
    ]
    vocabulary = WordVocabulary.from_words([f"w{i}" for i in range(n_words - 2)])
    return kneser_ney(reference_trie(sentences, order, n_words), vocabulary), sentences


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 4]), st.booleans(), st.data())
@settings(max_examples=60, deadline=None)
def test_every_token_as_the_definition_says(seed, order, is_open, data):
    n_words = data.draw(st.integers(2, 4))
    n_contexts, density = data.draw(st.integers(0, 12)), data.draw(st.sampled_from([0.3, 0.8]))
    model = random_model(seed, n_words, order, n_contexts, is_open, density)
    queries = NgramQueries.from_backoff(model)
    sentence = data.draw(st.lists(st.integers(0, n_words - 1), max_size=8))
    bos, eos = data.draw(st.booleans()), data.draw(st.booleans())
    expected = [p / LN10 for p, _ in twin(model, sentence, bos, eos)]
    got = list(queries.full_scores(text(model, sentence), bos, eos))
    np.testing.assert_allclose([p for p, _, _ in got], expected, rtol=1e-5, atol=1e-5)
    assert [oov for _, _, oov in got] == [is_open and w == 1 for w in sentence] + [False] * eos
    assert queries.score(text(model, sentence), bos, eos) == pytest.approx(sum(expected), abs=1e-4)
    assert queries.score_batch([text(model, sentence)], bos, eos)[0] == pytest.approx(sum(expected), abs=1e-4)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=30, deadline=None)
def test_next_words_sum_to_one_and_agree_with_scores(seed, is_open):
    model = random_model(seed, 4, 3, 10, is_open)
    queries = NgramQueries.from_backoff(model)
    entries, backoffs = dictionaries(model)
    for h in every_history(3, 3):
        if 3 in h:
            continue
        words = [model.vocabulary.word(w) for w in reversed(h)]
        for bos in (False, True):
            p = queries.next_distribution(words, bos)
            history = ((*h, model.vocabulary.begin) if bos else h)[:2]
            assert p.sum() == pytest.approx(1.0, abs=1e-6)
            expected = [math.exp(log_p(entries, backoffs, history, w)) for w in range(4)]
            np.testing.assert_allclose(p, expected, rtol=1e-5)


def test_large_contexts_and_all_ways_to_score_agree():
    model, sentences = large_model()
    queries = NgramQueries.from_backoff(model)
    assert np.diff(model.context_entry).max() > 8  # some contexts are tables
    rng = np.random.default_rng(1)
    sentences = [*sentences, *(list(rng.integers(1, 60, n)) for n in rng.integers(0, 30, 300))]
    expected = [twin(model, s) for s in sentences]
    totals = np.array([sum(p for p, _ in tokens) for tokens in expected])
    data = encoded(sentences, 60)
    scores = queries.score_sentences(data)
    np.testing.assert_allclose(scores.log_probability, totals, rtol=1e-6, atol=1e-5)
    lengths = [k for tokens in expected for _, k in tokens]
    assert scores.hits.tolist() == [lengths.count(k) for k in (1, 2, 3)]
    assert scores.n_unknown.tolist() == [s.count(1) for s in map(list, sentences)]
    assert scores.n_tokens.tolist() == [len(s) + 1 for s in sentences]
    unknown = [sum(p for (p, _), w in zip(tokens, s) if w == 1) for tokens, s in zip(expected, sentences)]
    np.testing.assert_allclose(scores.unknown_log_probability, unknown, rtol=1e-6, atol=1e-5)
    n = sum(len(tokens) for tokens in expected)
    assert scores.perplexity == pytest.approx(math.exp(-totals.sum() / n), rel=1e-6)
    known = n - sum(s.count(1) for s in map(list, sentences))
    without = math.exp(-(totals.sum() - sum(unknown)) / known)
    assert scores.perplexity_without_unknown == pytest.approx(without, rel=1e-6)

    flat = queries.token_log_probabilities(data)
    np.testing.assert_allclose(flat, [p for tokens in expected for p, _ in tokens], rtol=1e-5, atol=1e-6)
    texts = [text(model, s) for s in sentences]
    lines = queries.score_lines("\n".join([*texts, ""]).encode())
    batch = queries.score_texts(texts)
    for other in (lines, batch):
        for name in vars(scores):
            np.testing.assert_array_equal(getattr(other, name), getattr(scores, name))
    np.testing.assert_allclose([queries.score(t) for t in texts], batch.log10, rtol=1e-14)
    found = [k for t in texts for _, k, _ in queries.full_scores(t)]
    assert found == lengths


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_same_bits_on_any_number_of_threads(n_threads):
    model, _ = large_model()
    one, many = (NgramQueries.from_backoff(model, n_threads=n) for n in (1, n_threads))
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(many.arrays()[name], array)
    texts = [text(model, s) for s in np.random.default_rng(2).integers(1, 60, (3000, 11))]
    np.testing.assert_array_equal(one.score_batch(texts), many.score_batch(texts))
    assert one.sample(9, random_state=3) == many.sample(9, random_state=3)


def test_states_that_predict_alike_are_one():
    vocabulary = WordVocabulary.from_words(["a", "b"])
    entries = {((), w): math.log(0.25) for w in range(4)} | {((3,), 2): math.log(0.5)}  # p(a | b)
    backoffs = {(): 0.0, (2,): 0.0, (3,): -0.5, (2, 3): 0.0}  # after a: nothing; after b a: nothing
    queries = NgramQueries.from_backoff(arrange(vocabulary, 3, entries, backoffs))
    assert queries.n_states == 2
    assert queries.state("a", bos=False) == queries.state("", bos=False) == queries.state("")
    assert queries.state("a b") == queries.state("b") != queries.state("b a") == queries.state("a")


def test_an_ngram_without_an_entry_still_leads_to_its_context():
    vocabulary = WordVocabulary.from_words(["a", "b"])
    entries = {((), w): math.log(0.25) for w in range(4)} | {((3, 2), 2): math.log(0.75)}  # p(a | a b)
    queries = NgramQueries.from_backoff(arrange(vocabulary, 3, entries, {(): 0.0, (2,): -0.1}))
    assert queries.next_distribution("a b", bos=False)[2] == pytest.approx(0.75)
    assert queries.score("a b a", False, False) * LN10 == pytest.approx(2 * math.log(0.25) - 0.1 + math.log(0.75))


def test_states_step_by_step():
    model, sentences = large_model()
    queries = NgramQueries.from_backoff(model)
    sentence = max(sentences, key=len)
    state, total = State(), 0.0
    queries.BeginSentenceWrite(state)
    for word, (p, length, oov) in zip(text(model, sentence).split(), queries.full_scores(text(model, sentence))):
        before, out = copy.copy(state), State()
        full = queries.BaseFullScore(state, word, out)
        assert (full.log_prob, full.ngram_length, full.oov) == (p, length, oov)
        assert queries.BaseScore(state, word, state) == full.log_prob  # in place
        assert state == out
        assert (state != out) is False
        assert hash(state) == hash(out)
        assert (before < state) + (before > state) + (before == state) == 1
        total += full.log_prob
    assert total == pytest.approx(queries.score(text(model, sentence), eos=False))
    assert copy.deepcopy(state) == pickle.loads(pickle.dumps(state)) == state
    queries.NullContextWrite(state)
    assert state == State() == queries.state(bos=False)
    assert state != "state"


def test_a_state_of_another_model_is_refused():
    large, small = (NgramQueries.from_backoff(m) for m in (large_model()[0], random_model(0, order=1)))
    state = large.state("w1 w2")
    with pytest.raises(ValueError, match="another model"):
        small.BaseScore(state, "w0", State())
    with pytest.raises(ValueError, match="no such state"):
        small.next_distribution(state)


def test_perplexity_and_empty_sentences():
    queries = NgramQueries.from_backoff(random_model(1))
    assert queries.perplexity("w0 w1") == pytest.approx(10 ** (-queries.score("w0 w1") / 3))
    assert queries.score("") == queries.score(" \t\n") == queries.score_batch([""])[0]
    assert queries.score("", eos=False) == 0.0
    assert list(queries.full_scores("", eos=False)) == []
    assert queries.score_batch([]).shape == (0,)
    assert queries.score_batch(["", ""], eos=False).tolist() == [0.0, 0.0]
    assert queries.score_lines(b"").n_tokens.size == 0
    assert queries.score_lines(b"\nw0\n\nw1").n_words.tolist() == [0, 1, 0, 1]
    assert math.isnan(queries.score_texts([]).perplexity)


def test_text_may_be_bytes_and_any_string():
    queries = NgramQueries.from_backoff(random_model(1))
    assert queries.score("w0 w1") == queries.score(b"w0\tw1\n") == queries.score_batch([b"w0 w1"])[0]
    strange = ["\udc80 w0", "é\x00 w0", b"\xff w0"]
    np.testing.assert_allclose(queries.score_batch(strange), [queries.score("<unk> w0")] * 3)
    assert queries.score("<s> w0") == queries.score("<unk> w0")
    for wrong in (None, 3, ["w0"]):
        with pytest.raises(TypeError, match="expected str or bytes, not"):
            queries.score(wrong)
        with pytest.raises(TypeError, match="expected str or bytes, not"):
            queries.score_batch(["w0", wrong])


def test_one_sentence_is_not_a_batch():
    queries = NgramQueries.from_backoff(random_model(1))
    for wrong in ("w0 w1", b"w0"):
        with pytest.raises(TypeError, match="a list of sentences, not one"):
            queries.score_batch(wrong)
    with pytest.raises(TypeError, match="iterable"):
        queries.score_batch(None)
    np.testing.assert_array_equal(queries.score_batch(iter(["w0", "w1"])), queries.score_batch(["w0", "w1"]))


def test_membership_and_vocabulary():
    queries = NgramQueries.from_backoff(random_model(1))
    assert [w in queries for w in ("w0", "</s>", "<s>", "<unk>", "x", b"w1", b"\xff")] == [True] * 3 + [False] * 2 + [
        True,
        False,
    ]
    assert list(queries.vocabulary) == ["</s>", "<unk>", "w0", "w1"]


def test_an_unknown_word_in_a_closed_vocabulary_is_named():
    queries = NgramQueries.from_backoff(random_model(1, is_open=False))
    with pytest.raises(ValueError, match=r"word 2, 'x', is not in the vocabulary .* closed"):
        queries.score("w0 x")
    with pytest.raises(ValueError, match=r"sentence 3, word 1, 'x', is not"):
        queries.score_batch(["w0", "", "x w0"])
    with pytest.raises(ValueError, match=r"line 2, word 2, 'x', is not"):
        queries.score_lines(b"w0\nw0 x")
    with pytest.raises(ValueError, match="'x'"):
        queries.next_distribution(["w0", "x"])


def test_best_words_are_those_of_the_distribution():
    queries = NgramQueries.from_backoff(large_model()[0])
    p = queries.next_distribution("w1 w2")
    best = queries.top("w1 w2", 5)
    order = sorted(range(60), key=lambda w: (-p[w], w))[:5]
    assert best == [(queries.vocabulary.word(w), p[w]) for w in order]
    assert len(queries.top("", 1000)) == 60
    assert queries.top("", 0) == []
    with pytest.raises(ValueError, match="k must not be negative"):
        queries.top("", -1)


def test_samples_follow_the_distribution():
    queries = NgramQueries.from_backoff(large_model()[0])
    n = 20_000
    p = queries.next_distribution("w3")
    drawn = queries.sample(n, max_length=1, random_state=0, context="w3")
    counts = np.bincount([0 if not s else queries.vocabulary.ids([s])[0] for s in drawn], minlength=60)
    chi2 = ((counts - n * p) ** 2 / (n * p)).sum()
    assert chi2 < 59 + 5 * math.sqrt(2 * 59)
    cold = queries.sample(n, max_length=1, random_state=0, context="w3", temperature=0.5)
    counts = np.bincount([0 if not s else queries.vocabulary.ids([s])[0] for s in cold], minlength=60)
    q = p**2 / (p**2).sum()
    assert ((counts - n * q) ** 2 / np.maximum(n * q, 1)).sum() < 59 + 8 * math.sqrt(2 * 59)


def test_samples_of_contexts_with_many_words_follow_the_distribution():
    """Sums of such contexts are kept; most draws that back off from them are rejected."""
    rng = np.random.default_rng(0)
    text = [f"a b w{w} c" for w in np.minimum(rng.zipf(1.2, 4000), 300)]
    sentences, words = read_corpus([line.split() for line in text])
    queries = NgramQueries.from_backoff(kneser_ney(build_trie(sentences, 3), words))
    assert queries.arrays()["contexts"][:, 1].max() > 64
    n, p = 20_000, queries.next_distribution("a b")
    drawn = queries.sample(n, max_length=1, random_state=0, context="a b")
    counts = np.bincount([0 if not s else queries.vocabulary.ids([s])[0] for s in drawn], minlength=p.size)
    common = n * p >= 5
    chi2 = ((counts - n * p) ** 2 / (n * p))[common].sum()
    assert chi2 < common.sum() + 5 * math.sqrt(2 * common.sum())
    assert abs(counts[~common].sum() - n * p[~common].sum()) < 5 * math.sqrt(n * p[~common].sum())


def test_samples_end_and_are_reproducible():
    queries = NgramQueries.from_backoff(large_model()[0])
    first = queries.sample(50, random_state=7, max_length=6)
    assert first == queries.sample(50, random_state=7, max_length=6)
    assert first == queries.sample(50, random_state=np.random.default_rng(7), max_length=6)
    assert first[:10] == queries.sample(10, random_state=7, max_length=6)
    assert first != queries.sample(50, random_state=8, max_length=6)
    assert max(len(s.split()) for s in first) == 6
    assert not any("<unk>" in s for s in queries.sample(300, random_state=7, unknown=False))
    assert queries.sample(0) == []
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="temperature"):
            queries.sample(temperature=wrong)
    with pytest.raises(ValueError, match="must not be negative"):
        queries.sample(-1)


def test_one_model_serves_many_threads():
    model, _ = large_model()
    queries = NgramQueries.from_backoff(model, n_threads=2)
    texts = [text(model, s) for s in np.random.default_rng(5).integers(1, 60, (500, 20))]
    expected, failures = queries.score_batch(texts), []

    def ask():
        for i in range(20):
            same = np.array_equal(queries.score_batch(texts), expected) and queries.score(texts[i]) == expected[i]
            state = queries.state(texts[i])
            if not (same and queries.next_distribution(state).sum() == pytest.approx(1, abs=1e-6)):
                failures.append(i)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_arrays_come_back(tmp_path):
    model, _ = large_model()
    queries = NgramQueries.from_backoff(model)
    mapped = {}
    for name, array in queries.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    for again in (NgramQueries.from_arrays(model.vocabulary, mapped), pickle.loads(pickle.dumps(queries))):
        assert again.score("w1 w2 w3 w4") == queries.score("w1 w2 w3 w4")
        assert (again.order, again.n_states, again.nbytes) == (queries.order, queries.n_states, queries.nbytes)
    assert repr(queries).startswith("NgramQueries(order=3, 60 words, ")


def _set(name, index, value):
    def damage(arrays):
        arrays[name][index] = value

    return damage


def _a_table(arrays):
    """First slot of a table."""
    c = 1 + int(np.argmax(arrays["contexts"][1:, 1]))
    assert arrays["contexts"][c, 1] > 8
    return int(arrays["contexts"][c, 0]), int(arrays["contexts"][c, 1])


def _no_blank(arrays):
    first, size = _a_table(arrays)
    slots = arrays["entries"][first : first + size]
    slots[:, 0] = np.where(slots[:, 0] == 0xFFFFFFFF, 5, slots[:, 0])


def _swapped(arrays):
    first, size = _a_table(arrays)
    slots = arrays["entries"][first : first + size]
    slots[:] = slots[::-1].copy()


def _bits(value):
    return np.float32(value).view(np.uint32)


LARGE = 0xFFFFFFF0


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_set("begin", 0, -1), "state after <s>"),
        (_set("begin", 0, 10**9), "state after <s>"),
        (_set("context_start", 1, 2), "context_start"),
        (_set("context_start", -1, 10**12), "context_start"),
        (_set("contexts", (0, 1), 59), "empty context"),
        (_set("contexts", (3, 0), LARGE), "follow one another"),
        (_set("contexts", (3, 1), LARGE), "follow one another"),
        (_set("contexts", (-1, 1), LARGE), "follow one another"),
        (_set("contexts", (3, 2), 3), "parent"),
        (_set("contexts", (-1, 2), LARGE), "parent"),
        (_set("contexts", (0, 2), 1), "parent"),
        (_set("contexts", (3, 3), _bits(np.nan)), "back-off is NaN"),
        (_set("contexts", (3, 3), _bits(np.inf)), "back-off is NaN"),
        (_set("entries", (-1, 0), 60), "outside the vocabulary"),
        (_set("entries", (-1, 0), 0xFFFFFFFF), "outside the vocabulary"),
        (_set("entries", (5, 0), 6), "those of the words"),
        (_set("entries", (5, 1), _bits(np.nan)), "probability is NaN"),
        (_set("entries", (5, 2), LARGE), "does not exist"),
        (_no_blank, "no blank"),
        (_swapped, "not where it is sought"),
        (lambda a: a.pop("entries"), "'entries' is missing"),
        (lambda a: a.update(contexts=a["contexts"].astype(np.int64)), "'contexts' is missing or is not of type uint32"),
        (lambda a: a.update(contexts=a["contexts"][:, :3]), "four columns"),
        (lambda a: a.update(entries=a["entries"].ravel()), "three columns"),
        (lambda a: a.update(entries=a["entries"][:-1]), "follow one another"),
        (lambda a: a.update(entries=a["entries"][:10]), "empty context"),
        (lambda a: a.update(contexts=a["contexts"][:-1]), "context_start"),
        (lambda a: a.update(contexts=a["contexts"][:0]), "context_start"),
        (lambda a: a.update(context_start=a["context_start"][:1]), "order"),
        (lambda a: a.update(context_start=a["context_start"][:0]), "order"),
    ],
)
def test_damaged_arrays_are_refused(damage, message):
    model, _ = large_model()
    arrays = {name: array.copy() for name, array in NgramQueries.from_backoff(model).arrays().items()}
    damage(arrays)
    with pytest.raises(ModelFileError, match=message):
        NgramQueries.from_arrays(model.vocabulary, arrays)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_random_damage_never_harms(seed):
    model, _ = large_model(n_words=30, n_sentences=40)
    rng = np.random.default_rng(seed)
    arrays = {name: array.copy() for name, array in NgramQueries.from_backoff(model).arrays().items()}
    for _ in range(rng.integers(1, 4)):
        raw = arrays[str(rng.choice(sorted(arrays)))].reshape(-1).view(np.uint8)
        raw[rng.integers(raw.size)] = rng.integers(256)
    try:
        queries = NgramQueries.from_arrays(model.vocabulary, arrays)
    except ModelFileError:
        return
    queries.score_batch(["w1 w2 w3 w1 w5 w9", "w20 w2 </s> x w3"])
    queries.next_distribution("w1 w2")


def test_words_in_a_list_out_of_order_are_refused():
    model = random_model(3, 4, 3, 10)
    arrays = {name: array.copy() for name, array in NgramQueries.from_backoff(model).arrays().items()}
    c = next(c for c, row in enumerate(arrays["contexts"]) if c and row[1] >= 2)
    first = arrays["contexts"][c, 0]
    arrays["entries"][[first, first + 1]] = arrays["entries"][[first + 1, first]]
    with pytest.raises(ModelFileError, match="do not ascend"):
        NgramQueries.from_arrays(model.vocabulary, arrays)


def test_sentences_of_another_vocabulary_are_refused():
    queries = NgramQueries.from_backoff(random_model(1))
    with pytest.raises(IncompatibleError, match="vocabulary of 9 words, the model's has 4"):
        queries.score_sentences(encoded([[1, 2]], 9))
    with pytest.raises(ValueError, match="outside the model's vocabulary"):
        queries.score_sentences(encoded([[1, 4]], 4))
    damaged = Sentences(4, np.array([1, 2], np.uint32), np.array([0, 3, 2], np.int64))
    with pytest.raises(ValueError, match="sentence_ptr must rise"):
        queries.token_log_probabilities(damaged)


def test_a_probability_of_zero():
    vocabulary = WordVocabulary.from_words(["a"])
    entries = {((), 0): math.log(0.5), ((), 1): -math.inf, ((), 2): math.log(0.5)}
    queries = NgramQueries.from_backoff(arrange(vocabulary, 1, entries, {(): 0.0}))
    assert queries.score("a x") == -math.inf
    assert queries.perplexity("x") == math.inf
    assert queries.next_distribution().tolist() == pytest.approx([0.5, 0.0, 0.5])
    assert not any("<unk>" in s for s in queries.sample(50, random_state=0))


# ---- large models are checked as they are used -----------------------------------------------------------------------
N_LARGE, N_FOLLOWING = 5000, 101  # more than 2^19 slots in two blocks of contexts


@pytest.fixture(scope="module")
def large():
    return NgramQueries.from_backoff(wide_bigrams(N_LARGE, N_FOLLOWING))


def spoilt(large, array, row, column, value):
    arrays = {name: a.copy() for name, a in large.arrays().items()}
    arrays[array][row, column] = value
    return NgramQueries.from_arrays(large.vocabulary, arrays)


@pytest.mark.parametrize(
    ("array", "column", "value", "match"),
    [("contexts", 0, 7, "do not follow one another"), ("contexts", 1, 0xFFFFFFF0, "do not follow one another"),
     ("contexts", 2, 4999, "is not a shorter one"), ("contexts", 3, 0x7FC00000, "NaN"),
     ("entries", 0, 0xFFFFFFF0, "outside the vocabulary"), ("entries", 1, 0x7FC00000, "NaN"),
     ("entries", 2, 0xFFFFFFF0, "does not exist"), ("entries", 0, 0, "is not where it is sought")],
)  # fmt: skip
def test_damage_is_found_before_it_is_used(large, array, column, value, match):
    """The last context is damaged, or its last entry; contexts of its block are refused, others are as they were."""
    contexts = large.arrays()["contexts"]
    row = N_LARGE if array == "contexts" else int(np.flatnonzero(large.arrays()["entries"][:, 0] != 0xFFFFFFFF)[-1])
    queries = spoilt(large, array, row, column, value)
    assert len(contexts) == N_LARGE + 1
    assert queries.score("w10 w11 w12") == large.score("w10 w11 w12")
    assert queries.score_batch(["w10 w11 w12"]) == large.score_batch(["w10 w11 w12"])
    last = f"w10 w11 w{N_LARGE - 1} w3"
    calls = [
        lambda: queries.score(last), lambda: queries.score_batch([last]), lambda: list(queries.full_scores(last)),
        lambda: queries.next_distribution(f"w10 w{N_LARGE - 1}"), lambda: queries.state(f"w{N_LARGE - 1} w3"),
        lambda: queries.sample(50, random_state=0, max_length=2000), queries.arrays, queries.to_backoff,
        lambda: queries.look_up(None, 3),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match=match):
            call()


def test_what_is_checked_as_it_is_used_gives_the_same(large):
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in rng.integers(2, N_LARGE, 30)) for _ in range(50)]
    fresh = NgramQueries.from_arrays(large.vocabulary, large.arrays())
    assert fresh.score_batch(texts).tolist() == large.score_batch(texts).tolist()
    assert [fresh.score(t) for t in texts] == pytest.approx(large.score_batch(texts))
