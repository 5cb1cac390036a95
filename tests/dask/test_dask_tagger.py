"""Taggers on a real local cluster: the optimum and the features of one process, killed workers, refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("distributed")
from loglinear import IncompatibleError, LoglinearError, Tagger, load
from loglinear.dask import DaskTagger
from loglinear.data.chain_features import ChainFeatures
from loglinear.features.columns import Columns
from loglinear.formats.text import read_bytes
from loglinear.models.tagger.files import train_on_file
from tests.dask.kills import killed

TIGHT = {"tolerance": 1e-9, "max_iterations": 10_000}
TEMPLATES = "U:%x[0,0]\nU:%x[-1,0]\nU:%x[0,1]\nU:%x[-1,1]/%x[0,1]\nU:%m[0,0,\"..$\"]\nB\nB:%x[0,1]\n"
LISTS = ("node_ptr", "node_label", "pair_ptr", "pair_code", "transition_code", "trigram_code")


def sentences(n, seed=0):
    """Return made-up sentences with spans, as text."""
    rng, out = random.Random(seed), []
    for _ in range(n):
        lines, inside = [], False
        for _ in range(rng.randrange(1, 9)):
            tag = rng.choice("NVDA")
            label = ("I-x" if inside else "B-x") if tag in "DN" and rng.random() < 0.9 else "O"
            inside = label != "O"
            lines.append(f"{tag.lower()}{int(abs(rng.gauss(0, 20)))} {tag} {label}")
        out.append("\n".join(lines) + "\n")
    return out


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Labelled sentences in three files and in one, of which one part alone has a label and some words."""
    folder = tmp_path_factory.mktemp("sentences")
    found = [*sentences(260), "odd N B-y\nones N I-y\n", *sentences(90, seed=1)]
    (folder / "all.txt").write_text("\n".join(found), encoding="utf-8")
    for k, cut in enumerate((slice(0, 100), slice(100, 280), slice(280, None))):
        (folder / f"part{k}.txt").write_text("\n".join(found[cut]), encoding="utf-8")
    return folder


def check_same(model, local):
    assert model.classes_ == local.classes_
    assert (model.scheme_, model.n_illegal_) == (local.scheme_, local.n_illegal_)
    assert model.reader_.featuriser.names() == local.reader_.featuriser.names()
    for name in LISTS:
        np.testing.assert_array_equal(getattr(model.features_, name), getattr(local.features_, name), name)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
    np.testing.assert_allclose(model.weights_, local.weights_, atol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"min_count": 3, "scheme": "iobes"},
        {"hash_bits": 9, "penalty": "elastic_net"},
        {"estimator": "memm", "features": "all"},
        {"estimator": "pseudolikelihood", "transitions": "all", "order": 2},
    ],
    ids=str,
)
def test_features_and_optimum_are_those_of_one_process(client, texts, tmp_path, settings):
    settings = {"templates": TEMPLATES, **TIGHT, **settings}
    local, read = train_on_file(str(texts / "all.txt"), settings)
    model = DaskTagger(client=client, **settings).fit(texts / "part*.txt")
    check_same(model, local)
    assert (model.n_sequences_, model.n_tokens_) == (len(read), read.n_tokens)
    first = model.weights_.tobytes()
    assert model.fit(texts / "part*.txt").weights_.tobytes() == first  # the same bits in every run
    model.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert type(again) is type(model.to_local()) is Tagger
    assert again.predict(read.X) == model.predict(read.X)


def test_one_file_is_cut_between_sentences(client, tmp_path):
    """The file has comments, tabs, Windows line ends and a last sentence without an end."""
    found = sentences(6000)
    text = "# first\n" + "\n".join(found).replace("\n", "\r\n").replace(" ", "\t").rstrip()
    (tmp_path / "all.txt").write_bytes(text.encode())
    settings = {"templates": "U:%x[0,0]\nB\n", **TIGHT}
    local, _ = train_on_file(str(tmp_path / "all.txt"), settings, comments=True)
    model = DaskTagger(client=client, **settings).fit(tmp_path / "all.txt", comments=True)
    assert model.n_sequences_ == 6000
    check_same(model, local)


