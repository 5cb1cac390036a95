"""Tagging on the command line: training, scoring, predicting, and what a user can do wrong."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import COMMAND, heavy_imports, invoke, refusal, run

import loglinear
from loglinear import Tagger
from loglinear.features.schemes import convert
from loglinear.formats.conll import read_conll
from loglinear.metrics.span_f1 import span_scores
from loglinear.models.tagger.files import read_constraint, tag_file, tag_text
from loglinear.models.tagger.reading import Layout, blocks, layout_for, read_sequences

TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,1]\nU3:%x[0,1]\nB\n"


def sentences(n: int) -> list[list[tuple[str, str, str]]]:
    """Made-up phrases: a determiner may begin a phrase of nouns, verbs stand alone, names continue."""
    out = []
    for i in range(n):
        noun, verb = f"noun{i % 7}", f"verb{i % 5}"
        sentence = [("the", "D", "B-NP"), (noun, "N", "I-NP"), (verb, "V", "B-VP")]
        if i % 2:
            sentence += [("a", "D", "B-NP"), ("new", "A", "I-NP"), (f"noun{i % 3}", "N", "I-NP")]
        if i % 3 == 0:
            sentence = [("now", "R", "O"), *sentence]
        out.append([*sentence, (".", ".", "O")])
    return out


def conll(sequences: list[list[tuple[str, ...]]], columns: int = 3, separator: str = " ") -> str:
    return "".join("".join(separator.join(t[:columns]) + "\n" for t in s) + "\n" for s in sequences)


def crfsuite(sequences: list[list[tuple[str, ...]]]) -> str:
    return "".join("".join(f"{t[2]}\tw={t[0]}\tp={t[1]}:0.5\n" for t in s) + "\n" for s in sequences)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.conll, test.conll, new.conll (without labels), train.crf, templates, and models of both kinds."""
    root = tmp_path_factory.mktemp("tag")
    train, test = sentences(40), sentences(17)
    (root / "templates").write_text(TEMPLATES)
    (root / "train.conll").write_text(conll(train))
    (root / "test.conll").write_text(conll(test))
    (root / "new.conll").write_text(conll(test, 2))
    (root / "train.crf").write_text(crfsuite(train))
    args = ("--templates", root / "templates", "-o", root / "columns.ll", "--dev", root / "test.conll", "--json")
    done = invoke("tag", "train", root / "train.conll", *args)
    assert done.exit_code == 0, done.stderr
    (root / "training.json").write_text(done.stdout)
    done = invoke("tag", "train", root / "train.crf", "-o", root / "attributes.ll")
    assert done.exit_code == 0, done.stderr
    return root


# ---- training -------------------------------------------------------------------------------------------------------
def test_summary(place: Path) -> None:
    summary = json.loads((place / "training.json").read_text())
    assert summary["sequences"] == 40
    assert summary["tokens"] == sum(map(len, sentences(40)))
    assert summary["labels"] == 4
    assert summary["converged"]
    assert summary["dev_score"] == 1.0
    assert 0 < summary["nonzero_weights"] <= summary["weights"]
    model = loglinear.load(place / "columns.ll", verify=True)
    assert summary["strength"] == model.strength_ == 1.0
    assert model.reader_.n_columns == 2


@pytest.mark.parametrize("estimator", ["crf", "memm", "pseudolikelihood", "m-estimation", "hmm"])
def test_every_estimator_is_trained_and_used(place: Path, tmp_path: Path, estimator: str) -> None:
    model = tmp_path / "m.ll"
    args = ("--templates", place / "templates", "--estimator", estimator, "--strength", "0.1")
    done = invoke("tag", "train", place / "train.conll", "-o", model, *args)
    assert done.exit_code == 0, done.stderr
    assert f"estimator {estimator}" in " ".join(done.stdout.split())
    assert ("objective" in done.stdout) == (estimator != "hmm")
    scores = json.loads(invoke("tag", "eval", model, place / "test.conll", "--json").stdout)
    assert scores["f1"] > 0.9


