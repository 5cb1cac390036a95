"""Classifiers on a real local cluster: the optimum of one process, killed workers, partitions, refusals."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed")
import dask.array as da
import dask.bag as db

from loglinear import LoglinearError, MaxentClassifier, load
from loglinear.dask import DaskMaxentClassifier
from loglinear.models.classifier.files import train_on_file
from tests.dask.kills import killed

NUMBERS = itertools.count()
TIGHT = {"tolerance": 1e-9, "max_iterations": 10_000}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Labelled texts in three files and in one."""
    rng, folder = random.Random(0), tmp_path_factory.mktemp("texts")
    lines = [
        f"{label}\t" + " ".join(f"w{min(400, start + int(abs(rng.gauss(0, 90))))}" for _ in range(12)) + "\n"
        for label, start in ((label, {"a": 0, "b": 60, "c": 110}[label]) for label in rng.choices("abc", k=2400))
    ]
    (folder / "all.tsv").write_text("".join(lines), encoding="utf-8")
    for k, cut in enumerate((slice(0, 700), slice(700, 1500), slice(1500, None))):
        (folder / f"part{k}.tsv").write_text("".join(lines[cut]), encoding="utf-8")
    return folder


def rows(*partitions):
    """A collection whose partitions are these arrays."""
    name = f"rows-{next(NUMBERS)}"
    arrays = [part if sparse.issparse(part) else np.array(part) for part in partitions]
    return db.Bag({(name, i): part for i, part in enumerate(arrays)}, name, len(arrays))


def check_same(model, local):
    assert model.classes_.tolist() == local.classes_.tolist()
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert model.featuriser_.names() == local.featuriser_.names()
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-3)


@pytest.mark.parametrize("settings", [{}, {"penalty": "l1", "min_count": 2}, {"ngrams": (1, 2), "min_count": 3}])
def test_the_optimum_is_that_of_one_process(client, texts, tmp_path, settings):
    local = MaxentClassifier(**settings, **TIGHT)
    train_on_file(local, texts / "all.tsv")
    model = DaskMaxentClassifier(client=client, **settings, **TIGHT)
    check_same(model.fit(texts / "part*.tsv"), local)
    first = model.coef_.tobytes()
    assert model.fit(texts / "part*.tsv").coef_.tobytes() == first  # the same bits in every run
    check_same(model.fit(texts / "all.tsv"), local)  # one file that is cut
    model.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert type(again) is MaxentClassifier
    assert again.predict(["w1 w2 w3", "w300 w301"]).tolist() == model.predict(["w1 w2 w3", "w300 w301"]).tolist()


@pytest.mark.parametrize(("penalty", "moment", "which"), [("l2", 0.1, 0), ("l1", 0.6, 1)])
def test_a_killed_worker_is_replaced_and_the_optimum_stays(client, texts, caplog, penalty, moment, which):
    """It is killed (SIGKILL) while examples are encoded and while they are trained; l1 has restricted parts too."""
    local = MaxentClassifier(penalty, ngrams=(1, 2), **TIGHT)
    train_on_file(local, texts / "all.tsv")
    with killed(client, moment, caplog, slice(which, which + 1)):
        check_same(DaskMaxentClassifier(penalty, client=client, ngrams=(1, 2), **TIGHT).fit(texts / "part*.tsv"), local)


def test_tuning_a_checkpoint_and_a_warning(client, texts, tmp_path):
    local = MaxentClassifier(tune=[30.0, 1.0, 3.0])
    train_on_file(local, texts / "all.tsv", validation=texts / "part0.tsv")
    model = DaskMaxentClassifier(client=client, tune=[30.0, 1.0, 3.0])
    model.fit(texts / "part*.tsv", validation=texts / "part0.tsv")
    assert model.strength_ == local.strength_
    for row, other in zip(model.tuning_, local.tuning_, strict=True):
        assert row["dev_loss"] == pytest.approx(other["dev_loss"], rel=1e-2)
        assert row["chosen"] == other["chosen"]
    assert model.validation_score_ == pytest.approx(local.validation_score_, abs=2e-3)
    some = {"checkpoint": tmp_path / "c", "client": client}
    with pytest.warns(ConvergenceWarning, match="stopped before the optimum"):
        DaskMaxentClassifier(max_iterations=3, **some).fit(texts / "part*.tsv")
    resumed = DaskMaxentClassifier(**some).fit(texts / "all.tsv")  # the same problem, in other parts
    assert resumed.converged_
    assert resumed.history_.objective[0] < 0.9 * 2400 * np.log(3)
    with pytest.raises(LoglinearError, match="a checkpoint of another problem"):
        DaskMaxentClassifier(**some).fit(texts / "part0.tsv")
    again = DaskMaxentClassifier(client=client, warm_start=True)
    n = again.fit(texts / "all.tsv").n_iter_
    assert again.fit(texts / "all.tsv").n_iter_ < n


