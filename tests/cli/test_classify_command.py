"""Train, evaluate, predict and inspect, as a user would."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
from pathlib import Path

import pytest
from commands import COMMAND, invoke, refusal, run


def test_a_real_run_from_training_to_inspection(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.ll"
    trained = run("classify", "train", folder / "train.tsv", "-o", model, "--ngrams", "1,2", "--penalty", "l1")
    assert trained.returncode == 0, trained.stderr
    for word in ("examples", "features", "classes", "solver", "objective", "the optimum", "non-zero", "accuracy"):
        assert word in trained.stdout
    assert trained.stderr == ""
    scored = invoke("classify", "eval", model, folder / "test.tsv", "--json")
    assert scored.exit_code == 0
    scores = json.loads(scored.stdout)
    assert scores["accuracy"] > 0.5
    assert scores["accuracy"] == scores["micro_f1"]
    assert sum(sum(row.values()) for row in scores["confusion"].values()) == scores["n_examples"]
    predicted = run("classify", "predict", model, "-", "--labelled", stdin=(folder / "test.tsv").read_bytes())
    assert predicted.returncode == 0
    truth = [line.split("\t")[0] for line in (folder / "test.tsv").read_text().splitlines()]
    right = sum(a == b for a, b in zip(predicted.stdout.splitlines(), truth))
    assert right / len(truth) == pytest.approx(scores["accuracy"])
    page = tmp_path / "m.html"
    seen = invoke("inspect", model, "--top", "3", "--html", page)
    assert seen.exit_code == 0
    assert "maxent-classifier" in seen.stdout
    assert "ok" in seen.stdout
    assert "<h1>" in page.read_text()


def test_training_reports_json_and_nothing_else_on_stdout(folder: Path, tmp_path: Path) -> None:
    done = invoke("classify", "train", folder / "train.tsv", "-o", tmp_path / "m.ll", "--json", "--max-iterations", 2)
    assert done.exit_code == 0
    summary = json.loads(done.stdout)
    assert summary["examples"] > 100
    assert summary["classes"] == 6
    assert not summary["converged"]
    assert done.stderr.startswith("warning: training stopped before the optimum")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("opener", [gzip.open, lzma.open])
def test_compressed_input_gives_the_same_model(folder: Path, tmp_path: Path, opener) -> None:
    packed = tmp_path / "packed"
    with opener(packed, "wb") as file:
        file.write((folder / "train.tsv").read_bytes())
    summaries = []
    for data in (folder / "train.tsv", packed):
        done = invoke("classify", "train", data, "-o", tmp_path / "m.ll", "--format", "tsv", "--json", "--threads", 1)
        assert done.exit_code == 0, done.stderr
        summaries.append(json.loads(done.stdout)["objective"])
    assert summaries[0] == summaries[1]


def test_training_from_standard_input(tmp_path: Path) -> None:
    lines = '{"label": "a", "features": {"x": 1}}\n{"label": "b", "features": {"y": "z"}}\n'
    done = invoke("classify", "train", "-", "-o", tmp_path / "m.ll", "--format", "jsonl", stdin=lines)
    assert done.exit_code == 0, done.stderr
    done = invoke("classify", "predict", tmp_path / "m.ll", "--json", "--proba", stdin=lines)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["label"] for row in rows] == ["a", "b"]
    assert sum(rows[0]["probabilities"].values()) == pytest.approx(1.0)


def test_tuning_on_a_file_and_by_cross_validation(folder: Path, tmp_path: Path) -> None:
    dev = ("--dev", folder / "test.tsv")
    for how in (("--tune", *dev), ("--tune", "cv"), (*dev, "--tune", "9,1")):
        args = (*how, "--json", "--max-iterations", 20, "--tolerance", 0.01)
        done = invoke("classify", "train", folder / "train.tsv", "-o", tmp_path / "m.ll", *args)
        assert done.exit_code == 0, done.stderr
        summary = json.loads(done.stdout)
        best = min(summary["tuning"], key=lambda row: row["dev_loss"])
        assert summary["strength"] == best["strength"]
        assert [row for row in summary["tuning"] if row["chosen"]] == [best]
        assert ("dev_score" in summary) == ("--dev" in how)
    assert [row["strength"] for row in summary["tuning"]] == [9, 1]
    args = (*dev, "--tune", "9,1", "--max-iterations", 20, "--tolerance", 0.01)
    table = invoke("classify", "train", folder / "train.tsv", "-o", tmp_path / "m.ll", *args).stdout
    assert all(name in table for name in ("Strengths tried", "loss on dev", "weights kept", "* is the model"))
    assert f"{best['strength']:.6g} *" in table
    assert f"{best['strength']:.6g} *" in invoke("inspect", tmp_path / "m.ll").stdout
    valid = tmp_path / "v.svm"
    valid.write_text("1 1:1 8:1\n-1 2:1\n")
    args = ("-o", tmp_path / "m.ll", "--tune", "--dev", valid)
    assert invoke("classify", "train", folder / "train.svm", *args).exit_code == 0


def test_lists_of_solvers_and_penalties_need_no_data() -> None:
    done = invoke("classify", "train", "--solver", "list")
    assert done.exit_code == 0
    assert {"auto", "lbfgs", "clustered"} <= {line.split()[0] for line in done.stdout.splitlines()}
    done = invoke("classify", "train", "--penalty", "list")
    assert done.exit_code == 0
    assert "elastic_net" in done.stdout


def test_numbered_features(folder: Path) -> None:
    """Spellings of a label agree, fewer features are fine, unknown ones are ignored and said once."""
    done = invoke("classify", "eval", folder / "numbers.ll", folder / "test.svm", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["accuracy"] == 1.0
    assert done.stderr == "note: features past the model's last (3) are ignored (values left out: 1)\n"
    done = invoke("classify", "predict", folder / "numbers.ll", "-", stdin="0 1:1\n0 2:1\n")
    assert done.stdout == "1\n-1\n"
    assert done.stderr == ""


LABELLED = "note: {}: the lines begin with classes of the model, which are taken for labels and ignored; --unlabelled"


def test_a_labelled_file_is_known_by_the_classes_its_lines_begin_with(folder: Path, tmp_path: Path) -> None:
    """The label is not read as text, where it would give the answer away."""
    data, model = folder / "test.tsv", folder / "text.ll"
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(line.split("\t", 1)[1] for line in data.read_text().splitlines(keepends=True)))
    expected = invoke("classify", "predict", model, texts)
    assert expected.stderr == ""
    found = invoke("classify", "predict", model, data)
    assert found.stdout == expected.stdout
    assert found.stderr.startswith(LABELLED.format(data))
    told = invoke("classify", "predict", model, data, "--labelled")
    assert (told.stdout, told.stderr) == (expected.stdout, "")
    streamed = invoke("classify", "predict", model, stdin=data.read_text())
    assert streamed.stdout == expected.stdout
    assert streamed.stderr.startswith(LABELLED.format("<stdin>"))
    as_text = invoke("classify", "predict", model, data, "--unlabelled")
    assert as_text.stderr == ""
    assert as_text.stdout != expected.stdout


def test_text_with_tabs_is_not_taken_for_labelled(folder: Path) -> None:
    model = folder / "text.ll"
    known = invoke("classify", "predict", model, stdin="email\tx\n").stderr
    assert known.startswith(LABELLED.format("<stdin>"))
    for text in ("email x\n", "emails\tx\n", "\temail\n", "", "\n\n", "a\tb\nemail\tx\nc\td\n"):
        assert invoke("classify", "predict", model, stdin=text).stderr == ""


def test_a_line_that_contradicts_is_refused_with_its_number(folder: Path) -> None:
    model = folder / "text.ll"
    for options in ((), ("--labelled",)):
        done = invoke("classify", "predict", model, *options, stdin="email\tsend it\nxml\tparse it\nno label\n")
        assert done.exit_code == 2
        assert "error: <stdin>:3: the line has no TAB; expected label TAB text" in done.stderr
    done = invoke("classify", "predict", model, "--labelled", stdin="plain text\n")
    assert refusal(done).startswith("error: <stdin>:1: the line has no TAB; expected label TAB text")


def test_labels_of_other_formats(folder: Path, tmp_path: Path) -> None:
    """jsonl has a key for labels, and svmlight a place: nothing is guessed."""
    with_label, without = '{"label": "email", "text": "parse it"}\n', '{"text": "parse it"}\n'
    model = folder / "text.ll"
    for options in ((), ("--unlabelled",)):
        both = invoke("classify", "predict", model, "--format", "jsonl", *options, stdin=with_label + without)
        assert (both.exit_code, both.stderr, len(set(both.stdout.split()))) == (0, "", 1)
    done = invoke("classify", "predict", model, "--format", "jsonl", "--labelled", stdin=with_label + without)
    assert "<stdin>:2: the object has no 'label'" in refusal(done)
    done = invoke("classify", "predict", folder / "numbers.ll", "--unlabelled", stdin="0 1:1\n")
    assert "lines of svmlight always begin with a label; write 0 where it is unknown" in refusal(done)


def test_labels_never_seen_are_errors_with_a_name(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.tsv"
    data.write_text((folder / "test.tsv").read_text() + "curses\tdraw a window on the terminal\n" * 2)
    done = invoke("classify", "eval", folder / "text.ll", data)
    assert done.exit_code == 0
    assert "'curses' (2)" in done.stderr
    row = next(line for line in done.stdout.splitlines() if "curses" in line)
    assert row.split()[-7:] == ["curses", "*", "0.0000", "0.0000", "0.0000", "2", "0"]
    assert "* never occurred in training, so it is never predicted" in " ".join(done.stdout.split())
    assert "*" not in invoke("classify", "eval", folder / "text.ll", folder / "test.tsv").stdout
    scores = json.loads(invoke("classify", "eval", folder / "text.ll", data, "--json").stdout)
    assert scores["unseen_labels"] == {"curses": 2}
    assert [row["label"] for row in scores["classes"] if not row["seen"]] == ["curses"]
    only = json.loads(invoke("classify", "eval", folder / "text.ll", "-", "--json", stdin="curses\tdraw\n").stdout)
    assert only["accuracy"] == 0.0
    assert only["log_loss"] is None


def test_predictions_of_plain_lines(folder: Path, tmp_path: Path) -> None:
    done = invoke("classify", "predict", folder / "text.ll", "--proba", stdin="parse a cookie header\n\nDOM element\n")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == 3
    assert lines[0][0] == "http"
    assert lines[2][0] == "xml"
    assert sum(float(cell.rsplit("=")[1]) for cell in lines[0][1:]) == pytest.approx(1.0, abs=1e-4)
    unknown = tmp_path / "lines"
    unknown.write_text("parse a cookie header\n")
    assert invoke("classify", "predict", folder / "text.ll", unknown).stdout == "http\n"
    assert invoke("classify", "predict", folder / "text.ll", stdin="").stdout == ""


def test_a_long_line_is_read(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "long.tsv"
    data.write_text("a\t" + "word " * 2_000_000 + "\nb\tother\n")
    done = invoke("classify", "train", data, "-o", tmp_path / "m.ll", "--max-iterations", 3)
    assert done.exit_code == 0, done.stderr


def test_a_checkpoint_goes_when_training_has_converged(folder: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "c.ckpt"
    args = ("classify", "train", folder / "train.tsv", "-o", tmp_path / "m.ll", "--checkpoint", checkpoint)
    assert invoke(*args, "--max-iterations", 2).exit_code == 0
    assert checkpoint.exists()
    assert invoke(*args).exit_code == 0
    assert not checkpoint.exists()


def test_a_reader_that_has_enough_ends_it_quietly(folder: Path) -> None:
    command = [COMMAND, "classify", "predict", str(folder / "text.ll"), "--proba"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(b"parse a cookie\n" * 2000, timeout=300)
    assert errors == b""
    assert process.returncode == 141
