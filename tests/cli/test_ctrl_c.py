"""Ctrl-C ends a training early: the model trained so far is saved, and the exit code says that it was interrupted."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from children import stopped
from commands import COMMAND

import loglinear
from loglinear.cli import console


def lines(between: str, n: int = 300) -> str:
    """Return lines of a random label and three random words each: no weights fit them, so that training goes on."""
    rng = random.Random(0)
    rows = ([rng.choice("ab"), *(f"w{rng.randrange(30)}" for _ in range(3))] for _ in range(n))
    return "".join(between.join([row[0], " ".join(row[1:])]) + "\n" for row in rows)


FOREVER = ("--tolerance", "0", "--max-iterations", "999999999", "--verbose")
FISTA = ("--solver", "fista", "--penalty", "none")
TRAININGS = {
    "classify": (lines("\t"), ("--format", "tsv", *FISTA)),
    "tag": (lines("\t").replace("\n", "\n\n").replace(" ", "\t"), ("--format", "crfsuite", *FISTA)),
    "lm": (lines(" "), ("--penalty", "l2", "--strength", "1e-9", "--order", "8")),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("command", TRAININGS)
def test_ctrl_c_saves_the_model_trained_so_far(command: str, tmp_path: Path) -> None:
    text, options = TRAININGS[command]
    data, model = tmp_path / "data", tmp_path / "m.ll"
    data.write_text(text)
    done = stopped([COMMAND, command, "train", str(data), "-o", str(model), *options, *FOREVER], "step ")
    assert done.returncode == 130, done.stdout
    assert f"is saved in {model}" in done.stdout
    assert "Traceback" not in done.stdout
    assert loglinear.load(model, verify=True).status_ == "interrupted"


IMPORTING = """
import os, signal, sys
from loglinear.cli import main

class Interrupting:  # sends Ctrl-C when the n-th module is looked for
    left = int(sys.argv.pop(1))

    def find_spec(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("n", [1, 3, 40, 100, 170, 230, 290, 330])
def test_ctrl_c_during_imports_is_one_line(n: int, folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", IMPORTING, str(n), "classify", "train", folder / "train.tsv", "-o", tmp_path / "m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 130, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("interrupted")
    assert (tmp_path / "m").exists() == (f"is saved in {tmp_path / 'm'}" in done.stderr)


class Interrupted:
    """A model whose save is interrupted, once or twice."""

    def __init__(self, times: int) -> None:
        self.times = times

    def save(self, path: Path) -> None:
        for _ in range(self.times):
            signal.raise_signal(signal.SIGINT)
        path.write_bytes(b"the model")


@pytest.mark.parametrize("times", [1, 2])
def test_one_ctrl_c_waits_for_a_save(times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.ll"
    with pytest.raises(KeyboardInterrupt):
        console.save_model(Interrupted(times), path)  # type: ignore[arg-type]
    assert path.exists() == (times == 1)
    assert ("m.ll is saved" in capsys.readouterr().err) == (times == 1)