def test_input_only_features_and_sampled_expectations(place: Path, tmp_path: Path) -> None:
    args = ("tag", "train", place / "train.conll", "-o", tmp_path / "m.ll", "--templates", place / "templates")
    options = ("--estimator", "m-estimation", "--input-only", "2", "--expectation", "sample", "--n-samples", "500")
    done = invoke(*args, *options, "--seed", "1", "--json")
    assert done.exit_code == 0, done.stderr
    model = loglinear.load(tmp_path / "m.ll")
    assert (model.input_only, model.expectation, model.n_samples) == (2, "sample", 500)
    assert model.input_only_.weights.size > 0
    assert invoke(*args, "--max-features", "10").exit_code == 0
    assert loglinear.load(tmp_path / "m.ll").features_.offsets[2] <= 10
    assert "begin every line with U" in refusal(invoke(*args, *options[:2], "--input-only", place / "templates"))
    assert "cancel in p(y | x)" in refusal(invoke(*args, "--input-only", "2"))


def test_scores_of_inputs(place: Path, tmp_path: Path) -> None:
    args = ("tag", "train", place / "train.conll", "-o", tmp_path / "m.ll", "--templates", place / "templates")
    assert invoke(*args, "--estimator", "m-estimation").exit_code == 0
    predict = ("tag", "predict", tmp_path / "m.ll", place / "test.conll", "--labelled", "--input-scores")
    lines = invoke(*predict).stdout.split()
    model, data = loglinear.load(tmp_path / "m.ll"), read_sequences(place / "test.conll")
    np.testing.assert_allclose([float(line) for line in lines], model.input_log_probability(data.X), atol=1e-5)
    objects = [json.loads(line) for line in invoke(*predict, "--json").stdout.splitlines()]
    assert [round(entry["input_log_probability"], 6) for entry in objects] == [float(line) for line in lines]
    assert objects[0]["labels"] == model.predict(data.X[:1])[0]
    assert "it goes only with --json" in refusal(invoke(*predict, "--nbest", "2"))
    assert invoke(*args).exit_code == 0
    assert "'crf' models labels given the input" in refusal(invoke(*predict))


