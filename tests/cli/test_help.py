"""The help of every command: its panels, its examples, which run, and what unknown options are answered with."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import COMMAND, invoke, refusal
from typer.testing import CliRunner

from loglinear.cli.app import COMMANDS, app
from loglinear.cli.help import PANELS, Command, panel_of

SERVES = "loglinear serve"  # which goes on until it is stopped


def all_commands() -> dict[str, Command]:
    """Return every command by what is typed."""
    found: dict[str, Command] = {}
    for group in COMMANDS:
        made: Any = typer.main.get_command(importlib.import_module(f"loglinear.cli.{group}").app)
        inner = made.commands if hasattr(made, "commands") else {"": made}
        found |= {f"loglinear {group} {name}".strip(): command for name, command in inner.items()}
    return found


EVERY = all_commands()


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_two_examples_in_its_help(name: str) -> None:
    lines = EVERY[name].examples()
    shown = invoke(*name.split()[1:], "--help").stdout
    assert len(lines) == 2
    assert all(f"  {line}\n" in shown for line in lines)
    assert all(name in line for line in lines)
    assert shown.index("\nExamples:\n") > shown.index("--help")


def test_options_are_in_panels() -> None:
    names = [name for names in PANELS.values() for name in names]
    assert len(names) == len(set(names))
    options = [p for c in EVERY.values() for p in c.params if p.param_type_name == "option"]
    known = {max(p.opts, key=len).lstrip("-") for p in options}
    assert set(names) - known == {"help"}
    for name, command in EVERY.items():
        options = [p for p in command.params if p.param_type_name == "option"]
        if len(options) >= 9:  # and --help
            assert all(panel_of(max(p.opts, key=len).lstrip("-")) != "Options" for p in options), name
    shown = invoke("classify", "train", "--help").stdout
    places = [shown.index(f"\n{panel}:\n") for panel in PANELS]
    assert places == sorted(places)
    assert "\nOptions:\n" in invoke("lm", "score", "--help").stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name."""
    place = tmp_path_factory.mktemp("examples")
    reviews = "pos\ta good film\nneg\ta bad film\npos\tgood acting\nneg\tbad acting\n"
    columns = "the DT B-NP\ndog NN I-NP\nsees VBZ B-VP\n\na DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\n"
    new = "\n".join(" ".join(line.split()[:2]) for line in columns.splitlines()) + "\n"
    trees = "(S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (N cat))))\n(S (NP (D a) (N cat)) (VP (V sleeps)))\n"
    text = "the dog sees the cat\na cat sleeps\nthe dog sleeps\nthe cat sees a dog\n"
    wrong = [{"text": t, "scores": {"score": s}} for t, s in (("the dig", -1.0), ("the dog", -0.9), ("a dig", -2.0))]
    lists = "".join(json.dumps({"hypotheses": wrong, "reference": "the dog"}) + "\n" for _ in range(4))
    files = {
        "reviews.tsv": reviews, "dev.tsv": reviews, "train.conll": columns * 2, "dev.conll": columns, "new.conll": new,
        "trees.mrg": trees, "dev.mrg": trees, "news.txt": text * 3, "dev.txt": text, "new.txt": "the dog sleeps\n",
        "domain.txt": text, "digits.txt": "843 364\n", "readings.txt": "里|さと へ|へ 行く|いく\n",
        "lists.jsonl": lists, "dev.jsonl": lists,
    }  # fmt: skip
    for name, content in files.items():
        (place / name).write_text(content, encoding="utf-8")
    return place


