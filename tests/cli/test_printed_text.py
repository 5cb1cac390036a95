"""Text of strangers on a terminal: no control character of a label, a word, a file name or a message gets through."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from commands import COMMAND, invoke, run

from loglinear import LanguageModel, MaxentClassifier
from loglinear.cli import console
from loglinear.formats.text import printable

EVIL = "\x1b]0;title\x07\x9b31m\x7f"
TEXTS = [f"good{EVIL} film", "bad film", f"good{EVIL} plot", "bad plot"] * 3
LABELS = [f"pos{EVIL}", "neg"] * 6


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"folder{EVIL}")
    MaxentClassifier(strength=0.01, verbose=0).fit(TEXTS, LABELS).save(folder / "classifier.ll")
    LanguageModel(2, estimator="kneser-ney-single", verbose=0).fit(TEXTS).save(folder / "words.ll")
    (folder / "new.txt").write_text("\n".join(TEXTS[:4]) + "\n", "utf-8")
    (folder / "gold.tsv").write_text("".join(f"{y}\t{x}\n" for x, y in zip(TEXTS, reversed(LABELS))), "utf-8")
    (folder / f"broken{EVIL}.ll").write_bytes(b"no model")
    return folder


def on_a_terminal(*args: object) -> bytes:
    """Run a command whose output and errors are a terminal; return what it shows."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([COMMAND, *map(str, args)], stdout=follower, stderr=follower, stdin=subprocess.DEVNULL,
                               env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"})  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # the end of a terminal
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    process.wait(60)
    return shown.replace(b"\r\n", b"\n")


def control_characters(shown: str) -> set[str]:
    return {c for c in shown if (ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160}


COMMANDS = {
    "inspect": "inspect {}/classifier.ll",
    "words": "inspect {}/words.ll",
    "error": "inspect {}/broken" + EVIL + ".ll",
    "evaluate": "classify eval {}/classifier.ll {}/gold.tsv --errors 5",
    "predict": "classify predict {}/classifier.ll {}/new.txt",
    "generate": "lm generate {}/words.ll -n 20 --seed 1",
    "next": "lm next {}/words.ll good" + EVIL,
    "missing": "tag predict {}/nothing.ll",
}
FILES = (
    "tag predict {} {}", "tag eval {} {}", "tag train {} -o x.ll", "tag explain {} a", "parse predict {} {}",
    "parse train {} -o x.ll", "ime convert {} {}", "ime build {} -o x.ll", "rerank apply {} {}", "cluster {} -o x",
    "rerank train {} -o x.ll", "lm eval {} {}", "lm mix {} {} -o x.ll", "classify eval {} {}", "serve {}",
)  # fmt: skip
USAGE = ("classify train --no{} x", "lm train x -o y --order 3{}", "classify tr{}", "cl{}", "inspect a b{}")


@pytest.mark.parametrize("line", [*FILES, *USAGE])
def test_arguments_are_escaped_by_all_commands(line: str) -> None:
    done = invoke(*(word.replace("{}", f"missing{EVIL}") for word in line.split(" ")))
    assert done.exit_code == 2
    assert "\\x1b" in done.stderr
    assert control_characters(done.stdout + done.stderr) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_drives_the_terminal(name: str, place: Path) -> None:
    words = [word.replace("{}", str(place)) for word in COMMANDS[name].split(" ")]
    shown = on_a_terminal(*words).decode()
    assert shown.strip()
    assert control_characters(shown) == set()
    if name not in ("next", "missing"):
        assert "\\x1b" in shown or "\\x9b" in shown


@pytest.mark.parametrize("name", ["inspect", "words", "error", "evaluate", "missing"])
def test_reports_and_errors_are_escaped_everywhere(name: str, place: Path) -> None:
    words = [word.replace("{}", str(place)) for word in COMMANDS[name].split(" ")]
    done = invoke(*words)
    assert control_characters(done.stdout + done.stderr) == set()


def test_data_in_a_pipe_are_as_they_are(place: Path) -> None:
    done = run("lm", "generate", place / "words.ll", "-n", "20", "--seed", "1")
    assert EVIL in done.stdout


def test_pages_are_escaped(place: Path, tmp_path: Path) -> None:
    done = invoke("inspect", place / "classifier.ll", "--html", tmp_path / "page.html")
    assert done.exit_code == 0, done.stderr
    assert control_characters((tmp_path / "page.html").read_text("utf-8")) == set()


def test_printable() -> None:
    assert printable("a\tb\r\nc\rd\x1b\x00é\u200d\x85") == "a\tb\r\nc\\rd\\x1b\\x00é\u200d\\x85"


class Full:
    """A model that cannot be written to its place."""

    def __init__(self, error: BaseException, everywhere: bool = False) -> None:
        self.error, self.everywhere = error, everywhere

    def save(self, path: str) -> None:
        if self.everywhere or path == "m.ll":
            raise self.error
        Path(path).write_bytes(b"the model")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
def test_a_model_that_cannot_be_written_is_kept_elsewhere(error: BaseException) -> None:
    with pytest.raises(ValueError, match=r"^m\.ll: cannot be written: .*; the model is kept as .*/m\.ll; its") as told:
        console.save_model(Full(error), "m.ll", "c.ckpt")
    kept = Path(str(told.value).partition("kept as ")[2].partition(";")[0])
    assert kept.read_bytes() == b"the model"
    kept.unlink()
    kept.parent.rmdir()
    with pytest.raises(ValueError, match="nor can it be written"):
        console.save_model(Full(error, everywhere=True), "m.ll")
