"""The surface of kenlm: against the real package on the same files, method by method.

Binary files come from KenLM's own program ``build_binary`` (peers.py says from where), and its example runs unchanged.
"""

import bz2
import copy
import importlib.util
import pickle
import re
import subprocess
import sys
import time

import numpy as np
import peers
import pytest
from backoff_models import random_model
from ngrams import reference_trie

from loglinear import LanguageModel, kenlm
from loglinear.backoff.arpa import read_arpa, write_arpa
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.backoff.native import backoff_model
from loglinear.errors import FormatError
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


def test_ends_may_be_numbers_as_for_kenlm(ours, theirs):
    """Seen: TypeError for score(sentence, bos=1)."""
    for bos in (0, 1, None, "yes"):
        for eos in (0, 1):
            assert ours.score("w1 w2", bos, eos) == pytest.approx(theirs.score("w1 w2", bos, eos), abs=1e-4)
            assert len(list(ours.full_scores("w1 w2", bos=bos, eos=eos))) == 2 + eos


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


def test_without_unk_an_unknown_word_has_minus_100(tmp_path, real):
    """Seen: ValueError for any unknown word."""
    path = tmp_path / "closed.arpa"
    write_arpa(random_model(0, is_open=False, order=3), path)
    ours, theirs = kenlm.Model(path), real.Model(str(path))
    for sentence in ("x", "w0 x", "x w0 w1 x y w2", "<unk> w1"):
        assert ours.score(sentence) == pytest.approx(theirs.score(sentence), abs=1e-3)
        assert [t[1:] for t in ours.full_scores(sentence)] == [t[1:] for t in theirs.full_scores(sentence)]
    state = kenlm.State()
    assert ours.BaseScore(state, "x", state) == pytest.approx(-100.0, abs=1e-4)
    assert "<unk>" not in ours
    LanguageModel.from_arpa(path).save(tmp_path / "closed.ll")
    assert kenlm.Model(tmp_path / "closed.ll").score("w0 x") == pytest.approx(ours.score("w0 x"))


@pytest.mark.parametrize("pack", [bytes, bz2.compress])
def test_words_are_bytes_in_any_encoding(tmp_path, real, pack):
    text = "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n"
    text += "-1\t<unk>\n-99\t<s>\t-0.5\n-0.7\t</s>\n-0.3\tcaf\xe9\t-0.2\n\n"
    text += "\\2-grams:\n-0.1\t<s> caf\xe9\n\n\\end\\\n"
    path = tmp_path / "latin.arpa"
    path.write_bytes(pack(text.encode("latin-1")))
    ours = kenlm.Model(path)
    assert ours.score("café".encode("latin-1")) == pytest.approx(-0.1 - 0.2 - 0.7)
    assert ours.score("café") == pytest.approx(-0.5 - 1 - 0.7)  # its UTF-8 bytes are another word
    if pack is bytes:  # the original reads no bz2 unless it was built with it
        for sentence in ("café".encode("latin-1"), "café"):
            assert ours.score(sentence) == pytest.approx(real.Model(str(path)).score(sentence))
    decoded = LanguageModel.from_arpa(path, encoding="latin-1")
    assert decoded.queries_.score("café") == pytest.approx(-0.1 - 0.2 - 0.7)
    with pytest.raises(FormatError, match="name the encoding of the file"):
        LanguageModel.from_arpa(path)


def test_base_score_is_as_fast_as_kenlm_s(ours, theirs, real):
    """Seen: 2.06 microseconds against 1.24. Both in turn, the best of many rounds; their ratio is about 1 or below."""
    words = [f"w{i % 45}" for i in range(3000)]

    def seconds(model, State):
        state, after = State(), State()
        model.BeginSentenceWrite(state)
        start = time.process_time()
        for word in words:
            model.BaseScore(state, word, after)
            state, after = after, state
        return time.process_time() - start

    rounds = [(seconds(ours, kenlm.State), seconds(theirs, real.State)) for _ in range(25)]
    assert min(a for a, _ in rounds) < 1.3 * min(b for _, b in rounds)


