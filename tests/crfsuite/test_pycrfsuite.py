"""Trainer, Tagger and ItemSequence with the names of python-crfsuite, beside the original."""

import contextlib
import sys

import numpy as np
import pytest

import loglinear
from loglinear import crfsuite
from loglinear.crfsuite import ItemSequence, Tagger, Trainer
from loglinear.errors import FormatError
from loglinear.formats.crfsuite.binary import lookup3, parse_crfsuite_model, read_crfsuite_model, write_crfsuite_model
from loglinear.formats.crfsuite.model import CrfsuiteModel, parse_crfsuite_dump

pycrfsuite = pytest.importorskip("pycrfsuite", reason="the python-crfsuite package is not installed")

X = [
    [{"w": "the"}, {"w": "old", "short": True}, ["w:dog", "last"]],
    [{"w": {"a": 0.5}}, {"w": "dog", "tags": ["x", "y"]}, {"größe": 2.5}, {}],
]
Y = [["D", "A", "N"], ["D", "N", "V", "V"]]


def trained(module, path, **settings):
    trainer = module.Trainer("lbfgs", {"c2": 0.1, **settings}, verbose=False)
    for xseq, yseq in zip(X, Y):
        trainer.append(xseq, yseq)
    trainer.train(str(path))
    tagger = module.Tagger()
    tagger.open(str(path))
    return tagger


@pytest.mark.parametrize("sequence", X)
def test_items_are_those_of_the_original(sequence):
    ours, theirs = ItemSequence(sequence), pycrfsuite.ItemSequence(sequence)
    assert ours.items() == theirs.items()
    assert len(ours) == len(theirs)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "PA", "arow", "passive-aggressive"])
def test_parameters_have_the_names_and_defaults_of_the_original(algorithm):
    ours, theirs = Trainer(algorithm), pycrfsuite.Trainer(algorithm)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    assert all(ours.help(name) for name in ours.params())


def test_tagging_probabilities_and_marginals_agree(tmp_path):
    settings = {"delta": 1e-13, "epsilon": 1e-8}
    ours, theirs = trained(crfsuite, tmp_path / "a", **settings), trained(pycrfsuite, tmp_path / "b", **settings)
    assert ours.labels() == theirs.labels()
    for xseq, yseq in zip(X, Y):
        assert ours.tag(xseq) == theirs.tag(xseq) == ours.tag(ItemSequence(xseq))
        assert ours.probability(yseq) == pytest.approx(theirs.probability(yseq), rel=1e-4)
        for label in ours.labels():
            assert ours.marginal(label, 1) == pytest.approx(theirs.marginal(label, 1), abs=1e-4)
    with pytest.raises(ValueError, match="label 'Z' is none of the model's"):
        ours.marginal("Z", 0)