def test_attributes_of_files_and_bags(client, tmp_path, bag):
    rng = random.Random(2)
    X = [[{"w": f"w{rng.randrange(30)}", "x": rng.random()} for _ in range(rng.randrange(1, 6))] for _ in range(90)]
    y = [["a" if token["x"] > 0.5 else rng.choice("bc") for token in sentence] for sentence in X]
    y[70] = [None] * len(y[70])  # unknown labels
    y[80] = [{"a", "b"}] * len(y[80])
    local = Tagger(**TIGHT).fit(X, y)
    cuts = (slice(0, 0), slice(0, 40), slice(40, 90))  # the first partition is empty
    model = DaskTagger(client=client, **TIGHT).fit(bag(*(X[c] for c in cuts)), bag(*(y[c] for c in cuts)))
    check_same(model, local)
    lines = ["".join(f"{label}\tw={token['w']}\tx:{token['x']}\n" for token, label in zip(a, b) if label == "a")
             for a, b in zip(X, y)]  # fmt: skip
    (tmp_path / "a.crfsuite").write_text("\n".join(lines[:50]) + "b\tq\n", encoding="utf-8")
    (tmp_path / "b.crfsuite").write_text("\n".join(lines[50:]), encoding="utf-8")
    (tmp_path / "c.crfsuite").write_text("\n\n", encoding="utf-8")
    both = tmp_path / "both.crfsuite"
    both.write_bytes(read_bytes(tmp_path / "a.crfsuite") + b"\n" + read_bytes(tmp_path / "b.crfsuite"))
    local, _ = train_on_file(str(both), TIGHT, format="crfsuite")
    check_same(DaskTagger(client=client, **TIGHT).fit(tmp_path / "?.crfsuite", format="crfsuite"), local)


def test_a_killed_worker_is_replaced_and_the_optimum_stays(client, texts, caplog):
    """It is killed (SIGKILL) while parts that are restricted are trained."""
    settings = {"templates": TEMPLATES, "penalty": "elastic_net", "solver": "working_set", **TIGHT}
    local, _ = train_on_file(str(texts / "all.txt"), settings)
    with killed(client, 0.6, caplog, slice(1)):
        check_same(DaskTagger(client=client, **settings).fit(texts / "part*.txt"), local)


def test_tuning_a_checkpoint_and_a_warning(client, texts, tmp_path):
    X, y = [[("n1", "N"), ("v2", "V")]] * 5, [["B-x", "O"]] * 5
    read = {"templates": TEMPLATES, "verbose": 0}
    held_out = train_on_file(str(texts / "part2.txt"), read)[1]
    pair = held_out.X, held_out.labels
    local, _ = train_on_file(str(texts / "all.txt"), {**read, "tune": [4.0, 1.0]}, validation=str(texts / "part2.txt"))
    model = DaskTagger(client=client, tune=[4.0, 1.0], **read).fit(texts / "part*.txt", validation=pair)
    assert model.strength_ == local.strength_
    assert [row["chosen"] for row in model.tuning_] == [row["chosen"] for row in local.tuning_]
    assert model.validation_score_ == pytest.approx(local.validation_score_, abs=2e-3)
    checkpoint = tmp_path / "c"
    with pytest.warns(Warning, match="stopped before the optimum"):
        DaskTagger(client=client, checkpoint=checkpoint, max_iterations=5, **read).fit(texts / "part*.txt")
    resumed = DaskTagger(client=client, checkpoint=checkpoint, max_iterations=500, **read)
    resumed.fit(texts / "all.txt")  # the same problem, in other parts
    whole = DaskTagger(client=client, **read).fit(texts / "all.txt")
    assert resumed.objective_ == pytest.approx(whole.objective_, rel=1e-3)
    assert resumed.history_.objective[0] < 0.9 * whole.history_.objective[0]
    with pytest.raises(LoglinearError, match="a checkpoint of another problem"):
        DaskTagger(client=client, checkpoint=checkpoint, **read).fit(texts / "part0.txt")
    assert resumed.predict(X) == y


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "hmm"}, "'hmm' is no sum over sentences"),
        ({"estimator": "m-estimation"}, "'m-estimation' is no sum over sentences"),
        ({"oov": True}, "oov is for training in one process"),
        ({"max_features": 5}, "max_features is for training in one process"),
        ({"initialise": "m-estimation"}, "initialise is for training in one process"),
        ({"warm_start": True}, "warm_start is for training in one process"),
        ({"solver": "stochastic"}, "needs the power Stochastic"),
    ],
)
def test_settings_that_cannot_be_spread_are_refused(client, texts, settings, message):
    with pytest.raises(IncompatibleError, match=message):
        DaskTagger(client=client, **{"templates": TEMPLATES, **settings}).fit(texts / "part0.txt")