def test_the_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after another, as commands of a session: later ones use the models of earlier ones."""
    monkeypatch.chdir(folder)
    order = sorted(EVERY, key=lambda name: name.split()[1] == "inspect")  # which describes the models of the others
    for name in order:
        for line in EVERY[name].examples():
            said, pipe, typed = line.rpartition(" | ")
            words = shlex.split(typed)
            assert words[0] == "loglinear"
            if name == SERVES or line == "loglinear demo":
                EVERY[name].make_context(name, words[2:])  # it parses
                continue
            text = shlex.split(said)[1] + "\n" if pipe else None
            done = CliRunner().invoke(app, words[1:], input=text)
            assert done.exit_code == 0, f"{line}\n{done.stderr}"
            assert done.stdout or "export" in line, line


HINTS = {
    "classify train r.tsv -o m.ll --C 1": ". Here, --strength S multiplies the penalty",
    "classify train r.tsv -o m.ll -C 1": ". Here, --strength S multiplies the penalty",
    "tag train r.conll -o m.ll --c2 1": "--strength S multiplies the penalty: 1/C of scikit-learn",
    "tag train r.conll -o m.ll --epochs 3": "--max-iterations N counts passes over the data",
    "classify train r.tsv -o m.ll --lr=0.1": "solvers find their own steps; --tolerance",
    "classify train r.tsv -o m.ll --max_iterations 3": "Did you mean --max-iterations?",
    "classify train r.tsv -o m.ll --n-jobs 3": "Here, --threads N.",
    "lm train t.txt -o m.ll --valid d.txt": "Here, --dev FILE is held-out data.",
    "lm train --text t.txt -o m.ll": "Files are given without an option:",
    "classify predict --model m.ll r.tsv": "classify predict MODEL DATA.",
    "classify train r.tsv -o m.ll --penalty L2": "'L2' is spelt l2.",
    "lm train t.txt -o m.ll --penalty lasso": "'lasso' is spelt l1.",
    "lm train t.txt -o m.ll --estimator KN": "'KN' is spelt kneser-ney.",
}


@pytest.mark.parametrize("typed", HINTS)
def test_errors_name_the_option_to_use(typed: str) -> None:
    done = invoke(*typed.split())
    assert done.exit_code == 2
    assert HINTS[typed] in done.stderr.splitlines()[-1]


def test_other_spellings_of_a_choice_still_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert invoke("classify", "train", "reviews.tsv", "-o", "m.ll", "--penalty", "elastic-net").exit_code == 0
    assert "did you mean 'lbfgs'" in refusal(invoke("classify", "train", "dev.tsv", "-o", "m.ll", "--solver", "LBFGS"))


def test_swapped_files_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert invoke("classify", "train", "reviews.tsv", "-o", "r.ll").exit_code == 0
    swapped = "r.ll is a model and dev.tsv is none: MODEL comes before DATA, so swap them"
    assert swapped in refusal(invoke("classify", "predict", "dev.tsv", "r.ll"))
    assert swapped in refusal(invoke("classify", "eval", "dev.tsv", "r.ll"))
    assert "r.ll: a model file, where TEST is wanted" in refusal(invoke("lm", "eval", "r.ll", "r.ll"))
    assert "r.ll: a model file, where CORPUS is wanted" in refusal(invoke("lm", "train", "r.ll", "-o", "x.ll"))
    assert "not a model file" in refusal(invoke("classify", "predict", "dev.tsv", "reviews.tsv"))


def completed(shell: str, words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return what the installed command answers to a shell that completes a line."""
    asked = {"_LOGLINEAR_COMPLETE": f"complete_{shell}", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")),
             "_TYPER_COMPLETE_ARGS": words, **environment}  # fmt: skip
    environment = {**os.environ, **asked}
    return subprocess.run([COMMAND], env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_shells_complete_commands_and_options() -> None:
    assert completed("bash", "loglinear cl").stdout.split() == ["classify", "cluster"]
    assert completed("bash", "loglinear classify t").stdout.split() == ["train"]
    assert completed("bash", "loglinear classify train --str").stdout.split() == ["--strength"]
    assert '"classify":"Train, evaluate and use' in completed("zsh", "loglinear cl").stdout
    script = completed("bash", "", _LOGLINEAR_COMPLETE="source_bash").stdout
    assert "complete -o default -F" in script


def test_completion_imports_nothing_heavy() -> None:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from loglinear.cli import main\n"
        "main()"
    )
    environment = {"_LOGLINEAR_COMPLETE": "complete_bash", "COMP_WORDS": "loglinear cl", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['loglinear']\n{code}"], env={**os.environ, **environment},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    modules = set(done.stderr.split())
    assert "classify" in done.stdout
    assert not modules & {"numpy", "rich", "scipy", "sklearn", "loglinear.cli.classify", "loglinear._core"}
