"""The surface of kenlm: against the real package on the same ARPA files, method by method."""

import copy
import pickle

import numpy as np
import pytest
from backoff_models import random_model
from ngrams import reference_trie

from loglinear import kenlm
from loglinear.backoff.arpa import write_arpa
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.features.word_vocabulary import WordVocabulary

N_WORDS = 40


@pytest.fixture(scope="module")
def arpa(tmp_path_factory):
    """A Kneser-Ney 4-gram model of random text."""
    rng = np.random.default_rng(0)
    sentences = [list((1 + 39 * rng.random(rng.integers(0, 14)) ** 2).astype(int)) for _ in range(200)]
    vocabulary = WordVocabulary.from_words([f"w{i}" for i in range(N_WORDS - 2)])
    path = tmp_path_factory.mktemp("kenlm") / "model.arpa"
    write_arpa(kneser_ney(reference_trie(sentences, 4, N_WORDS), vocabulary), path)
    return str(path)


@pytest.fixture(scope="module")
def ours(arpa):
    return kenlm.Model(arpa)


@pytest.fixture(scope="module")
def real():
    """The real package."""
    return pytest.importorskip("kenlm", reason="the kenlm package is not installed")


@pytest.fixture(scope="module")
def theirs(real, arpa):
    config = real.Config()
    config.show_progress, config.arpa_complain = False, real.ARPALoadComplain.NONE
    return real.Model(arpa, config)


def sentences():
    rng = np.random.default_rng(1)
    drawn = [" ".join(f"w{i}" for i in rng.integers(0, 45, n)) for n in rng.integers(1, 25, 100)]  # some unknown
    return [*drawn, "", "  w1  w2\t", "w1 </s> w2", "<unk> w1", "w3 unknown w4 é w5"]


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("eos", [True, False])
def test_scores(ours, theirs, bos, eos):
    for sentence in sentences():
        expected = theirs.score(sentence, bos=bos, eos=eos)
        assert ours.score(sentence, bos=bos, eos=eos) == pytest.approx(expected, abs=1e-4)
        assert ours.score(sentence.encode(), bos, eos) == pytest.approx(expected, abs=1e-4)
        for (p, length, oov), (p2, length2, oov2) in zip(
            ours.full_scores(sentence, bos=bos, eos=eos), theirs.full_scores(sentence, bos=bos, eos=eos), strict=True
        ):
            assert p == pytest.approx(p2, abs=1e-5)
            assert (length, oov) == (length2, oov2)
    np.testing.assert_allclose(
        ours.score_batch(sentences(), bos, eos), [theirs.score(s, bos, eos) for s in sentences()], atol=1e-4
    )


def test_perplexity(ours, theirs):
    for sentence in sentences():
        assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-4)


def test_order_and_membership(ours, theirs):
    assert ours.order == theirs.order == 4
    for word in ("w1", "w37", "w38", "<s>", "</s>", "<unk>", "", "W1"):
        assert (word in ours) == (word in theirs)


@pytest.mark.parametrize("start", ["BeginSentenceWrite", "NullContextWrite"])
def test_states(ours, theirs, real, start):
    """States after every sentence: same scores, and equal where the real ones are equal."""
    ends = []
    for sentence in sentences():
        states = []
        for model, State in ((ours, kenlm.State), (theirs, real.State)):
            state, out, scores = State(), State(), []
            getattr(model, start)(state)
            for word in sentence.split():
                full = model.BaseFullScore(state, word, out)
                scores.append((full.log_prob, full.ngram_length, full.oov))
                assert model.BaseScore(state, word, out) == full.log_prob
                state, out = out, State()
            states.append((state, scores))
        (a, ours_scores), (b, their_scores) = states
        np.testing.assert_allclose(np.array(ours_scores), np.array(their_scores), atol=1e-5)
        ends.append((a, b))
    for a, b in ends:
        for a2, b2 in ends:
            assert (a == a2) == (b == b2)
            assert (a != a2) == (b != b2)
            if a == a2:
                assert hash(a) == hash(a2)
    assert sorted(a for a, _ in ends)[0] <= ends[0][0]


def test_representation_and_path(ours, theirs, arpa):
    assert repr(ours) == "<Model from model.arpa>"
    assert ours.path == theirs.path
    assert kenlm.Model(arpa.encode()).path == theirs.path
    assert pickle.loads(pickle.dumps(ours)).score("w1 w2") == ours.score("w1 w2")
    assert copy.copy(kenlm.State()) == kenlm.State()


def test_a_file_that_is_missing_or_wrong(tmp_path, real):
    (tmp_path / "wrong.arpa").write_text("nothing of the kind")
    for path in (tmp_path / "missing.arpa", tmp_path / "wrong.arpa"):
        for package in (kenlm, real):
            with pytest.raises(OSError, match="Cannot read model"):
                package.Model(str(path))


@pytest.mark.parametrize("seed", range(12))
def test_models_with_gaps(tmp_path, real, seed):
    """ARPA files of random models whose missing beginnings the writer completed."""
    path = tmp_path / "model.arpa"
    write_arpa(random_model(seed, n_words=5, order=4, n_contexts=15), path)
    ours, theirs = kenlm.Model(path), real.Model(str(path))
    rng = np.random.default_rng(seed)
    for _ in range(30):
        sentence = " ".join(rng.choice(["w0", "w1", "w2", "x"], rng.integers(0, 9)))
        assert ours.score(sentence) == pytest.approx(theirs.score(sentence), abs=1e-4)
        assert [t[1:] for t in ours.full_scores(sentence)] == [t[1:] for t in theirs.full_scores(sentence)]


def test_settings_are_accepted(arpa):
    config = kenlm.Config()
    config.load_method = kenlm.LoadMethod.LAZY
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    config.show_progress = False
    model = kenlm.LanguageModel(arpa, config)
    assert isinstance(model, kenlm.Model)
    assert model.score("w1") == kenlm.Model(arpa).score("w1")


def test_a_closed_vocabulary_names_the_unknown_word(tmp_path):
    path = tmp_path / "closed.arpa"
    write_arpa(random_model(0, is_open=False), path)
    with pytest.raises(ValueError, match="word 2, 'x', is not in the vocabulary"):
        kenlm.Model(path).score("w0 x")


def test_a_language_model_of_ours_is_read(tmp_path):
    from loglinear import LanguageModel

    model = LanguageModel(order=3, estimator="kneser-ney").fit(["w1 w2 w3", "w1 w2", "w2 w3 w1"] * 3)
    model.save(tmp_path / "model.ll")
    read = kenlm.Model(tmp_path / "model.ll")
    assert read.order == 3
    assert read.score("w1 w2 w4") == model.queries_.score("w1 w2 w4")


def test_a_model_of_another_kind_is_refused(tmp_path):
    from loglinear import MaxentClassifier

    MaxentClassifier().fit(["a b", "c d"] * 4, ["x", "y"] * 4).save(tmp_path / "model.ll")
    with pytest.raises(OSError, match="a classifier, not a language model"):
        kenlm.Model(tmp_path / "model.ll")
