"""Taggers in files: nothing changes, zero weights are left out, damage is refused in words."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from taggers import ESTIMATORS, PAIRS, TEMPLATES, as_dicts, fitted, toy, words

import loglinear
from loglinear import ModelFileError, Tagger
from loglinear.models import archive


def models():
    """Every estimator and every kind of features."""
    X, y = toy()
    for estimator in ESTIMATORS:
        for order in (1, 2):
            yield f"{estimator}-{order}", lambda e=estimator, o=order: fitted(e, o), X
    settings = {"dicts": {}, "hashed": {"hash_bits": 5}, "counted": {"min_count": 2}, "l1": {"penalty": "l1"}}
    for name, given in settings.items():
        yield name, lambda given=given: Tagger(**given).fit(as_dicts(X), y), as_dicts(X)
    columns = {"pairs": {}, "hashed-columns": {"hash_bits": 6}, "oov": {"oov": True}}
    columns |= {"constraint": {"constraint": [("A", "C")]}, "initialised": {"initialise": "m-estimation"}}
    columns |= {"elastic-net": {"penalty": "elastic_net", "l1_ratio": 0.9}}
    for name, given in columns.items():
        templates = TEMPLATES if "initialise" in given else PAIRS
        yield name, lambda given=given, t=templates: Tagger(templates=t, **given).fit(X, y), X


@pytest.mark.parametrize(("make", "X"), [pytest.param(make, X, id=name) for name, make, X in models()])
def test_round_trip(make, X, tmp_path):
    model = make()
    path = tmp_path / "m.ll"
    model.save(path)
    loaded = loglinear.load(path, verify=True)
    assert type(loaded) is Tagger
    unseen = [[*X[1][:1], *X[0]]]
    for inputs in (X, unseen, [[]]):
        assert loaded.predict(inputs) == model.predict(inputs)
        np.testing.assert_allclose(loaded.marginal_array(inputs), model.marginal_array(inputs), atol=1e-12)
    assert loaded.predict_nbest(X[:2], 4) == [
        [(labels, pytest.approx(p, abs=1e-12)) for labels, p in found] for found in model.predict_nbest(X[:2], 4)
    ]
    expected = json.loads(json.dumps(model.get_params()))
    got = loaded.get_params()
    assert {**got, "constraint": None} == {**expected, "constraint": None}
    assert loaded.classes_ == model.classes_
    assert loaded.state_features_ == pytest.approx(model.state_features_)
    assert loaded.transition_features_ == model.transition_features_
    assert (loaded.objective_ == model.objective_) or model.estimator == "hmm"
    explained = [token.score for token in loaded.explain(X[0]).tokens]
    assert explained == pytest.approx([token.score for token in model.explain(X[0]).tokens])
    loaded.save(tmp_path / "again.ll")
    again = loglinear.load(tmp_path / "again.ll")
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(again.weights_, loaded.weights_)
    if not model.has_base:
        assert clone(loaded).fit(X, toy()[1]).predict(X) == model.predict(X)


def test_zero_weights_are_left_out(tmp_path):
    X, y = words()
    sizes, n_weights = {}, {}
    for penalty in ("l1", "l2"):
        model = Tagger(penalty=penalty).fit(X, y)
        model.save(tmp_path / penalty)
        loaded = loglinear.load(tmp_path / penalty)
        assert np.all(loaded.weights_ != 0)
        assert loaded.weights_.size == np.count_nonzero(model.weights_)
        assert loaded.reader_.n_attributes <= model.reader_.n_attributes
        np.testing.assert_allclose(loaded.marginal_array(X), model.marginal_array(X), atol=1e-12)
        sizes[penalty], n_weights[penalty] = (tmp_path / penalty).stat().st_size, loaded.weights_.size
    assert sizes["l1"] < 0.5 * sizes["l2"]
    assert n_weights["l1"] < n_weights["l2"]


def test_a_model_without_any_weight(tmp_path):
    X, y = words()
    model = Tagger(penalty="l1", strength=1e6).fit(X, y)
    assert not np.any(model.weights_)
    model.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll")
    assert loaded.weights_.size == 0
    assert loaded.predict(X) == model.predict(X)
    np.testing.assert_allclose(loaded.marginal_array(X[:2]), 0.25, atol=1e-12)


def test_arrays_can_be_mapped_and_cannot_be_written(tmp_path):
    fitted("crf", 1).save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll", mmap=True)
    for array in (loaded.weights_, loaded.features_.node_label, loaded.reader_.featuriser.attribute_values):
        base = array
        while base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
        assert not array.flags.writeable


def test_saving_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "m.ll"
    fitted("crf", 1).save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        fitted("hmm", 1).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.ll"]


def test_a_loaded_model_outlives_its_file(tmp_path):
    path = tmp_path / "m.ll"
    fitted("crf", 2).save(path)
    loaded = loglinear.load(path)
    fitted("hmm", 1).save(path)  # another file of the same name
    assert loaded.predict(toy()[0]) == fitted("crf", 2).predict(toy()[0])


# ---- damage ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def change(tmp_path):
    """change(model, f) -> loads the file after f(settings, arrays)."""

    def load(model, f):
        path = tmp_path / "m.ll"
        model.save(path)
        held = archive.load(path)
        arrays = {name: np.array(array) for name, array in held.arrays.items()}
        f(held.settings, arrays)
        archive.save(path, archive.Archive(held.kind, held.settings, held.summary, arrays))
        return loglinear.load(path)

    return load


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda s, a: a.pop("weights"), "lacks its array 'weights'"),
        (lambda s, a: a.update(weights=a["weights"][:-1]), "weights for"),
        (lambda s, a: a["weights"].__setitem__(0, np.nan), "not finite"),
        (lambda s, a: a["node_label"].__setitem__(0, 99), "node feature 0 is out of range"),
        (lambda s, a: a["node_label"].__setitem__(0, -1), "node feature 0 is out of range"),
        (lambda s, a: a["node_ptr"].__setitem__(1, 2**62), "decrease"),
        (lambda s, a: a["transition_code"].__setitem__(0, 2**31 - 1), "transition feature 0 is out of range"),
        (lambda s, a: a.update(transition_code=a["transition_code"][::-1].copy()), "out of order"),
        (lambda s, a: a.update(node_ptr=a["node_ptr"][:-1].copy()), "features are damaged"),
        (lambda s, a: a["class_offsets"].__setitem__(1, -5), "labels are damaged"),
        (lambda s, a: a["classes"].__setitem__(slice(None), ord("A")), "a label occurs twice"),
        (lambda s, a: a["classes"].__setitem__(0, 0xFF), "labels are damaged"),
        (lambda s, a: s.pop("parameters"), "settings are damaged"),
        (lambda s, a: s["parameters"].update(order=7), "order must be one of"),
        (lambda s, a: s["parameters"].update(unheard_of=1), "settings are damaged"),
        (lambda s, a: s["parameters"].update(n_threads=10**6), "n_threads is 1000000"),
        (lambda s, a: s["parameters"].update(constraint="nonsense"), "no label scheme"),
        (lambda s, a: s["parameters"].update(constraint=[["A", "Z"]]), "no label 'Z'"),
        (lambda s, a: s["parameters"].update(machine="steam"), "machine must be"),
        (lambda s, a: s["parameters"].update(estimator="hmm"), "base distribution is damaged"),
        (lambda s, a: s["featuriser"].update(kind="magic"), "featuriser is damaged"),
        (lambda s, a: s["featuriser"].update(settings="x"), "featuriser is damaged"),
        (lambda s, a: s.update(featuriser=None), "attributes and features differ in number"),
        (lambda s, a: s.update(reads_columns=False), "need columns"),
        (lambda s, a: a["featuriser.attribute_values"].__setitem__((0, 0), 10**6), "featuriser is damaged"),
    ],
)
def test_damage_is_named(change, f, match):
    with pytest.raises(ModelFileError, match=rf"m\.ll: .*{match}"):
        change(fitted("crf", 1), f)


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda s, a: a["hmm.start"].__setitem__(0, np.nan), "base distribution is damaged"),
        (lambda s, a: a["hmm.steps"].__setitem__((0, 0), 2.0), "base distribution is damaged"),
        (lambda s, a: a.pop("hmm.stop"), "base distribution is damaged"),
        (lambda s, a: s.pop("oov"), "base distribution is damaged"),
        (lambda s, a: s["oov"].update(settings=3), "oov is damaged"),
        (lambda s, a: s.update(reads_columns=False), "need columns"),
        (lambda s, a: a.update({"hmm.emissions.0": np.ones((3, 1))}), "base distribution is damaged"),
    ],
)
@pytest.mark.parametrize("estimator", ["hmm", "m-estimation"])
def test_damage_of_a_base_distribution(change, f, match, estimator):
    with pytest.raises(ModelFileError, match=rf"m\.ll: .*{match}"):
        change(fitted(estimator, 1), f)


@pytest.mark.parametrize("settings", [{"constraint": {("A", "C")}}, {"tune": np.array([1.0, 0.1])}])
def test_settings_of_any_kind_can_be_read_back(settings, tmp_path):
    X, y = toy()
    model = Tagger(templates=TEMPLATES, **settings).fit(X, y, validation=(X, y))
    model.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll")
    assert loaded.predict(X) == model.predict(X)
    assert loaded.tune == (None if model.tune is None else [1.0, 0.1])


def test_arrays_that_are_not_aligned(tmp_path):
    """Other programs may write safetensors whose arrays begin anywhere."""
    model = fitted("crf", 1)
    path = tmp_path / "m.ll"
    model.save(path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    shifted = json.dumps(header).encode() + b" " * ((3 - len(json.dumps(header))) % 8)
    path.write_bytes(len(shifted).to_bytes(8, "little") + shifted + data[8 + length :])
    assert len(shifted) % 8 == 3
    loaded = loglinear.load(path, verify=True)
    assert loaded.weights_.flags.aligned
    assert loaded.predict(toy()[0]) == model.predict(toy()[0])


def test_predictions_of_hashed_models_do_not_need_a_table(tmp_path):
    X, y = words()
    wide = Tagger(hash_bits=20, penalty="l1").fit(X, y)
    wide.save(tmp_path / "m.ll")
    assert (tmp_path / "m.ll").stat().st_size < 1e6
    loaded = loglinear.load(tmp_path / "m.ll")
    assert loaded.predict(X) == wide.predict(X)
