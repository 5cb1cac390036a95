"""Ctrl-C ends a training early: the model trained so far is saved, and the exit code says that it was interrupted."""

from __future__ import annotations

import json
import os
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


ANY_MOMENT = """
import json, os, random, signal, sys, time, traceback
from loglinear import interrupts, load
from loglinear.cli.app import app
from loglinear.formats.class_file import read_classes

seed, n, output, *command = sys.argv[1:]
sys.argv = ["loglinear", *command]
interrupts.end_at_once()

def ended(delay):  # the command in a process of its own, which gets Ctrl-C: its exit code and its stderr
    said = os.open("said", os.O_CREAT | os.O_TRUNC | os.O_RDWR)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until it writes where it should
    child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1), os.dup2(said, 2)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            app()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGINT)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(said)
    with open("said", encoding="utf-8") as file:
        return code, file.read()

try:
    app()  # imports, once, what the processes would each import
except SystemExit:
    pass
began = time.monotonic()
assert ended(None)[0] == 0
seconds, rng = time.monotonic() - began, random.Random(seed)
for _ in range(int(n)):
    os.unlink(output)
    code, said = ended(rng.random() * seconds)
    if os.path.exists(output):
        load(output, verify=True) if output.endswith(".ll") else read_classes(output)
    print(json.dumps([code, said, sorted(os.listdir())]), file=sys.stderr)
    open(output, "a").close()
"""
TREES = "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))\n(S (NP (PRP she)) (VP (VBZ barks)))\n"
READINGS = "里|さと へ|へ 行く|いく\n\n里|さと と|と 佐藤|さとう\n佐藤|さとう へ|へ\n屁|へ\n"
LISTS = "".join(
    json.dumps({"id": str(i), "reference": "a b", "hypotheses": [
        {"text": text, "scores": {"score": score}} for text, score in (("a b", i % 3), ("a c", 1), ("b", 0.5 * i % 2))
    ]}) + "\n"
    for i in range(200)
)  # fmt: skip
MOMENTS = 10
COMMANDS = {
    "classify": (lines("\t"), "classify train data -o m.ll --format tsv --tolerance 1e-8"),
    "tag": (TRAININGS["tag"][0], "tag train data -o m.ll --format crfsuite"),
    "parse": (20 * TREES, "parse train data -o m.ll --min-word-count 1"),
    "ime": (30 * READINGS, "ime build data -o m.ll"),
    "rerank": (LISTS, "rerank train data -o m.ll --dev data --min-count 1"),
    "cluster": (lines(" "), "cluster data -k 5 -o classes.tsv"),
    "lm": (lines(" "), "lm train data -o m.ll --order 4 --checkpoint c"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_at_any_moment_is_one_line_and_leaves_whole_files(command: str, tmp_path: Path) -> None:
    data, options = COMMANDS[command]
    (tmp_path / "data").write_text(data, encoding="utf-8")
    output = "classes.tsv" if command == "cluster" else "m.ll"
    script = [sys.executable, "-W", "ignore", "-c", ANY_MOMENT, "1", str(MOMENTS), output, *options.split()]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(ends) == MOMENTS
    assert any(code == 130 for code, _, _ in ends)
    for code, said, files in ends:
        assert set(files) <= {"data", "said", output, "c"}
        assert "Traceback" not in said
        told = [line for line in said.splitlines() if not line.startswith("warning: ")]
        if f"{output} is saved" in told:  # Ctrl-C waited for it
            told.remove(f"{output} is saved")
        assert (code, len(told)) in ((130, 1), (0, 0)), said  # 0: it had ended before
        assert all(line.startswith("interrupted") for line in told)
        assert output in files or "is saved" not in said


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