# ---- binary files --------------------------------------------------------------------------------------------------
KINDS = {
    "probing": ["probing"],
    "rest": ["-r", "lower", "probing"],
    "trie": ["trie"],
    "quantised": ["-q", "6", "-b", "5", "trie"],
    "array": ["-a", "64", "trie"],
    "quantised-array": ["-q", "8", "-a", "64", "trie"],
}


@pytest.fixture(scope="module")
def build_binary(pytestconfig):
    return peers.kenlm_build_binary(pytestconfig)


@pytest.fixture(scope="module", params=[(kind, words) for kind in KINDS for words in (True, False)], ids=str)
def binary(request, build_binary, arpa, tmp_path_factory):
    kind, words = request.param
    folder = tmp_path_factory.mktemp("binary")
    options = list(KINDS[kind])
    if kind == "rest":  # lower orders come from files of their own
        model = read_arpa(arpa)
        for n in (1, 2, 3):
            write_arpa(lower_order(model, n), folder / f"{n}.arpa")
        options[1] = " ".join(str(folder / f"{n}.arpa") for n in (1, 2, 3))
    target = folder / f"model.{kind}"
    subprocess.run(
        [build_binary, *([] if words else ["-v"]), *options, arpa, str(target)], check=True, capture_output=True
    )
    return str(target)


def lower_order(model, n):
    """The n-grams of a model up to order n."""
    last = int(model.context_start[n])
    shape = (
        model.context_start[: n + 1], model.entry_start[: n + 1], model.context_word[:last],
        np.minimum(model.context_child[: last + 1], last), model.context_entry[: last + 1],
        model.entry_word[: int(model.entry_start[n])],
    )  # fmt: skip
    return backoff_model(model.vocabulary, shape, model.log_backoff[:last], model.log_probability[: shape[5].size])


def test_every_kind_of_binary_file_method_by_method(real, binary):
    ours, theirs = kenlm.Model(binary), real.Model(binary)
    assert (ours.order, ours.path) == (theirs.order, theirs.path)
    for sentence in [*sentences(), "<s> w1 <s>"]:
        for bos in (True, False):
            for eos in (True, False):
                assert ours.score(sentence, bos=bos, eos=eos) == pytest.approx(
                    theirs.score(sentence, bos=bos, eos=eos), rel=1e-6
                )
                assert list(ours.full_scores(sentence, bos, eos)) == list(theirs.full_scores(sentence, bos, eos))
        assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-5)
    for word in ("w1", "w37", "w38", "<s>", "</s>", "<unk>", "", "W1"):
        assert (word in ours) == (word in theirs)
    assert pickle.loads(pickle.dumps(ours)).score("w1 w2") == ours.score("w1 w2")
    np.testing.assert_allclose(ours.score_batch(sentences()), [theirs.score(s) for s in sentences()], rtol=1e-6)


def test_states_of_binary_files(real, binary):
    test_states(kenlm.Model(binary), real.Model(binary), real, "BeginSentenceWrite")


@pytest.mark.parametrize("quantise", [None, 8])
def test_kenlm_reads_what_we_write(tmp_path, real, arpa, quantise):
    model = LanguageModel.from_arpa(arpa)
    model.to_binary(tmp_path / "ours.bin", quantise=quantise)
    theirs, ours = real.Model(str(tmp_path / "ours.bin")), kenlm.Model(tmp_path / "ours.bin")
    for sentence in sentences():
        assert list(ours.full_scores(sentence)) == list(theirs.full_scores(sentence))
        if quantise is None:
            assert theirs.score(sentence) == pytest.approx(model.queries_.score(sentence), abs=1e-4)
    opened = LanguageModel.load(tmp_path / "ours.bin")
    texts = [s for s in sentences() if "</s>" not in s]
    assert opened.perplexity(texts) == pytest.approx(model.perplexity(texts), rel=5e-3 if quantise else 1e-6)