def test_parts_that_do_not_fit_each_other_are_refused(client, tmp_path, bag):
    (tmp_path / "a.txt").write_text("w x L\n\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("w x y L\n\n", encoding="utf-8")
    (tmp_path / "c.txt").write_text("w x L\n\nw L\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    model = DaskTagger(templates="U:%x[0,0]\nB\n", client=client)
    with pytest.raises(LoglinearError, match=r"b\.txt.*3 columns besides the label, and not 2 as .*a\.txt"):
        model.fit([tmp_path / "a.txt", tmp_path / "b.txt"])
    with pytest.raises(LoglinearError, match=r"c\.txt:3"):
        model.fit([tmp_path / "a.txt", tmp_path / "c.txt"])
    with pytest.raises(ValueError, match="no tokens to learn from"):
        model.fit(tmp_path / "empty.txt")
    tokens = [("w", "x")]
    with pytest.raises(ValueError, match="partition 1: there are 1 columns besides the label, and not 2"):
        model.fit(bag([tokens], [[("w",)]]), bag([["L"]], [["L"]]))
    with pytest.raises(TypeError, match="labels must be of one type"):
        model.fit(bag([tokens], [tokens]), bag([["L"]], [[1]]))
    with pytest.raises(ValueError, match="sequence 0 has 1 tokens but 2 labels"):
        model.fit(bag([tokens]), bag([["L", "L"]]))
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"words": ["a b"], "labels": ["x y"]}), npartitions=1)
    with pytest.raises(TypeError, match="a data frame of the columns 'words', 'labels': give Dask bags"):
        model.fit(frame, frame.labels)
    with pytest.raises(ValueError, match="files have their labels in them"):
        model.fit(tmp_path / "a.txt", [["L"]])
    with pytest.raises(LoglinearError, match="held-out sequences have 1 columns"):
        model.fit(tmp_path / "a.txt", validation=(Columns.from_lists([[("w",)]]), [["L"]]))


def test_a_damaged_line_is_named_by_its_place_in_the_whole_file(client, tmp_path):
    lines = "\n".join(sentences(6000)).split("\n")
    lines[20001] = "one-column"
    (tmp_path / "bad.txt").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(LoglinearError, match=r"bad\.txt:20002"):
        DaskTagger(templates="U:%x[0,0]\nB\n", client=client).fit(tmp_path / "bad.txt")


def test_the_command_trains_on_processes_of_this_machine(texts, tmp_path):
    (tmp_path / "t").write_text(TEMPLATES, encoding="utf-8")
    command = [sys.executable, "-m", "loglinear", "tag", "train", texts / "part*.txt", "-o", tmp_path / "m.ll",
               "--templates", tmp_path / "t", "--workers", "2", "--dev", texts / "part0.txt", "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    local, read = train_on_file(str(texts / "all.txt"), {"templates": TEMPLATES})
    assert (told["sequences"], told["tokens"], told["labels"]) == (len(read), read.n_tokens, 5)
    assert told["objective"] == pytest.approx(local.objective_, rel=1e-3)
    assert 0.5 < told["dev_score"] <= 1
    assert load(tmp_path / "m.ll").weights_.size == local.weights_.size


def test_commands_that_cannot_be_followed_are_refused(texts, tmp_path):
    command = [sys.executable, "-m", "loglinear", "tag", "train", texts / "part0.txt", "-o", tmp_path / "m.ll",
               "--templates", "pos", "--workers", "2"]  # fmt: skip
    for options, message in ((["--from", "x.ll"], "--from"), (["--unlabelled", "x"], "--unlabelled")):
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode != 0
        assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "m.ll").exists()


def test_lists_are_those_of_chain_features():
    assert set(LISTS) < set(ChainFeatures.__dataclass_fields__)
