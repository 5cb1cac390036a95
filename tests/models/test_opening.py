"""Opening a large model reads a bounded part of its file; the rest is read, and checked, when the model is used."""

import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import loglinear
from loglinear import InputMethod, MaxentClassifier, Parser, Tagger
from loglinear.backoff.binary import BinaryQueries
from loglinear.formats import named_arrays
from loglinear.formats.bracketed import parse_bracketed
from loglinear.models import archive, load_predictor
from loglinear.models import predictor as predictors

TEXTS, LABELS = ["a b c", "b c d", "c a", "d e"] * 3, ["x", "y", "x", "z"] * 3
TOKENS = [[["the"], ["dog"]], [["a"], ["cat"]]]


def classifier():
    return MaxentClassifier(char_ngrams=(1, 2)).fit(TEXTS, LABELS)


def sparse_classifier():
    return MaxentClassifier("l1", 0.01).fit(TEXTS, LABELS).sparsify()


def tagger():
    return Tagger().fit(TOKENS, [["D", "N"]] * 2)


def input_method():
    return InputMethod(2).fit(["A|x B|yz", "C|x B|yz", "A|xy A|x B|yz"])


def parser():
    trees = b"(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n(S (NP (DT a) (NN cat)) (VP (VBZ barks)))\n"
    return Parser(min_word_count=1).fit(parse_bracketed(trees))


def outcome(model):
    used = {
        "tagger": lambda: model.predict_marginals(TOKENS),
        "maxent-classifier": lambda: model.predict_proba(TEXTS).tolist(),
        "input-method": lambda: model.convert(["xyz"]),
        "parser": lambda: str(model.predict([["the", "dog", "barks"]])),
    }
    return used[model.kind]()


@pytest.fixture
def n_read(monkeypatch):
    """Let every model be a large one; count the bytes of arrays that are read."""
    monkeypatch.setattr(predictors, "READ_AT_ONCE", 0)
    sizes, read = [], named_arrays._OpenFile.read

    def counted(self, place):
        sizes.append(place.nbytes)
        return read(self, place)

    monkeypatch.setattr(named_arrays._OpenFile, "read", counted)
    return lambda: sum(sizes)


@pytest.mark.parametrize("load", [loglinear.load, load_predictor])
@pytest.mark.parametrize("made", [classifier, sparse_classifier, tagger, parser])
def test_weights_are_read_when_they_are_used(tmp_path, n_read, made, load):
    path, model = tmp_path / "m.ll", made()
    model.save(path)
    weights = archive.load(path).arrays["weights"]
    before = n_read()
    loaded = load(path)
    assert n_read() - before < path.stat().st_size - weights.nbytes
    assert loaded.parameters()["strength"] == model.strength
    assert n_read() - before < path.stat().st_size - weights.nbytes
    assert getattr(loaded, "classes_", None) is None or list(loaded.classes_) == list(model.classes_)
    assert outcome(loaded) == outcome(model)
    assert n_read() - before > weights.nbytes


@pytest.mark.parametrize("made", [classifier, tagger, input_method, parser])
def test_a_model_that_was_not_used_is_pickled_and_saved_whole(tmp_path, n_read, made):
    model = made()
    model.save(tmp_path / "m.ll")
    copy = pickle.loads(pickle.dumps(loglinear.load(tmp_path / "m.ll")))
    loglinear.load(tmp_path / "m.ll").save(tmp_path / "again.ll")
    (tmp_path / "m.ll").unlink()
    assert outcome(copy) == outcome(model) == outcome(loglinear.load(tmp_path / "again.ll"))


@pytest.mark.parametrize("made", [classifier, parser])
def test_threads_wait_for_the_one_that_reads(tmp_path, n_read, monkeypatch, made):
    model, read = made(), named_arrays._OpenFile.read
    model.save(tmp_path / "m.ll")
    loaded, start = loglinear.load(tmp_path / "m.ll"), threading.Barrier(4)

    def slow(self, place):
        time.sleep(0.01)
        return read(self, place)

    def use():
        start.wait()
        return outcome(loaded)

    monkeypatch.setattr(named_arrays._OpenFile, "read", slow)
    with ThreadPoolExecutor(4) as pool:
        found = [future.result() for future in [pool.submit(use) for _ in range(4)]]
    assert found == [outcome(model)] * 4


@pytest.mark.parametrize("made", [classifier, tagger])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_damage_is_told_at_the_first_use_and_at_every_other(tmp_path, n_read, made, wrong):
    path = tmp_path / "m.ll"
    made().save(path)
    found = archive.load(path)
    arrays = {name: np.array(found.arrays[name]) for name in found.arrays}
    arrays["weights"].flat[-1] = wrong
    archive.save(path, archive.Archive(found.kind, found.settings, found.summary, arrays))
    loaded = loglinear.load(path)
    for _ in range(2):
        with pytest.raises(loglinear.ModelFileError, match=r"m\.ll: the model is damaged: array 'weights' has numbers"):
            outcome(loaded)


def test_a_large_binary_of_kenlm_is_mapped_unless_its_copy_is_wanted(tmp_path, monkeypatch):
    from loglinear import LanguageModel, kenlm
    from loglinear.backoff import binary

    path = str(tmp_path / "m.bin")
    LanguageModel(2, "kneser-ney").fit(["a b c", "a c"]).to_binary(path)
    copied = kenlm.Model(path).score("a b")
    monkeypatch.setattr(binary, "_MOST_COPIED", 0)

    def refuse(source):
        raise AssertionError("the file is read whole")

    monkeypatch.setattr(binary, "read_bytes", refuse)
    assert kenlm.Model(path).score("a b") == BinaryQueries.open(path).score("a b") == copied
    config = kenlm.Config()
    for method in (kenlm.LoadMethod.READ, kenlm.LoadMethod.PARALLEL_READ):
        config.load_method = method
        with pytest.raises(AssertionError, match="the file is read whole"):
            kenlm.Model(path, config)
    monkeypatch.setattr(binary, "_MOST_COPIED", 1 << 30)
    for method in (kenlm.LoadMethod.LAZY, kenlm.LoadMethod.POPULATE_OR_LAZY):
        config.load_method = method
        assert kenlm.Model(path, config).score("a b") == copied
