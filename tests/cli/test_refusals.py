"""What a user can do wrong gives one sentence on stderr and exit code 2, and costs no file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import invoke, refusal, run

from loglinear import load

TWO = b"a\tone two\nb\tthree\n"
BAD = {
    "empty": (b"", "tsv", "holds no examples"),
    "empty svmlight": (b"# nothing\n", "svmlight", "holds no examples"),
    "one class": (b"a\tx y\na\tz\n", "tsv", "every example is 'a'"),
    "latin-1": (
        b"a\tcaf\xe9\n",
        "tsv",
        "byte 0xe9 at offset 5 of the line is not valid utf-8; name the right encoding with --encoding",
    ),
    "10 MB without a tab": (b"word " * 2_000_000, "tsv", ":1: the line has no TAB"),
    "negative index": (b"1 -1:1\n", "svmlight", ":1: negative index"),
    "unsorted": (b"1 1:1\n1 3:1 2:1\n", "svmlight", ":2: index 2 follows 3"),
    "nan": (b"1 1:nan\n", "svmlight", "not a finite number"),
    "nan in json": (b'{"label": "a", "features": {"x": NaN}}', "jsonl", "NaN is not a finite number"),
    "tsv as svmlight": (TWO, "svmlight", ":1: expected index:value, found 'one'"),
    "tsv as jsonl": (TWO, "jsonl", ":1: bad JSON"),
    "svmlight as tsv": (b"1 1:1\n", "tsv", "no TAB"),
    "no words": (b"a\t.\nb\t!\n", "tsv", "no features at all"),
    "damaged gzip": (b"\x1f\x8b\x08\x00abc", "tsv", "damaged gzip"),
    "unknown format": (TWO, "arff", "unknown format 'arff' (known: jsonl, svmlight, tsv)"),
    "no format": (TWO, None, "name it with --format"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, tmp_path: Path) -> None:
    data, format, message = BAD[name]
    args = () if format is None else ("--format", format)
    done = invoke("classify", "train", "-", "-o", tmp_path / "m.ll", *args, stdin=data)
    assert done.exit_code == 2
    assert message in refusal(done)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--penalty", "l3"), "unknown penalty 'l3'"),
        (("--solver", "lbgfs"), "did you mean 'lbfgs'?"),
        (("--solver", "newton", "--penalty", "l1"), "newton"),
        (("--strength", "-1"), "strength must be a number, not negative"),
        (("--threads", "0"), "n_threads must be a positive integer"),
        (("--ngrams", "1,x"), "--ngrams takes whole numbers"),
        (("--ngrams", "0"), "ngrams must be"),
        (("--tolerance", "-1"), "tolerances must not be negative"),
        (("--encoding", "klingon"), "unknown encoding 'klingon'"),
        (("--dev", "/no/such/file"), "/no/such/file"),
        (("--tune",), "--tune chooses on held-out data: give them with --dev FILE"),
        (("--tune", "cv", "--penalty", "none"), "tune chooses the strength of a penalty"),
        (("--checkpoint", "/no/such/folder/c"), "/no/such/folder/c: cannot be written: there is no folder"),
    ],
)
def test_bad_settings(folder: Path, tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    done = invoke("classify", "train", folder / "train.tsv", "-o", tmp_path / "m.ll", *args)
    assert done.exit_code == 2
    assert message in refusal(done)


def test_a_label_of_the_validation_file_never_seen(folder: Path, tmp_path: Path) -> None:
    valid = tmp_path / "v.tsv"
    valid.write_text("curses\tdraw\n")
    done = invoke("classify", "train", folder / "train.tsv", "-o", tmp_path / "m.ll", "--tune", "--dev", valid)
    assert "label 'curses' (example 0) was not seen in training" in refusal(done)


def test_a_real_run_shows_no_traceback_unless_asked() -> None:
    done = run("classify", "train", "/no/such/file.tsv", "-o", "/tmp/never.ll")
    assert done.returncode == 2
    assert refusal(done) == "error: /no/such/file.tsv: no such file or folder"
    done = run("classify", "train", "/no/such/file.tsv", "-o", "/tmp/never.ll", LOGLINEAR_DEBUG="1")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_examples_of_another_kind(folder: Path) -> None:
    done = invoke("classify", "eval", folder / "text.ll", folder / "test.svm")
    assert done.exit_code == 2
    assert "the model was trained on text" in refusal(done)
    assert "but this is numbered features" in done.stderr
    line = '{"label": "a", "features": {"x": 1}}\n'
    done = invoke("classify", "predict", folder / "text.ll", "-", "--format", "jsonl", stdin=line)
    assert "but this is named features" in refusal(done)
    done = invoke("classify", "eval", folder / "numbers.ll", folder / "test.tsv")
    assert "the model was trained on numbered features" in refusal(done)


def test_outputs_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    data = folder / "train.tsv"
    assert "there is no folder" in refusal(invoke("classify", "train", data, "-o", tmp_path / "no" / "m.ll"))
    assert "it is a folder" in refusal(invoke("classify", "train", data, "-o", tmp_path))
    old = tmp_path / "old.ll"
    old.write_bytes(b"precious")
    old.chmod(0o444)
    assert "read-only" in refusal(invoke("classify", "train", data, "-o", old))
    assert old.read_bytes() == b"precious"
    old.chmod(0o644)
    assert invoke("classify", "train", data, "-o", old, "--strength", "-1").exit_code == 2
    assert old.read_bytes() == b"precious"
    assert "there is no folder" in refusal(invoke("inspect", folder / "text.ll", "--html", tmp_path / "no" / "x.html"))
    assert "there is no folder" in refusal(invoke("demo", "--quick", "-o", tmp_path / "no" / "x.html"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
def test_a_full_disk(folder: Path) -> None:
    done = run("classify", "train", folder / "train.svm", "-o", "/dev/full")
    assert done.returncode == 2
    said, _, kept = refusal(done).partition("; the model is kept as ")
    assert said == "error: /dev/full: cannot be written: No space left on device"
    assert load(kept).classes_.size
    shutil.rmtree(Path(kept).parent)


def test_feature_numbers_past_the_limit(tmp_path: Path) -> None:
    data = tmp_path / "d.svm"
    data.write_text("1 1:1\n2 900000000000000:1\n")
    done = invoke("classify", "train", data, "-o", tmp_path / "m.ll")
    assert done.exit_code == 2
    assert "renumber or hash the features" in refusal(done)


def test_models_that_are_none(folder: Path, tmp_path: Path) -> None:
    for content, message in ((b"", "not a model file"), (b"hello" * 100, "not a model file")):
        path = tmp_path / "x.ll"
        path.write_bytes(content)
        for command in (
            ("inspect", path),
            ("classify", "predict", path),
            ("classify", "eval", path, folder / "test.tsv"),
        ):
            done = invoke(*command)
            assert done.exit_code == 2
            assert message in refusal(done)
    assert "no such file" in refusal(invoke("inspect", tmp_path / "none.ll"))