def test_a_trainer_goes_on_after_training(tmp_path):
    trainer = Trainer("ap", verbose=False)
    trainer.append(ItemSequence(X[0]), Y[0])
    trainer.train("")
    assert trainer.model_.classes_ == ["D", "A", "N"]
    trainer.append(X[1], Y[1], group=3)
    trainer.train(str(tmp_path / "m"), holdout=3)
    assert "item_accuracy" in trainer.logparser.last_iteration
    assert trainer.model_.classes_ == ["D", "A", "N"]
    trainer.clear()
    with pytest.warns(UserWarning, match="no model is written"):
        trainer.train(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_a_refused_sequence_leaves_the_trainer_as_it_was(tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append(X[0], Y[0])
    with pytest.raises(TypeError, match="sequence 1, token 1 is int, not a dict or a list"):
        trainer.append([{"a": 1}, 5], ["D", "D"])
    trainer.append(X[1], Y[1])
    trainer.train(str(tmp_path / "m"))
    assert trained(crfsuite, tmp_path / "n").labels() == trainer.model_.classes_
    assert "a" not in trainer.model_.attribute_names()


# ---- files -----------------------------------------------------------------------------------------------------------
def test_binary_models_of_crfsuite_are_read(tmp_path):
    theirs = trained(pycrfsuite, tmp_path / "m")
    with Tagger().open(tmp_path / "m") as ours:
        assert ours.labels() == theirs.labels()
        for xseq, yseq in zip(X, Y):
            assert ours.tag(xseq) == theirs.tag(xseq)
            assert ours.probability(yseq) == pytest.approx(theirs.probability(yseq), rel=1e-12)
        info = ours.info()
        assert info.transitions.keys() == theirs.info().transitions.keys()
        assert info.attributes.keys() == theirs.info().attributes.keys()
    model = loglinear.Tagger.from_crfsuite_dump(tmp_path / "m")
    assert model.predict([X[1]])[0] == theirs.tag(X[1])


def test_crfsuite_opens_the_models_that_are_written_for_it(tmp_path):
    numbers = [range(6 * k, 6 * k + 6) for k in range(100)]
    many = [[{"w": "the", f"a{i * i}": 0.5 + i % 7, "name " * (1 + i % 9): True} for i in some] for some in numbers]
    many, labels = [*many, *X], [*([["D", "A"] * 3] * 100), *Y]
    trainer = Trainer("lbfgs", {"c1": 0.01, "c2": 0.1, "max_iterations": 30}, verbose=False)
    for xseq, yseq in zip(many, labels):
        trainer.append(xseq, yseq)
    trainer.train(str(tmp_path / "m.crfsuite"))
    ours, theirs = Tagger.of(trainer.model_), pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "m.crfsuite"))
    for xseq, yseq in zip(many, labels):
        assert theirs.tag(xseq) == ours.tag(xseq)
        assert theirs.probability(yseq) == pytest.approx(ours.probability(yseq), rel=1e-9)
    assert theirs.info().transitions == pytest.approx(ours.info().transitions, abs=1e-6)  # they print six digits
    assert theirs.info().state_features == pytest.approx(ours.info().state_features, abs=1e-6)
    with Tagger().open(tmp_path / "m.crfsuite") as back:
        assert back.info().state_features == ours.info().state_features
    trainer.model_.to_crfsuite_binary(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m.crfsuite").read_bytes()
    with pytest.raises(ValueError, match="a name has a NUL"):
        loglinear.Tagger().fit([[{"a\0b": 1.0}, {"c": 1.0}]], [["A", "B"]]).to_crfsuite_binary(tmp_path / "nul")


def test_lookup3_gives_the_hashes_of_its_author():
    assert lookup3([b"Four score and seven years ago"] * 2).tolist() == [0x17770551] * 2


def test_a_damaged_binary_model_is_refused_at_every_length(tmp_path):
    trained(pycrfsuite, tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    whole = parse_crfsuite_model(data)
    assert whole.labels == ["D", "A", "N", "V"]
    for n in range(0, len(data), 7):  # what is cut off may be of no use to us, such as tables of hashes
        with contextlib.suppress(FormatError):
            assert parse_crfsuite_model(data[:n]).labels == whole.labels
    for at in range(12, len(data), 11):
        with contextlib.suppress(FormatError):  # and nothing else
            parse_crfsuite_model(data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :])
    with pytest.raises(FormatError, match="header of the model is incomplete; copy the file again"):
        parse_crfsuite_model(b"lCRFfoo")
    with pytest.raises(FormatError, match="only first-order chains"):
        parse_crfsuite_model(data[:8] + b"XXXX" + data[12:])


def test_names_of_a_binary_model_that_share_their_bytes_are_refused(tmp_path):
    """Thousands of offsets to one name of megabytes would fill the memory."""
    none = np.zeros(0, int), np.zeros(0, int), np.zeros(0)
    model = CrfsuiteModel(["A", "B"], ["x" * 1000, *map(str, range(50))], none, none)
    write_crfsuite_model(tmp_path / "m", model)
    data = bytearray((tmp_path / "m").read_bytes())
    database = int.from_bytes(data[36:40], "little")
    offsets = database + int.from_bytes(data[database + 20 : database + 24], "little")
    data[offsets : offsets + 4 * 51] = data[offsets : offsets + 4] * 51
    with pytest.raises(FormatError, match="attributes of the model share their bytes"):
        parse_crfsuite_model(bytes(data))


def test_dumps_are_written_and_read_back_exactly(tmp_path):
    ours = trained(crfsuite, tmp_path / "m")
    ours.dump(tmp_path / "dump.txt")
    text = (tmp_path / "dump.txt").read_text(encoding="utf-8")
    assert "größe --> V: " in text
    found = loglinear.Tagger.from_crfsuite_dump(tmp_path / "dump.txt")
    assert found.state_features_ == ours.model.state_features_
    assert found.transition_features_ == ours.model.transition_features_
    back = tmp_path / "again.txt"
    found.to_crfsuite_dump(back)
    assert back.read_text(encoding="utf-8").split("LABELS")[1] == text.split("LABELS")[1]
    parser = pycrfsuite._dumpparser.CRFsuiteDumpParser()  # the original's own reader of such text
    for line in text.splitlines(keepends=True):
        parser.feed(line)
    assert parser.result.state_features == ours.info().state_features
    assert parser.result.transitions == ours.info().transitions
    assert parser.result.header["num_labels"] == "4"


def test_dumps_of_crfsuite_and_its_files_are_one_model(tmp_path):
    theirs = trained(pycrfsuite, tmp_path / "m")
    theirs.dump(str(tmp_path / "dump.txt"))
    text, binary = read_crfsuite_model(tmp_path / "dump.txt"), read_crfsuite_model(tmp_path / "m")
    assert text.labels == binary.labels
    assert text.attributes == binary.attributes
    assert text.states[2] == pytest.approx(binary.states[2], abs=1e-6)


def test_what_a_dump_cannot_hold_is_refused(tmp_path):
    model = loglinear.Tagger(strength=0.1).fit([[{"a\nb": 1.0}, {"c": 1.0}]], [["A", "B"]])
    with pytest.raises(ValueError, match=r"the name 'a\\nb' has a line break"):
        model.to_crfsuite_dump(tmp_path / "d")
    assert not (tmp_path / "d").exists()
    second = loglinear.Tagger(templates="U:%x[0,0]\nB:%x[0,0]").fit([[("a",), ("b",)]], [["A", "B"]])
    with pytest.raises(ValueError, match=r"first-order CRFs whose attributes go with the label alone.*\.ll file"):
        second.to_crfsuite_dump(tmp_path / "d")
    broken = "LABELS = {\n 0: A\n}\nATTRIBUTES = {\n 0: a\n}\nTRANSITIONS = {\n (1) A --> Z: 1.0\n}\n"
    broken += "STATE_FEATURES = {\n}\n"
    (tmp_path / "bad").write_text(broken)
    assert parse_crfsuite_dump(broken).labels == ["A"]
    with pytest.raises(FormatError, match="names 'Z', which no section lists"):
        read_crfsuite_model(tmp_path / "bad")


def test_models_that_read_columns_are_sent_elsewhere(tmp_path):
    loglinear.Tagger(templates="U:%x[0,0]").fit([[("a",), ("b",)]], [["A", "B"]]).save(tmp_path / "m")
    with pytest.raises(ValueError, match="reads columns under templates: load it with loglinear"):
        Tagger().open(tmp_path / "m")


# ---- in place of the originals ---------------------------------------------------------------------------------------
def test_install_takes_the_place_of_both_packages(monkeypatch):
    for name in ("pycrfsuite", "sklearn_crfsuite", *(f"sklearn_crfsuite.{x}" for x in ("estimator", "metrics"))):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sklearn_crfsuite.scorers", None)
    monkeypatch.setitem(sys.modules, "sklearn_crfsuite.trainer", None)
    crfsuite.install()
    import pycrfsuite as low
    import sklearn_crfsuite as high
    from sklearn_crfsuite import metrics

    assert low.Trainer is Trainer
    assert high.CRF is crfsuite.CRF
    assert metrics is crfsuite.metrics
