"""docs/words.md tells the truth: its tables are those of the signatures of models and of the options of commands."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
import typer

import loglinear

PAGE = (Path(__file__).parents[1] / "docs" / "words.md").read_text(encoding="utf-8")
COMMANDS = {
    "MaxentClassifier": "classify train", "Tagger": "tag train", "Parser": "parse train",
    "LanguageModel": "lm train", "InputMethod": "ime build", "Reranker": "rerank train",
}  # fmt: skip
SPELT = {"n_threads": "--threads", "random_state": "--seed", "validation": "--dev"}  # options with names of their own
# Options that are no setting of the model: how files are read, what is printed; and those that the page lists.
FILES = {"--output", "--json", "--format", "--encoding", "--label-column", "--comments", "--references",
         "--dev-references", "--costs", "--unlabelled"}  # fmt: skip


def table(header):
    """Return the rows of the table whose header begins so, as dicts."""
    lines = PAGE[PAGE.index(f"\n| {header} |") + 1 :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in lines]
    return [dict(zip(rows[0], cells)) for cells in rows[2:]]


def signature(model):
    """Return the names of a model's parameters and of those of its fit."""
    cls = getattr(loglinear, model)
    return {*inspect.signature(cls).parameters, *inspect.signature(cls.fit).parameters} - {"self", "X", "y"}


def options(command):
    """Return the options of a command."""
    group, name = command.split()
    found = typer.main.get_command(importlib.import_module(f"loglinear.cli.{group}").app).commands[name]
    return {option for parameter in found.params for option in parameter.opts if option.startswith("--")}


def option_of(name):
    return SPELT.get(name, "--" + name.replace("_", "-"))


def has(model, name):
    if name not in signature(model):
        return "–"
    return "both" if option_of(name) in options(COMMANDS[model]) else "Python"


SHARED = sorted({n for m in COMMANDS for n in signature(m) if sum(n in signature(other) for other in COMMANDS) > 1})


def test_every_word_that_models_share_is_in_the_table():
    assert sorted(row["word"].strip("`") for row in table("word | option")) == SHARED


@pytest.mark.parametrize("name", SHARED)
def test_the_table_says_which_models_and_commands_have_a_word(name):
    (row,) = [row for row in table("word | option") if row["word"] == f"`{name}`"]
    found = {model: has(model, name) for model in COMMANDS}
    assert {model: row[model] for model in COMMANDS} == found
    assert row["option"].strip("`") == (option_of(name) if "both" in found.values() else "")


@pytest.mark.parametrize("model", COMMANDS)
def test_every_option_of_training_is_a_setting_by_the_same_name_or_listed(model):
    listed = set(re.findall(r"`(--[\w-]+)[^`]*` is|`(--[\w-]+)`\s+its", PAGE))
    spelt_otherwise = {option for pair in listed for option in pair if option}
    assert spelt_otherwise == {"--signed", "--vocab", "--add-k", "--topics", "--keypad", "--from", "--lm",
                               "--cache-kind", "--cache-window", "--workers", "--cluster"}  # fmt: skip
    named = {option_of(name) for name in signature(model)}
    assert options(COMMANDS[model]) - named - FILES - spelt_otherwise == set()


@pytest.mark.parametrize("model", COMMANDS)
def test_every_model_does_what_the_table_says(model):
    cls = getattr(loglinear, model)
    for row in table("word | MaxentClassifier"):
        for name in re.findall(r"`(\w+)`", row["word"]):
            name = "top" if (model, name) == ("LanguageModel", "predict") else name
            assert callable(getattr(cls, name)), name
        for command in re.findall(r"`(\w+ \w+)`", row[model]):
            assert options(command)


def test_held_out_data_have_one_name_everywhere():
    for model, command in COMMANDS.items():
        assert "validation" in inspect.signature(getattr(loglinear, model).fit).parameters
        assert {"--dev", "--tune"} <= options(command)
    for command in ("ime adapt", "lm mix"):
        assert {"--dev", "--tune"} <= options(command)
