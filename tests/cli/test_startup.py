"""Using a trained model imports nothing heavy: every predicting command in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODELS = Path(__file__).parents[1] / "saved_models"
HEAVY = ("backports", "fsspec", "matplotlib", "pyarrow", "rich", "scipy", "sklearn")
LIST = {"hypotheses": [{"text": "the dog", "scores": {"score": -1.0}}, {"text": "a dog", "scores": {"score": -2.0}}]}
COMMANDS = {
    "classify predict": ("classifier.ll", "send a message\n"),
    "tag predict": ("tagger.ll", "x NAME a\n= OP =\n1 NUMBER 1\n"),
    "lm score": ("language_model.ll", "the value is\n"),
    "ime convert": ("input_method.ll", "843\n"),
    "rerank apply": ("reranker.ll", json.dumps(LIST) + "\n"),
}


def imported_by(*arguments: str, stdin: str = "") -> set[str]:
    """Run a command and return which of the modules that it may not need it has imported."""
    code = (
        "import sys\n"
        "from loglinear.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return {name.partition(".")[0] for name in done.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize("command", COMMANDS)
def test_prediction_imports_nothing_heavy(command: str) -> None:
    model, text = COMMANDS[command]
    assert not imported_by(*command.split(), str(MODELS / model), stdin=text).intersection(HEAVY)


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.glob("*.ll")))
def test_loading_a_model_imports_no_scikit_learn(name: str) -> None:
    code = "import sys, loglinear; loglinear.load(sys.argv[1]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, MODELS / name], capture_output=True, text=True, check=True)
    assert not {"sklearn", "scipy", "pandas"}.intersection(done.stdout.split())


def test_a_classifier_of_a_matrix_needs_no_scipy(tmp_path: Path) -> None:
    (tmp_path / "d.svm").write_text("3 0:1 4:2\n")
    loaded = imported_by("classify", "predict", str(MODELS / "classifier_of_a_matrix.ll"), str(tmp_path / "d.svm"))
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize("arguments", [("--help",), ("classify", "--help"), ("tag", "train", "--help"), ("--version",)])
def test_help_imports_less_still(arguments: tuple[str, ...]) -> None:
    assert not imported_by(*arguments).intersection((*HEAVY, "numpy"))


@pytest.mark.parametrize(
    "command",
    ["tag train --templates chunking", "lm train --order 2", "classify train --weighting log_tfidf",
     "classify train --tune cv"],
)
def test_training_imports_no_scikit_learn(command: str, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    lines = "yes\tthe dog\nno\ta cat\n" * 3 if command.startswith("classify") else (
        "the DT B-NP\ndog NN I-NP\n\na DT B-NP\ncat NN I-NP\n"
    )
    data.write_text(lines, encoding="utf-8")
    loaded = imported_by(*command.split(), str(data), "--output", str(tmp_path / "m.ll"))
    assert not loaded.intersection({"sklearn", "scipy", "pandas"})