def test_kenlm_reads_closed_models_that_we_write(tmp_path, real):
    LanguageModel.from_backoff(random_model(3, is_open=False, order=3)).to_binary(tmp_path / "ours.bin")
    theirs, ours = real.Model(str(tmp_path / "ours.bin")), kenlm.Model(tmp_path / "ours.bin")
    for sentence in ("x", "w0 x", "x w0 w1 x y w2"):
        assert list(ours.full_scores(sentence)) == list(theirs.full_scores(sentence))


# ---- in place of the package ---------------------------------------------------------------------------------------
def test_install_stands_in_for_the_package(arpa):
    """In a process of its own: the real package may be installed here, and is not imported there."""
    program = f"""
import loglinear.kenlm
assert loglinear.kenlm.install() is loglinear.kenlm
import kenlm
from kenlm import Model, State
model = kenlm.LanguageModel({arpa!r})
state = State()
model.BeginSentenceWrite(state)
print(kenlm.__name__, isinstance(model, Model), model.BaseScore(state, "w1", state) == model.score("w1", eos=False))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["loglinear.kenlm", "True", "True"]


def test_a_subclass_may_override_base_score(arpa):
    class Doubled(kenlm.Model):
        def BaseScore(self, in_state, word, out_state):
            return 2 * super().BaseScore(in_state, word, out_state)

    a, b = kenlm.State(), kenlm.State()
    assert Doubled(arpa).BaseScore(a, "w1", b) == 2 * kenlm.Model(arpa).BaseScore(a, "w1", b)


def test_a_language_model_of_ours_is_read(tmp_path):
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


def test_a_binary_file_is_a_language_model(tmp_path, arpa):
    """Its words are read when they are needed; it is evaluated, converted and explained as any other."""
    model = LanguageModel.from_arpa(arpa)
    model.to_binary(tmp_path / "m.bin")
    opened = LanguageModel.load(tmp_path / "m.bin")
    assert "vocabulary_" not in vars(opened)
    texts = ["w1 w2 w3", "w4 unknown w1"]
    assert opened.perplexity(texts) == pytest.approx(model.perplexity(texts), rel=1e-6)
    assert opened.vocabulary_.n_words == model.vocabulary_.n_words
    assert sum(opened.n_ngrams_) == sum(model.n_ngrams_) + 1  # <s>
    assert str(opened.explain("w1 w2")).splitlines()[-1] == str(model.explain("w1 w2")).splitlines()[-1]
    opened.save(tmp_path / "m.ll")
    assert LanguageModel.load(tmp_path / "m.ll").perplexity(texts) == pytest.approx(model.perplexity(texts), rel=1e-6)
    assert opened.top("w1", 3)[0][1] == pytest.approx(model.top("w1", 3)[0][1], rel=1e-5)


def test_pyctcdecode_s_suite(pytestconfig, tmp_path):
    """Version 0.4.0 is the last one whose distribution has its tests."""
    root = peers.source(pytestconfig, "pyctcdecode", "0.4.0")
    options = [
        "--ignore=pyctcdecode/tests/test_notebooks.py",  # needs Jupyter and data from the network
        # needs the package huggingface_hub
        "--deselect=pyctcdecode/tests/test_decoder.py::TestSerialization::test_load_from_hub_offline",
    ]
    others = [] if importlib.util.find_spec("pygtrie") else [peers.source(pytestconfig, "pygtrie")]
    # Deadlines of single examples would make a busy machine a failure.
    stand_in = (
        "from hypothesis import settings\nfrom loglinear import kenlm\n\nkenlm.install()\n"
        "settings.register_profile('patient', deadline=None)\nsettings.load_profile('patient')\n"
    )
    output = peers.run_suite(tmp_path, root / "pyctcdecode", stand_in, python_path=others, options=options)
    assert int(re.search(r"(\d+) passed", output)[1]) >= 35


def test_kenlm_s_own_example(pytestconfig):
    root = peers.source(pytestconfig, "kenlm")
    code = "import runpy, sys; from loglinear import kenlm; kenlm.install(); runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-c", code, root / "python" / "example.py"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("5-gram model\nlanguage modeling is fun .\n-")
    assert run.stdout.count("is an OOV") == 6  # of three words, each told twice
