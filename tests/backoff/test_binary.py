"""KenLM's binary files: read against back-off by hand, damaged, written, and listed.

``kenlm_binaries`` writes the files independently of the code under test. ``tests/test_kenlm.py`` compares with KenLM.
"""

import pickle

import numpy as np
import pytest
from backoff_models import random_model
from kenlm_binaries import ARRAY, PROBING, QUANTISED, QUANTISED_ARRAY, REST, TRIE, binary

from loglinear.backoff.arpa import read_arpa, write_arpa
from loglinear.backoff.binary import KINDS, BinaryQueries, is_binary, write_binary
from loglinear.backoff.queries import NgramQueries, State
from loglinear.errors import FormatError
from loglinear.formats.text import map_bytes

EXACT = (PROBING, REST, TRIE, ARRAY)
SENTENCES = ["", "w0", "w1 w2 w0 w2", "w2 x w2 w2", "</s> w1 w0", "w0 w1 w1 w2 w0 w1 w2 w2 w2 x x w1"]


def ngrams_of(path):
    """The lines of an ARPA file: {words: (log10 probability, log10 back-off)}."""
    lines = [line.split("\t") for line in path.read_text().splitlines() if "\t" in line]
    return {tuple(words.split(" ")): (float(p), float(b[0]) if b else 0.0) for p, words, *b in lines}


@pytest.fixture(scope="module", params=[0, 3, 5])
def model(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("binary") / "model.arpa"
    write_arpa(random_model(request.param, n_words=5, order=4, n_contexts=15, is_open=request.param != 5), path)
    return path, ngrams_of(path)


def by_hand(ngrams, history, word):
    """(log10 p(word | history), length of the n-gram found), from the definition."""
    if (*history, word) in ngrams:
        return ngrams[(*history, word)][0], len(history) + 1
    if not history:
        return -100.0, 1
    p, length = by_hand(ngrams, history[1:], word)
    return p + ngrams.get(history, (0, 0))[1], length


def full_scores(ngrams, sentence, order=4):
    known = {w for (w,) in (g for g in ngrams if len(g) == 1)}
    words = ["<s>", *(w if w in known else "<unk>" for w in sentence.split()), "</s>"]
    for i in range(1, len(words)):
        yield by_hand(ngrams, tuple(words[max(0, i - order + 1) : i]), words[i])


def opened(tmp_path, data, name="model.bin"):
    (tmp_path / name).write_bytes(data)
    return BinaryQueries.open(tmp_path / name)


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("kind", EXACT)
def test_scores_are_those_of_the_ngrams(tmp_path, model, kind, words):
    queries = opened(tmp_path, binary(model[1], kind, words=words))
    assert is_binary(tmp_path / "model.bin")
    assert (queries.order, queries.kind, queries.has_words) == (4, KINDS[kind], words)
    for sentence in SENTENCES:
        expected = list(full_scores(model[1], sentence))
        found = list(queries.full_scores(sentence))
        np.testing.assert_allclose([p for p, _, _ in found], [p for p, _ in expected], atol=2e-5)
        assert [n for _, n, _ in found] == [n for _, n in expected]
        assert queries.score(sentence) == pytest.approx(sum(p for p, _ in expected), rel=1e-6)
    assert "w1" in queries
    assert "x" not in queries
    assert "<unk>" not in queries


@pytest.mark.parametrize("kind", [QUANTISED, QUANTISED_ARRAY])
def test_quantised_values_are_those_of_the_tables(tmp_path, model, kind):
    fine = opened(tmp_path, binary(model[1], kind, bits=(8, 8)))  # a table entry for every value: nothing is lost
    for sentence in SENTENCES:
        expected = [p for p, _ in full_scores(model[1], sentence)]
        np.testing.assert_allclose([p for p, _, _ in fine.full_scores(sentence)], expected, atol=2e-5)
    coarse = opened(tmp_path, binary(model[1], kind, bits=(2, 3)), "coarse.bin")
    lengths = [n for _, n, _ in coarse.full_scores(SENTENCES[-1])]
    assert lengths == [n for _, n in full_scores(model[1], SENTENCES[-1])]


@pytest.mark.parametrize("kind", range(6))
def test_batches_lines_states_and_pickles_agree(tmp_path, model, kind):
    queries = opened(tmp_path, binary(model[1], kind, bits=(8, 8)))
    expected = [queries.score(s) for s in SENTENCES]
    np.testing.assert_allclose(queries.score_batch(SENTENCES), expected)
    np.testing.assert_allclose(queries.score_lines("\n".join(SENTENCES).encode() + b"\n").log10, expected)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(queries)).score_batch(SENTENCES), expected)
    a, b, total = State(), State(), 0.0
    queries.BeginSentenceWrite(a)
    for word in [*SENTENCES[-1].split(), "</s>"]:
        total += queries.BaseScore(a, word, b)
        again = pickle.loads(pickle.dumps(b))
        assert again == b
        assert hash(again) == hash(b)
        a, b = b, a
    assert total == pytest.approx(expected[-1])
    state = State()
    queries.BeginSentenceWrite(state)
    assert sum(queries.BaseScore(state, w, state) for w in ["w1", "w2"]) == pytest.approx(
        queries.score("w1 w2", eos=False)
    )


