"""--dev and --tune mean the same in every command that trains; their older forms work and name the new ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from candidate_problems import random_lists
from commands import figures, invoke, refusal

import loglinear
from loglinear.cli.tuning import spelt_out
from loglinear.formats.nbest import json_line

LISTS = random_lists(40, 3)
TEXTS = {
    "classify train": "spam\tcheap pills now\nham\tlunch at noon\nspam\tbuy pills\nham\tsee you at noon\n",
    "tag train": "the DT B\ndog NN I\nbarks VB O\n\na DT B\ncat NN I\n",
    "lm train": "the dog sees a cat\na cat sees the dog\nthe dog barks\n",
    "ime build": "A|x B|yz\nC|x B|yz\nA|x A|x\n",
    "rerank train": b"".join(map(json_line, LISTS)).decode(),
}
MORE = {
    "tag train": ("--templates", "hmm"),
    "lm train": ("--order", 2),
    "ime build": ("--estimator", "maxent"),
    "rerank train": ("--method", "maxent", "--min-count", 1),
}


def files(folder: Path, command: str) -> tuple[Path, Path, Path]:
    for name in ("train", "dev"):
        (folder / name).write_text(TEXTS[command], encoding="utf-8")
    return folder / "train", folder / "dev", folder / "m.ll"


@pytest.mark.parametrize("command", TEXTS)
def test_dev_scores_and_tune_chooses(command: str, tmp_path: Path) -> None:
    train, dev, output = files(tmp_path, command)
    args = (*command.split(), train, "-o", output, *MORE.get(command, ()), "--json")
    assert "dev_score" not in figures(invoke(*args))
    scored = invoke(*args, "--dev", dev)
    assert figures(scored)["dev_score"] == loglinear.load(output).validation_score_
    assert loglinear.load(output).tune is None
    tuned = invoke(*args, "--tune", "--dev", dev)
    assert "dev_score" in figures(tuned)
    assert loglinear.load(output).tune == "validation"
    people = invoke(*args[:-1], "--dev", dev)
    assert people.exit_code == 0, people.stderr
    assert " on dev" in people.stdout or command == "rerank train"
    assert "give them with --dev FILE" in refusal(invoke(*args, "--tune"))


@pytest.mark.parametrize("command", TEXTS)
def test_tune_with_a_file_is_tune_with_dev(command: str, tmp_path: Path) -> None:
    train, dev, output = files(tmp_path, command)
    args = (*command.split(), train, "-o", output, *MORE.get(command, ()), "--json")
    expected = figures(invoke(*args, "--tune", "--dev", dev))
    for old in (("--tune", dev), (f"--tune={dev}",)):
        done = invoke(*args, *old)
        assert done.stderr == f"warning: --tune {dev} is now --tune --dev {dev}\n"
        assert figures(done)["dev_score"] == expected["dev_score"]
        assert loglinear.load(output).tune == "validation"


@pytest.mark.parametrize("command", ["classify train", "tag train", "rerank train"])
def test_strengths_to_choose_from(command: str, tmp_path: Path) -> None:
    train, dev, output = files(tmp_path, command)
    args = (*command.split(), train, "-o", output, *MORE.get(command, ()), "--dev", dev, "--json")
    figures(invoke(*args, "--tune", "2,0.5"))
    assert loglinear.load(output).tune == [2.0, 0.5]
    if command == "rerank train":
        done = invoke(*args, "--strength", "2,0.5")
        assert done.stderr == "warning: --strength 2,0.5 is now --tune 2,0.5\n"
        assert loglinear.load(output).tune == [2.0, 0.5]


def test_older_forms_of_the_language_model(tmp_path: Path) -> None:
    train, dev, output = files(tmp_path, "lm train")
    done = invoke("lm", "train", train, "-o", output, "--order", 2, "--strength", "auto", "--dev", dev, "--json")
    assert done.stderr == "warning: --strength auto is now --tune\n"
    assert len(figures(done)["tuning"]) >= 1
    done = invoke("lm", "mix", output, output, "--tune", dev, "--json")
    assert done.stderr == f"warning: --tune {dev} is now --tune --dev {dev}\n"
    assert figures(done)["weights"] == figures(invoke("lm", "mix", output, output, "--dev", dev, "--json"))["weights"]
    assert "tune must be None or 'validation', not 'cv'" in refusal(
        invoke("lm", "train", train, "-o", output, "--tune", "cv", "--dev", dev)
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["d", "--tune", "--dev", "f"], ["d", "--tune=validation", "--dev", "f"]),
        (["--dev", "f", "--tune", "d"], ["--dev", "f", "--tune=validation", "d"]),
        (["--dev=f", "--tune", "-o", "m", "d"], ["--dev=f", "--tune=validation", "-o", "m", "d"]),
        (["d", "--tune", "cv"], ["d", "--tune=cv"]),
        (["d", "--tune", "1,2e-3", "--dev", "f"], ["d", "--tune=1,2e-3", "--dev", "f"]),
        (["d", "--tune"], ["d", "--tune=validation"]),
        (["d", "--tune", "-"], ["d", "--dev=-", "--tune=validation"]),
        (["d", "--tune=f"], ["d", "--dev=f", "--tune=validation"]),
        (["--", "--tune"], ["--", "--tune"]),
    ],
)
def test_tune_may_stand_alone(given: list[str], expected: list[str]) -> None:
    assert spelt_out(given) == expected