def test_em_over_unlabelled_sequences(place: Path, tmp_path: Path) -> None:
    lines = [" ".join(line.split()[:2]) for line in (place / "test.conll").read_text().split("\n")]
    (tmp_path / "more.conll").write_text("\n".join(lines))
    args = ("tag", "train", place / "train.conll", "-o", tmp_path / "m.ll", "--estimator", "hmm")
    more = ("--unlabelled", tmp_path / "more.conll")
    done = invoke(*args, *more, "--em", "3", "--seed", "0", "--dev", place / "test.conll", "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [row["round"] for row in summary["em"]] == [0, 1, 2, 3]
    assert summary["dev_score"] == summary["em"][-1]["dev_score"] > 0.9
    for half in (more, ("--em", "3")):
        assert "give --unlabelled FILE and --em ROUNDS together" in refusal(invoke(*args, *half))
    assert "columns" in refusal(invoke(*args, "--unlabelled", place / "train.conll", "--em", "1"))


def test_tuning_and_continuing(place: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.ll", tmp_path / "2.ll"
    args = ("--templates", place / "templates", "--tune", "--dev", place / "test.conll", "--json", "--penalty", "l1")
    summary = json.loads(invoke("tag", "train", place / "train.conll", "-o", first, *args).stdout)
    assert summary["strength"] in [row["strength"] for row in summary["tuning"]]
    assert summary["dev_score"] == max(row["dev_score"] for row in summary["tuning"])
    assert "score on dev" in invoke("inspect", first).stdout
    table = invoke("tag", "train", place / "train.conll", "-o", first, *args[:5], *args[6:]).stdout
    assert all(name in table for name in ("Strengths tried", "score on dev", "weights kept", "* is the model"))
    more = tmp_path / "more.conll"
    more.write_text("alpha N B-NEW\n")
    done = invoke("tag", "train", more, "--from", first, "-o", second, "--strength", "0.5", "--json")
    assert done.exit_code == 0, done.stderr
    model = loglinear.load(second)
    assert "B-NEW" in model.classes_
    assert (model.penalty, model.strength, model.tune) == ("l1", 0.5, None)
    again = invoke("tag", "train", more, "--from", first, "-o", second, "--templates", "chunking")
    assert "its templates is" in refusal(again)


def test_held_out_sequences_are_looked_at_before_training(place: Path, tmp_path: Path) -> None:
    dev, model = tmp_path / "dev.conll", tmp_path / "m.ll"
    dev.write_text("the B-NP\n")
    args = ("tag", "train", place / "train.conll", "-o", model, "--templates", place / "templates", "--dev", dev)
    assert "dev.conll:1: found 2 columns" in refusal(invoke(*args))
    dev.write_text("the D OTHER\n")  # of no scheme: it must not cost the model
    done = invoke(*args, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["dev_score"] == 0.0
    assert model.exists()


def test_templates_are_listed(place: Path) -> None:
    done = invoke("tag", "train", "--templates", "list")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in ("chunking:", "sha-pereira:", "ner:", "pos:", "hmm:", "%x[0,0]"))
    assert "elastic_net" in invoke("tag", "train", "--penalty", "list").stdout
    assert "lbfgs" in invoke("tag", "train", "--solver", "list").stdout


def test_a_label_column_that_is_not_the_last(place: Path, tmp_path: Path) -> None:
    turned = tmp_path / "t.conll"
    turned.write_text(conll([[(label, word, tag) for word, tag, label in s] for s in sentences(40)]))
    args = ("--templates", place / "templates", "--label-column", 0)
    assert invoke("tag", "train", turned, "-o", tmp_path / "m.ll", *args).exit_code == 0
    done = invoke("tag", "predict", tmp_path / "m.ll", place / "new.conll")
    assert done.stdout == invoke("tag", "predict", place / "columns.ll", place / "new.conll").stdout
    scores = json.loads(invoke("tag", "eval", tmp_path / "m.ll", turned, "--label-column", 0, "--json").stdout)
    assert scores["accuracy"] == 1.0


def test_a_checkpoint_goes_when_training_is_done(place: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "c"
    args = ("tag", "train", place / "train.crf", "-o", tmp_path / "m.ll", "--checkpoint", checkpoint)
    assert invoke(*args, "--max-iterations", 2).exit_code == 0
    assert checkpoint.exists()
    assert invoke(*args).exit_code == 0
    assert not checkpoint.exists()


def test_using_a_model_imports_nothing_heavy(place: Path) -> None:
    model, new = place / "columns.ll", place / "new.conll"
    assert heavy_imports("tag", "predict", model, new) == []
    assert heavy_imports("tag", "predict", model, new, "--json", "--nbest", 2, "--marginals") == []
    assert heavy_imports("tag", "eval", model, place / "test.conll", "--json") == []


# ---- predicting -----------------------------------------------------------------------------------------------------
def test_predictions_are_the_model_s_and_the_input_comes_back(place: Path) -> None:
    done = invoke("tag", "predict", place / "columns.ll", place / "new.conll")
    model = loglinear.load(place / "columns.ll")
    X = [[t[:2] for t in s] for s in sentences(17)]
    expected = [[(*t, label) for t, label in zip(s, labels)] for s, labels in zip(X, model.predict(X))]
    assert done.stdout == conll(expected)
    again = invoke("tag", "predict", place / "columns.ll", place / "test.conll", "--labelled")
    assert [line.split()[-1] for line in again.stdout.splitlines() if line] == [t[-1] for s in expected for t in s]
    assert [line.split()[2] for line in again.stdout.splitlines() if line] == [t[2] for s in sentences(17) for t in s]


def test_tabs_standard_input_and_compression(place: Path, tmp_path: Path) -> None:
    text = conll(sentences(17), 2, "\t")
    expected = invoke("tag", "predict", place / "columns.ll", place / "new.conll").stdout.replace(" ", "\t")
    assert invoke("tag", "predict", place / "columns.ll", stdin=text).stdout == expected
    (tmp_path / "new.gz").write_bytes(gzip.compress(text.encode()))
    assert invoke("tag", "predict", place / "columns.ll", tmp_path / "new.gz").stdout == expected
    assert run("tag", "predict", place / "columns.ll", stdin=gzip.compress(text.encode())).stdout == expected
    assert invoke("tag", "predict", place / "columns.ll", stdin="").stdout == ""


@pytest.mark.parametrize("options", [{}, {"marginals": True}, {"nbest": 2}, {"as_json": True}])
def test_blocks_do_not_change_the_text(place: Path, options: dict) -> None:
    model = loglinear.load(place / "columns.ll")
    layout, source = layout_for(model, label_column=None), place / "new.conll"
    whole = b"".join(tag_file(model, source, layout, **options))
    assert tag_text(model, source.read_bytes(), **options) == whole
    pieces = list(tag_file(model, source, layout, block=100, **options))
    assert len(pieces) > 5
    assert b"".join(pieces) == whole


def test_lines_in_errors_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "d.conll"
    path.write_text("a b\n\n" * 50 + "a b\na\n")
    with pytest.raises(loglinear.FormatError, match=r"d\.conll:102: "):
        list(blocks(path, Layout("conll"), 40))


def test_n_best_and_marginals(place: Path) -> None:
    done = invoke("tag", "predict", place / "columns.ll", place / "new.conll", "--nbest", 3)
    first = done.stdout.split("\n\n")[:3]
    assert [block.split()[:2] for block in first] == [["#", "0"], ["#", "1"], ["#", "2"]]
    shares = [float(block.split()[2]) for block in first]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5
    assert len({block.split("\n", 1)[1] for block in first}) == 3
    marginal = invoke("tag", "predict", place / "columns.ll", place / "new.conll", "--marginals").stdout.split("\n")[0]
    label, share = marginal.split()[-1].rsplit("/", 1)
    assert label == "O"
    assert 0.5 < float(share) <= 1
    args = ("--nbest", 2, "--marginals", "--json")
    lines = invoke("tag", "predict", place / "columns.ll", place / "new.conll", *args).stdout.splitlines()
    entry = json.loads(lines[0])
    assert entry["labels"] == entry["nbest"][0]["labels"]
    assert sum(entry["marginals"][0].values()) == pytest.approx(1)
    assert len(lines) == 17


def test_probabilities_that_are_too_small_for_a_number(place: Path) -> None:
    long = "zebra\tN\n" * 5000
    args = ("tag", "predict", place / "columns.ll", "-", "--nbest", 1)
    shown = invoke(*args, stdin=long).stdout
    rank, probability = shown.split("\n")[0].split()[1:]
    assert rank == "0"
    assert float(probability) == 0  # in double precision
    digits, power = probability.split("e")
    assert 1 <= float(digits) < 10
    (line,) = invoke(*args, "--json", stdin=long).stdout.splitlines()
    log_p = json.loads(line)["nbest"][0]["log_probability"]
    assert log_p / math.log(10) == pytest.approx(math.log10(float(digits)) + int(power), abs=1e-4)


def test_attributes_give_labels_alone(place: Path) -> None:
    done = invoke("tag", "predict", place / "attributes.ll", place / "train.crf")
    expected = "".join("".join(t[2] + "\n" for t in s) + "\n" for s in sentences(40))
    assert done.stdout == expected
    assert "F1" in invoke("tag", "eval", place / "attributes.ll", place / "train.crf").stdout


def test_constraints(place: Path, tmp_path: Path) -> None:
    model, new = place / "columns.ll", place / "new.conll"
    forbidden = tmp_path / "forbidden"
    forbidden.write_text("B-NP I-NP\n\nO B-NP\n")
    labels = [
        [line.split()[-1] for line in block.splitlines()]
        for block in invoke("tag", "predict", model, new, "--constrain", forbidden).stdout.split("\n\n")
    ]
    pairs = {pair for sequence in labels for pair in itertools.pairwise(sequence)}
    assert not pairs & {("B-NP", "I-NP"), ("O", "B-NP")}
    for name in ("bio", "auto"):
        assert invoke("tag", "predict", model, new, "--constrain", name).exit_code == 0
    forbidden.write_text("B-NP\n")
    done = invoke("tag", "predict", model, new, "--constrain", forbidden)
    assert f"{forbidden}:1: expected two labels" in refusal(done)
    forbidden.write_text("B-NP I-XX\n")
    assert "no label 'I-XX' in the model" in refusal(invoke("tag", "predict", model, new, "--constrain", forbidden))
    assert "neither a label scheme" in refusal(invoke("tag", "predict", model, new, "--constrain", "bi0"))
    assert read_constraint(None) is None


def test_contradictory_constraints_name_the_token(place: Path, tmp_path: Path) -> None:
    forbidden = tmp_path / "forbidden"
    classes = loglinear.load(place / "columns.ll").classes_
    forbidden.write_text("".join(f"{a} {b}\n" for a in classes for b in classes))
    message = refusal(invoke("tag", "predict", place / "columns.ll", place / "new.conll", "--constrain", forbidden))
    assert "sequence 0" in message
    assert "token" in message


# ---- scoring --------------------------------------------------------------------------------------------------------
def test_scores_are_those_of_the_library(place: Path) -> None:
    scores = json.loads(invoke("tag", "eval", place / "columns.ll", place / "test.conll", "--json").stdout)
    test = read_sequences(place / "test.conll")
    expected = span_scores(test.labels, loglinear.load(place / "columns.ll").predict(test.X))
    assert scores["f1"] == expected.f1
    assert scores["unseen_labels"] == {}
    text = invoke("tag", "eval", place / "columns.ll", place / "test.conll", "--constrain", "bio").stdout
    assert all(word in text for word in ("accuracy", "precision", "recall", "F1", "NP", "VP", "(spurious)"))


def test_labels_only_in_the_test_data_are_errors_with_a_name(place: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.conll"
    data.write_text((place / "test.conll").read_text() + "odd X B-ODD\n")
    done = invoke("tag", "eval", place / "columns.ll", data)
    assert done.exit_code == 0, done.stderr
    assert "'B-ODD' (1)" in done.stderr
    assert "ODD" in done.stdout
    data.write_text("the D DT\n")
    scores = json.loads(invoke("tag", "eval", place / "columns.ll", data, "--json").stdout)
    assert scores["f1"] is None
    assert scores["accuracy"] == 0.0


def test_labels_of_no_scheme(place: Path, tmp_path: Path) -> None:
    data, model = tmp_path / "d.conll", tmp_path / "m.ll"
    data.write_text(conll([[(t[0], t[1], t[1]) for t in s] for s in sentences(20)]))
    assert invoke("tag", "train", data, "-o", model, "--templates", "pos", "--min-count", 2).exit_code == 0
    done = invoke("tag", "eval", model, data, "--constrain", "auto")
    assert "macro F1" in done.stdout
    assert "precision" in done.stdout
    assert "follow no scheme" in done.stderr


# ---- what can go wrong ----------------------------------------------------------------------------------------------
BAD = {
    "ragged": (b"a b O\na O\n", ":2: "),
    "empty": (b"", "there are no tokens"),
    "blank lines": (b"\n\n\n", "there are no tokens"),
    "label only": (b"O\nO\n", "one column only"),
    "missing column": (b"a O\nb O\n", "looks at column 1, but the data have 1"),
    "not utf-8": (b"caf\xe9 N O\n", ":1: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_columns(name: str, tmp_path: Path, place: Path) -> None:
    data, message = BAD[name]
    model = tmp_path / "m.ll"
    done = invoke("tag", "train", "-", "-o", model, "--templates", place / "templates", stdin=data)
    assert message in refusal(done)
    assert not model.exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--templates", "chunkin"), "no built-in set of templates (chunking"),
        (("--templates", "BROKEN"), "BROKEN:2: "),
        ((), "this looks like columns, which need templates"),
        (("--format", "conll"), "columns need templates: name a set (chunking"),
        (("--format", "arff"), "unknown format 'arff'; known: conll, crfsuite"),
        (("--estimator", "m-estimation"), "M-estimation needs templates"),
        (("--templates", "hmm", "--format", "crfsuite"), "read columns"),
        (("--templates", "hmm", "--estimator", "crff"), "estimator must be one of 'crf', 'memm'"),
        (("--templates", "hmm", "--order", "3"), "order must be one of"),
        (("--templates", "hmm", "--strength", "-1"), "strength must be a number of at least 0"),
        (("--templates", "hmm", "--penalty", "l3"), "unknown penalty 'l3'"),
        (("--templates", "hmm", "--label-column", "7"), "there is no column 7 for the label"),
        (("--templates", "hmm", "--tune"), "--tune chooses on held-out data: give them with --dev FILE"),
        (("--templates", "hmm", "--tune", "cv"), "tune must be None, 'validation' or a list of strengths, not 'cv'"),
        (("--templates", "hmm", "--dev", "/no/such/file"), "/no/such/file"),
        (("--from", "/no/such/model"), "/no/such/model: no such file"),
    ],
)
def test_bad_settings(place: Path, tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    broken = tmp_path / "BROKEN"
    broken.write_text("U0:%x[0,0]\nU1:%x[0\n")
    done = invoke(
        "tag", "train", place / "train.conll", "-o", tmp_path / "m.ll", *(broken if a == "BROKEN" else a for a in args)
    )
    assert message in refusal(done)
    assert not (tmp_path / "m.ll").exists()


def test_a_value_that_is_not_finite(tmp_path: Path) -> None:
    data = "O\ta:1\nB\ta:nan\n"
    done = invoke("tag", "train", "-", "-o", tmp_path / "m.ll", "--format", "crfsuite", stdin=data)
    assert "<stdin>:2: " in refusal(done)
    assert "--format crfsuite" in refusal(invoke("tag", "train", "-", "-o", tmp_path / "m.ll", stdin=data))


def test_illegal_labels_are_told_once_and_training_goes_on(place: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.conll"
    data.write_text(conll(sentences(5)) + "odd N O\nodd N I-NP\n\nodd V I-VP\n")
    done = invoke("tag", "train", data, "-o", tmp_path / "m.ll", "--templates", place / "templates")
    assert done.exit_code == 0
    assert done.stderr.count("are illegal in the scheme") == 1
    assert (tmp_path / "m.ll").exists()


def iob1(sequences: list[list[tuple[str, str, str]]]) -> list[list[tuple[str, str, str]]]:
    labels = convert([[label for *_, label in sequence] for sequence in sequences], "bio", "iob1")
    return [[(word, tag, y) for (word, tag, _), y in zip(s, row)] for s, row in zip(sequences, labels)]


def test_labels_in_iob1_are_known_as_such_and_constrained_to_it(place: Path, tmp_path: Path) -> None:
    data, model = tmp_path / "iob1.conll", tmp_path / "m.ll"
    data.write_text(conll(iob1(sentences(40))))
    done = invoke("tag", "train", data, "-o", model, "--templates", place / "templates")
    assert done.exit_code == 0
    assert "illegal" not in done.stderr
    assert "scheme            iob1\n" in done.stdout
    free, bound = (
        json.loads(invoke("tag", "eval", model, data, "--json", *more).stdout)
        for more in ((), ("--constrain", "auto"))
    )
    assert (free["scheme"], free["f1"], bound["scheme"], bound["f1"]) == ("iob1", 1.0, "iob1", 1.0)
    assert "spans              100 gold spans" in (shown := invoke("tag", "eval", model, data).stdout)
    assert "(iob1)" in shown
    assert json.loads(invoke("inspect", model, "--json").stdout)["scheme"] == "iob1"
    assert "Labels follow the scheme iob1." in invoke("inspect", model).stdout


def test_labels_are_converted_on_request(place: Path, tmp_path: Path) -> None:
    data, model = tmp_path / "iob1.conll", tmp_path / "m.ll"
    data.write_text(conll(iob1(sentences(40))))
    args = ("-o", model, "--templates", place / "templates", "--scheme", "iobes", "--dev", data)
    done = invoke("tag", "train", data, *args)
    assert "scheme            iobes, converted from iob1\n" in done.stdout
    summary = json.loads(invoke("tag", "train", data, *args, "--json").stdout)
    found = {name: summary[name] for name in ("scheme", "illegal_labels", "converted_from", "dev_score")}
    assert found == {"scheme": "iobes", "illegal_labels": 0, "converted_from": "iob1", "dev_score": 1.0}
    scores = json.loads(invoke("tag", "eval", model, data, "--json", "--constrain", "auto").stdout)
    assert (scores["scheme"], scores["f1"], scores["accuracy"], scores["unseen_labels"]) == ("iobes", 1.0, 1.0, {})
    assert scores["converted_from"] == "iob1"
    note = f"note: {data} has iob1 labels, which were converted to the model's scheme\n"
    assert invoke("tag", "eval", model, data).stderr == note
    assert invoke("tag", "predict", model, stdin="the D\nnoun1 N\n").stdout == "the D B-NP\nnoun1 N E-NP\n\n"
    refused = invoke("tag", "train", data, "-o", model, "--templates", place / "templates", "--scheme", "iob")
    assert "scheme must be one of None, 'bio', 'iob1', 'iobes', 'bilou', 'bmes', not 'iob'" in refusal(refused)


def test_auto_says_that_it_constrains_nothing_where_the_labels_break_their_scheme(place: Path, tmp_path: Path) -> None:
    data, model = tmp_path / "d.conll", tmp_path / "m.ll"
    data.write_text(conll(sentences(5)) + "odd N O\nodd N I-NP\n")
    done = invoke("tag", "train", data, "-o", model, "--templates", place / "templates")
    assert "scheme            bio (illegal labels: 1)\n" in done.stdout
    done = invoke("tag", "eval", model, data, "--constrain", "auto")
    assert done.stderr == "note: the labels of the training data break bio, their scheme, so nothing is constrained\n"


def test_one_label_only(place: Path, tmp_path: Path) -> None:
    data = "a N O\nb N O\n"
    args = ("-o", tmp_path / "m.ll", "--templates", place / "templates")
    done = invoke("tag", "train", "-", *args, stdin=data)
    assert done.exit_code == 0
    assert "every token has the label 'O'" in done.stderr
    assert invoke("tag", "predict", tmp_path / "m.ll", stdin="c N\n").stdout == "c N O\n\n"


def test_columns_that_are_not_the_model_s(place: Path) -> None:
    model = place / "columns.ll"
    message = refusal(invoke("tag", "predict", model, place / "test.conll"))
    assert "test.conll:1: found 3 columns, but there should be 2, as in training" in message
    assert "--labelled" in message
    assert "is the label missing?" in refusal(invoke("tag", "eval", model, place / "new.conll"))
    message = refusal(invoke("tag", "predict", model, stdin="a\nb\n"))
    assert "<stdin>:1: found 1 column, but the model reads columns 0, 1 (numbered from 0)" in message


@pytest.fixture(scope="module")
def words_only(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three columns whose templates look at the first only."""
    root = tmp_path_factory.mktemp("words")
    (root / "words").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    args = ("-o", root / "m.ll", "--templates", root / "words")
    assert invoke("tag", "train", place / "train.conll", *args).exit_code == 0
    return root / "m.ll"


def test_a_file_needs_only_the_columns_that_templates_name(place: Path, words_only: Path, tmp_path: Path) -> None:
    model = words_only
    whole = invoke("tag", "predict", model, stdin="the D\nnoun1 N\n\nnow R\n").stdout
    assert whole == "the D B-NP\nnoun1 N I-NP\n\nnow R O\n\n"
    assert invoke("tag", "predict", model, stdin="the\nnoun1\n\nnow\n").stdout == "the B-NP\nnoun1 I-NP\n\nnow O\n\n"
    labelled = invoke("tag", "predict", model, "--labelled", stdin="the B-NP\nnoun1 I-NP\n").stdout
    assert labelled == "the B-NP B-NP\nnoun1 I-NP I-NP\n\n"
    (tmp_path / "short.conll").write_text(conll([[(w, y) for w, _, y in s] for s in sentences(9)], 2))
    scores = json.loads(invoke("tag", "eval", model, tmp_path / "short.conll", "--json").stdout)
    assert (scores["n_tokens"], scores["f1"]) == (51, 1.0)
    # The second column of this file is none of the model's labels, so it has none.
    message = refusal(invoke("tag", "eval", model, place / "new.conll"))
    assert "new.conll:1: none of the values in its column -1 is a label of the model; is the label missing?" in message
    message = refusal(invoke("tag", "predict", model, place / "test.conll"))
    assert "found 3 columns, but there should be 2, as in training; if the last is the label" in message


def test_plain_text_is_split_into_tokens(words_only: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the noun1 verb2.\r\n\n \u00a0 \nnow the noun2\n", encoding="utf-8")
    expected = "the B-NP\nnoun1 I-NP\nverb2 B-VP\n. O\n\nnow O\nthe B-NP\nnoun2 I-NP\n\n"
    done = invoke("tag", "predict", words_only, text, "--text")
    assert (done.stdout, done.stderr) == (expected, "")
    assert invoke("tag", "predict", words_only, "--text", stdin=text.read_text()).stdout == expected
    lines = invoke("tag", "predict", words_only, text, "--text", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"tokens": ["the", "noun1", "verb2", "."], "labels": ["B-NP", "I-NP", "B-VP", "O"]},
        {"tokens": ["now", "the", "noun2"], "labels": ["O", "B-NP", "I-NP"]},
    ]
    best = invoke("tag", "predict", words_only, "--text", "--nbest", 1, stdin="now.\n").stdout
    assert re.fullmatch(r"# 0 0\.\d+\nnow O\n\. O\n\n", best)
    assert invoke("tag", "predict", words_only, "--text", stdin="").stdout == ""
    model = loglinear.load(words_only)
    layout = layout_for(model, "text", label_column=None)
    assert tag_text(model, text.read_bytes(), layout).decode() == expected
    assert b"".join(tag_file(model, text, layout, block=20)).decode() == expected
    text.write_bytes("the noun1 verb2.".encode("utf-16"))
    done = invoke("tag", "predict", words_only, text, "--text", "--encoding", "utf-16")
    assert done.stdout == "the B-NP\nnoun1 I-NP\nverb2 B-VP\n. O\n\n"


def test_text_that_a_model_cannot_read(place: Path, words_only: Path) -> None:
    message = refusal(invoke("tag", "predict", place / "columns.ll", "--text", stdin="the noun\n"))
    assert "plain text has one column, the words, but the model also reads column 1 (numbered from 0)" in message
    message = refusal(invoke("tag", "predict", place / "attributes.ll", "--text", stdin="the noun\n"))
    assert "the model was trained on crfsuite, so it cannot read the format 'text'" in message
    for option in ("--labelled", "--comments", "--format=conll"):
        message = refusal(invoke("tag", "predict", words_only, "--text", option, stdin="the noun\n"))
        assert "--text is a format of its own" in message
    bad = subprocess.run([COMMAND, "tag", "predict", words_only, "--text"], input=b"a\nb\n\xff\n", capture_output=True)
    assert b"<stdin>:3: byte 0xff" in bad.stderr
    refused = invoke("tag", "train", "-", "-o", "x.ll", "--format", "text", "--templates", "ner", stdin="a b\n")
    assert "plain text has no labels" in refusal(refused)


def test_columns_that_only_an_oov_map_reads_are_needed_too(place: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("U0:%x[0,0]\nB\n")
    args = ("-o", tmp_path / "m.ll", "--templates", tmp_path / "words", "--oov")
    assert invoke("tag", "train", place / "train.conll", *args).exit_code == 0
    message = refusal(invoke("tag", "predict", tmp_path / "m.ll", stdin="the\n"))
    assert "<stdin>:1: found 1 column, but the model reads columns 0, 1 (numbered from 0)" in message


def test_models_of_another_kind(folder: Path, place: Path) -> None:
    done = invoke("tag", "predict", folder / "text.ll", stdin="a b\n")
    assert "a classifier, not a tagger" in refusal(done)
    done = invoke("classify", "predict", place / "columns.ll", stdin="a\n")
    assert "a tagger, not a classifier; loglinear classify train makes one" in refusal(done)
    done = invoke("tag", "predict", place / "columns.ll", "--format", "crfsuite", stdin="a b\n")
    assert "the model was trained on conll" in refusal(done)


def test_a_reader_that_has_enough_ends_it_quietly(place: Path) -> None:
    command = [COMMAND, "tag", "predict", str(place / "columns.ll")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(conll(sentences(2000), 2).encode(), timeout=300)
    assert errors == b""
    assert process.returncode == 141


def test_description_of_a_tagger(place: Path, tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    done = invoke("inspect", place / "columns.ll", "--top", 2, "--html", page)
    assert done.exit_code == 0, done.stderr
    assert all(text in done.stdout for text in ("Transitions", "B-NP", "Strongest attributes", "U0:the"))
    assert "background: rgba(" in page.read_text()
    found = json.loads(invoke("inspect", place / "columns.ll", "--json", "--top", 2).stdout)
    assert found["kind"] == "tagger"
    assert found["scheme"] == "bio"
    assert found["labels"] == ["B-NP", "B-VP", "I-NP", "O"]
    sizes = [abs(step["weight"]) for step in found["transitions"]]
    assert sizes == sorted(sizes, reverse=True)
    assert ("B-NP", "I-NP") in [(step["from"], step["to"]) for step in found["transitions"]]
    assert all(len(features) <= 4 for features in found["top_features"].values())


def test_what_is_written_reads_back(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conll"
    out.write_text(invoke("tag", "predict", place / "columns.ll", place / "new.conll").stdout)
    read = read_conll(out)
    assert read.values(0) == [t[0] for s in sentences(17) for t in s]
    assert Tagger.from_pretrained(place / "columns.ll").warm_start


def test_blocks_of_comments_alone_and_of_another_encoding(place: Path) -> None:
    path = place / "commented.conll"
    path.write_text("# one\n\nzw\u00f6 A x\n\n#two\n# three\n\ndrei B y\n", "utf-16")
    layout = Layout("conll", "utf-16", comments=True)
    found = list(blocks(path, layout, 8))
    assert [block.labels.names for block in found] == [["x"], ["y"]]
    assert [list(block.X.vocabularies[0]) for block in found] == [["zw\u00f6"], ["drei"]]


@pytest.mark.parametrize(("options", "mark"), [((), "U2:_B+1"), (("--dialect", "wapiti"), "U2:_x+1")])
def test_rows_outside_are_marked_as_the_tool_marks_them(place, tmp_path, options, mark):
    args = ("--templates", place / "templates", "-o", tmp_path / "m.ll", "--min-feature-count", "2", *options)
    done = invoke("tag", "train", place / "train.conll", *args)
    assert done.exit_code == 0, done.stderr
    model = loglinear.load(tmp_path / "m.ll")
    assert mark in model.attribute_names()
    assert model.min_feature_count == 2


def test_marks_that_are_values_are_refused_for_joint_models(place):
    with pytest.raises(ValueError, match="dialect 'wapiti' has marks that are values, which a base distribution"):
        Tagger("m-estimation", TEMPLATES, dialect="wapiti").fit([[("a", "b")]], [["A"]])