def test_arrays_bags_and_sample_weights(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.7)
    y = (X @ rng.normal(size=5) + rng.normal(size=300) > 0).astype(int)
    weight = rng.uniform(0.5, 2.0, size=300)
    local = MaxentClassifier(**TIGHT).fit(X, y, weight)
    model = DaskMaxentClassifier(client=client, **TIGHT)
    chunks = {"chunks": (100, 5)}
    model.fit(da.from_array(X, **chunks), da.from_array(y, chunks=100), da.from_array(weight, chunks=100))
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-5)
    whole = da.from_array(X, **chunks).map_blocks(sparse.csr_matrix)
    model.fit(whole, da.from_array(y, chunks=100))
    local = MaxentClassifier(**TIGHT).fit(sparse.csr_matrix(X), y)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
    dicts = [{"x": float(a), "y": str(int(b > 0))} for a, b in X[:, :2]]
    local = MaxentClassifier(**TIGHT).fit(dicts, y)
    model.fit(db.from_sequence(dicts, npartitions=3), db.from_sequence(y.tolist(), npartitions=3))
    check_same(model, local)


def test_empty_partitions_and_classes_of_one_partition(client):
    lists = [["a b", "b c"], [], ["c d", "a c", "d d"]]
    labels = [["x", "y"], [], ["z", "x", "z"]]
    X = db.Bag({("x", i): part for i, part in enumerate(lists)}, "x", 3)
    y = db.Bag({("y", i): part for i, part in enumerate(labels)}, "y", 3)
    model = DaskMaxentClassifier(client=client, **TIGHT).fit(X, y)
    check_same(model, MaxentClassifier(**TIGHT).fit([*lists[0], *lists[2]], [*labels[0], *labels[2]]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: (f / "none*.tsv",), "no file has such a name"),
        (lambda f: (f / "missing.tsv",), "no such file"),
        (lambda f: (f / "all.tsv", [1, 2]), "files have their labels in them"),
        (lambda f: ([1, 2, 3], [1, 2, 3]), "give files, or Dask arrays, bags or data frames"),
        (lambda f: (db.from_sequence(["a", "b"], npartitions=2),), "needs labels y"),
        (lambda f: (db.from_sequence(["a", "b"], npartitions=2), db.from_sequence([1, 2], npartitions=1)),
         "X has 2 partitions and y has 1"),
        (lambda f: (db.from_sequence(["a", "b"], npartitions=1), db.from_sequence([1, 2, 3], npartitions=1)),
         "2 examples and labels of shape"),
        (lambda f: (rows([[1.0, 2.0]], [[1.0, 2.0, 3.0]]), rows([0], [1])), "partitions of X have 2, 3 columns"),
        (lambda f: (rows(sparse.csr_matrix([[1.0, np.nan]])), rows([0])), "no matrix of finite numbers"),
        (lambda f: (db.from_sequence(["a", {"b": 1}], npartitions=2), db.from_sequence([1, 2], npartitions=2)),
         "examples of different kinds: dicts, words"),
        (lambda f: (rows([[1.0, 2.0], [2.0, 1.0]]), rows([0.0, np.nan])), "label is NaN or infinite: leave them out"),
        (lambda f: (db.from_sequence(["a", "b"], npartitions=1), db.from_sequence(["x", None], npartitions=1)),
         "examples without a label: leave them out"),
        (lambda f: (db.from_sequence(["a", "b"], npartitions=1), db.from_sequence(["x", 1], npartitions=1)),
         "labels that are text, and others that are not"),
        (lambda f: (db.from_sequence(["a", None], npartitions=1), db.from_sequence([1, 2], npartitions=1)),
         "example 1 of a partition is NoneType, not a text, a dict or a list"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said(client, texts, make, message):
    with pytest.raises((ValueError, TypeError, LoglinearError), match=message):
        DaskMaxentClassifier(client=client).fit(*make(texts))


def test_data_frames_as_they_come(client, tmp_path):
    """Categories as labels, unknown divisions, a partition without rows, integers that may be missing, frames."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.integers(9, size=5)) for _ in range(90)]
    names = [texts[k].split()[0][-1] > "4" for k in range(90)]
    topics = pd.Categorical(np.where(names, "b", "a"), categories=["c", "b", "a"])
    frame = pd.DataFrame({"text": texts, "topic": topics})
    frame["number"] = pd.Series(np.where(names, 2, 1), dtype="Int64")
    some = dd.concat([dd.from_pandas(frame[:50], npartitions=2), dd.from_pandas(frame[:0], npartitions=1),
                      dd.from_pandas(frame[50:], npartitions=1)]).clear_divisions()  # fmt: skip
    local = MaxentClassifier(**TIGHT).fit(texts, frame.topic.tolist())
    check_same(DaskMaxentClassifier(client=client, **TIGHT).fit(some.text, some.topic), local)
    local = MaxentClassifier(**TIGHT).fit(texts, frame.number.astype(int).tolist())
    check_same(DaskMaxentClassifier(client=client, **TIGHT).fit(some.text, some[["number"]]), local)
    with pytest.raises(ValueError, match=r"'text' is no column of numbers: name the column .* text_column='text'"):
        DaskMaxentClassifier(client=client).fit(some[["text", "number"]], some.topic)


def test_records_and_data_frames_have_a_column_of_text(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    texts, topics = ["a b", "b c", "c d", "a d"] * 10, ["x", "y", "y", "x"] * 10
    frame = pd.DataFrame({"id": range(40), "body": texts, "topic": topics})
    local = MaxentClassifier(**TIGHT).fit(texts, topics)
    model = DaskMaxentClassifier(client=client, text_column="body", label_column="topic", **TIGHT)
    some, records = dd.from_pandas(frame, npartitions=2), db.from_sequence(frame.to_dict("records"), npartitions=2)
    check_same(model.fit(some), local)
    check_same(model.fit(some, some.topic), local)
    check_same(model.fit(records), local)
    check_same(DaskMaxentClassifier(client=client, **TIGHT).fit(some[["body"]], some.topic), local)
    with pytest.raises(LoglinearError, match="the record has no label 'none'"):
        DaskMaxentClassifier(client=client, text_column="body", label_column="none").fit(records)


def test_a_damaged_line_is_named_by_its_place_in_the_whole_file(client, tmp_path):
    lines = ["a\tsome words here\n", "b\tother words\n"] * 5000
    lines[9000] = "no tab\n"
    (tmp_path / "bad.tsv").write_text("".join(lines), encoding="utf-8")
    with pytest.raises(LoglinearError, match=r"bad\.tsv.*9001"):
        DaskMaxentClassifier(client=client).fit(tmp_path / "bad.tsv")


def test_the_command_trains_on_processes_of_this_machine(texts, tmp_path):
    files = str(texts / "part*.tsv")
    command = [sys.executable, "-m", "loglinear", "classify", "train", files, "-o", tmp_path / "m.ll", "--workers",
                "2", "--dev", str(texts / "part0.tsv"), "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["examples"] == 2400
    assert 0.8 < told["dev_score"] <= 1
    local = MaxentClassifier()
    train_on_file(local, texts / "all.tsv")
    assert told["objective"] == pytest.approx(local.objective_, rel=1e-3)
    assert type(load(tmp_path / "m.ll")) is MaxentClassifier


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "--workers is 0"),
        (["--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "leave one of them out"),
        (["--workers", "2", "--tune", "cv"], "tune='cv' is not for a cluster"),
        (["--cluster", "tcp://127.0.0.1:1"], "there is no Dask scheduler"),
    ],
)
def test_commands_that_cannot_be_followed_are_refused(texts, tmp_path, options, message):
    command = [sys.executable, "-m", "loglinear", "classify", "train", str(texts / "all.tsv"), "-o", tmp_path / "m.ll"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "m.ll").exists()


@pytest.mark.parametrize("settings", [
    {"weighting": "log_tfidf", "min_count": 2}, {"weighting": "binary", "char_ngrams": (2,), "stop_words": ["w1"]},
    {"hash_size": 97, "weighting": "tfidf"}, {"hash_size": 5000},
], ids=str)  # fmt: skip
def test_settings_of_texts_give_the_same_model(client, texts, settings):
    local = MaxentClassifier(**TIGHT, **settings)
    train_on_file(local, texts / "all.tsv")
    model = DaskMaxentClassifier(client=client, **TIGHT, **settings).fit(str(texts / "part*.tsv"))
    check_same(model, local)
    new = ["w1 w2 w300 w2", "unknown"]
    np.testing.assert_allclose(model.predict_proba(new), local.predict_proba(new), atol=1e-4)
    np.testing.assert_allclose(model.to_local().predict_proba(new), model.predict_proba(new), atol=1e-12)


def test_class_weights_are_those_of_one_process(client, bag):
    texts = ["one two", "two three", "one", "four", "four two", "three"]
    labels, weight = ["a", "b", "b", "b", "c", "b"], np.arange(1.0, 7)
    for given in ("balanced", {"b": 0.25}):
        local = MaxentClassifier(class_weight=given, tolerance=1e-12).fit(texts, labels, weight)
        model = DaskMaxentClassifier(class_weight=given, tolerance=1e-12, client=client)
        model.fit(bag(texts[:2], texts[2:]), bag(labels[:2], labels[2:]), bag(weight[:2], weight[2:]))
        assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
        plain = MaxentClassifier(tolerance=1e-12).fit(texts, labels, weight)
        assert plain.objective_ != pytest.approx(local.objective_)