@pytest.mark.parametrize("kind", range(6))
def test_the_next_word_and_the_vocabulary(tmp_path, model, kind):
    queries = opened(tmp_path, binary(model[1], kind, bits=(8, 8)))
    assert list(queries.vocabulary)[:2] == ["</s>", "<unk>"]
    assert {*queries.vocabulary, "<s>", "<unk>"} == {g[0] for g in model[1] if len(g) == 1} | {"<unk>"}
    p = queries.next_distribution("w1 w2")
    for i, word in enumerate(queries.vocabulary):
        unknown = word if (word,) in model[1] or word != "<unk>" else "x"
        assert np.log10(p[i]) == pytest.approx(
            queries.score(f"w1 w2 {unknown}", eos=False) - queries.score("w1 w2", eos=False), abs=1e-5
        )
    assert queries.top("w1 w2", 2)[0][1] == p.max()
    assert queries.sample(3, random_state=1, max_length=5) == queries.sample(3, random_state=1, max_length=5)


def test_a_trie_is_listed_and_a_probing_file_is_not(tmp_path, model):
    for kind in (TRIE, ARRAY):
        listed = NgramQueries.from_backoff(opened(tmp_path, binary(model[1], kind)).to_backoff())
        for sentence in SENTENCES:
            expected = sum(p for p, _ in full_scores(model[1], sentence))
            assert listed.score(sentence) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(FormatError, match="a probing file holds hashes of n-grams"):
        opened(tmp_path, binary(model[1], PROBING)).to_backoff()
    with pytest.raises(FormatError, match="built without its words"):
        opened(tmp_path, binary(model[1], TRIE, words=False)).vocabulary  # noqa: B018


@pytest.mark.parametrize("quantise", [None, 8])
def test_what_we_write_is_what_we_read(tmp_path, model, quantise):
    path = tmp_path / "ours.bin"
    write_binary(read_arpa(model[0]), path, quantise)
    queries = BinaryQueries.open(path)
    assert queries.kind == KINDS[QUANTISED_ARRAY if quantise else TRIE]
    reference = opened(tmp_path, binary(model[1], QUANTISED_ARRAY if quantise else TRIE, bits=(8, 8)))
    for sentence in SENTENCES:
        assert list(queries.full_scores(sentence)) == [
            (pytest.approx(p, abs=1e-5), n, oov) for p, n, oov in reference.full_scores(sentence)
        ]
    if quantise is None:
        assert path.read_bytes() == binary(model[1], TRIE)
    with pytest.raises(ValueError, match="between 2 and 25 bits, not 1"):
        write_binary(read_arpa(model[0]), path, 1)


def test_an_order_of_one_cannot_be_written(tmp_path):
    with pytest.raises(FormatError, match="an order between 2 and 32, not 1"):
        write_binary(random_model(0, order=1), tmp_path / "x.bin")


# ---- damage --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", range(6))
def test_a_truncated_file_is_refused(tmp_path, model, kind):
    data = binary(model[1], kind, words=False)
    for size in [0, 10, 60, 100, 110, len(data) // 2, len(data) - 1]:
        with pytest.raises(FormatError):
            opened(tmp_path, data[:size])


@pytest.mark.parametrize(
    ("at", "value", "match"),
    [(50, b"\1", "another version"), (60, b"\1", "another kind"), (88, b"\1", "order is 1"),
     (88, b"\xff", "order is 255"), (92, b"\0\0\xc0\x7f", "impossible size"), (96, b"\x09", "not known"),
     (104, b"\x07", "unknown version"), (108, b"\xff" * 8, "impossible number"), (116, b"\xff" * 5, "truncated")],
)  # fmt: skip
def test_a_hostile_header_is_refused(tmp_path, model, at, value, match):
    data = bytearray(binary(model[1], TRIE))
    data[at : at + len(value)] = value
    with pytest.raises(FormatError, match=match):
        opened(tmp_path, bytes(data))


@pytest.mark.parametrize("kind", range(6))
def test_damage_is_an_error_or_a_number_and_never_a_crash(tmp_path, model, kind):
    clean = binary(model[1], kind)
    rng = np.random.default_rng(kind)
    refused = 0
    for _ in range(150):
        data = np.frombuffer(clean, np.uint8).copy()
        at = rng.integers(108, len(data), rng.integers(1, 9))
        data[at] = rng.integers(0, 256, at.size)
        (tmp_path / "damaged.bin").write_bytes(data.tobytes())
        try:
            queries = BinaryQueries.open(tmp_path / "damaged.bin")
            assert all(not np.isnan(queries.score(s)) for s in SENTENCES)
            queries.next_distribution("w1")
            queries.to_backoff()
        except ValueError:  # FormatError is one
            refused += 1
    assert refused > 0


def test_opening_reads_the_header_only(tmp_path, model):
    """A file whose n-grams are all zeros opens; what it then says is checked as it is read."""
    data = bytearray(binary(model[1], TRIE, words=False))
    data[-200:] = bytes(200)
    path = tmp_path / "zeros.bin"
    path.write_bytes(bytes(data))
    assert map_bytes(path).flags.writeable is False
    assert BinaryQueries.open(path).order == 4
