"""Commands never overwrite what they read, and tell of outputs that cannot be written before they work."""

from __future__ import annotations

import os
import subprocess
import typing
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND, invoke, refusal, run
from typer.main import get_command

from loglinear.cli.app import COMMANDS, app
from loglinear.cli.outputs import Written

CONTENT = b"a\tprecious words\nb\tand others\n"
# The words of a command; IN is a file that it reads, OUT one that it writes.
OVERWRITING = [
    "classify train IN -o OUT",
    "classify train other -o OUT --dev IN",
    "classify train IN -o other --checkpoint OUT",
    "tag train IN -o OUT",
    "tag train other -o OUT --from IN",
    "tag train other -o OUT --unlabelled IN",
    "parse train IN -o OUT",
    "lm train other IN -o OUT",
    "lm train other -o OUT --vocab IN",
    "lm train other -o OUT --classes 20,IN",
    "lm train other -o OUT --base IN",
    "lm import IN -o OUT",
    "lm export IN OUT",
    "lm mix other IN -o OUT",
    "lm plan IN --sources words:2 --graph OUT",
    "ime build other -o OUT --dictionary IN",
    "ime adapt other IN -o OUT",
    "rerank train IN -o OUT",
    "rerank train other -o OUT --costs ac=IN",
    "cluster IN -o OUT",
    "cluster IN -o other --paths OUT",
    "inspect IN --html OUT",
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a file and other names of it."""
    for name in ("data.svg", "other"):
        (tmp_path / name).write_bytes(CONTENT)
    (tmp_path / "link.svg").symlink_to("data.svg")
    (tmp_path / "hard.svg").hardlink_to(tmp_path / "data.svg")
    return tmp_path


def words(command: str, place: Path, read: str, written: str) -> list[str]:
    names = {"IN": place / read, "OUT": place / written, "other": place / "other"}
    parts = [word.partition("IN") if word.endswith(("=IN", ",IN")) else (word, "", "") for word in command.split()]
    return [before + str(names["IN"]) if sign else str(names.get(before, before)) for before, sign, _ in parts]


@pytest.mark.parametrize("command", OVERWRITING)
def test_an_output_that_is_also_an_input_is_refused(command: str, place: Path) -> None:
    message = refusal(invoke(*words(command, place, "data.svg", "data.svg")))
    assert "reads the file" in message
    assert str(place / "data.svg") in message
    assert (place / "data.svg").read_bytes() == CONTENT


@pytest.mark.parametrize("names", [("data.svg", "link.svg"), ("link.svg", "data.svg"), ("data.svg", "hard.svg")])
def test_links_are_the_same_file(names: tuple[str, str], place: Path) -> None:
    message = refusal(invoke(*words("classify train IN -o OUT", place, *names)))
    assert f"{place / names[1]}: this command reads the file as {place / names[0]}" in message


def test_two_outputs_in_one_file_are_refused(place: Path) -> None:
    for command in ("classify train other -o OUT --checkpoint OUT", "cluster other -o OUT --paths OUT"):
        assert "another output of this command" in refusal(invoke(*words(command, place, "data.svg", "new.ll")))
        assert not (place / "new.ll").exists()


def test_files_of_a_folder_or_pattern_are_inputs_too(place: Path) -> None:
    (place / "lists").mkdir()
    (place / "lists" / "a.svg").write_bytes(CONTENT)
    assert "reads the file" in refusal(invoke("rerank", "train", place / "lists", "-o", place / "lists" / "a.svg"))
    assert "reads the file" in refusal(invoke("lm", "train", place / "dat*", "--workers", 2, "-o", place / "data.svg"))


def test_redirected_streams_are_files_too(place: Path) -> None:
    data = place / "data.svg"
    with data.open("rb") as stream:
        done = subprocess.run([COMMAND, "lm", "train", "-", "-o", data], stdin=stream, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"reads the file as <stdin>" in done.stderr
    with data.open("ab") as stream:
        command = [COMMAND, "lm", "score", place / "other", data]
        done = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"its output goes there" in done.stderr
    assert data.read_bytes() == CONTENT


def test_a_dash_is_refused(place: Path) -> None:
    assert "name a file" in refusal(invoke("cluster", place / "other", "-o", "-"))
    assert "name a file" in refusal(invoke("lm", "export", place / "other", "-"))


def test_outputs_that_no_system_can_write(place: Path) -> None:
    (place / "round").symlink_to("about")
    (place / "about").symlink_to("round")
    for output, message in (
        (place / "round", "Too many levels of symbolic links"),
        (place / ("x" * 300), "File name too long"),
        (place / "other" / "m.ll", "Not a directory"),
    ):
        assert message in refusal(invoke("classify", "train", place / "data.svg", "-o", output))


def test_names_as_long_as_the_system_takes_are_written(place: Path) -> None:
    output = place / ("語" * 85)
    done = invoke("classify", "train", place / "data.svg", "--format", "tsv", "-o", output)
    assert done.exit_code == 0, done.stderr
    assert output.stat().st_size > 100


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_folders_without_permission(place: Path) -> None:
    place.chmod(0o555)
    assert "Permission denied" in refusal(run("cluster", place / "other", "-o", place / "new"))


def commands(command: Any = None, name: str = "loglinear") -> list[tuple[str, Any]]:
    command = get_command(app) if command is None else command
    names = COMMANDS if name == "loglinear" else getattr(command, "commands", {})
    if not names:
        return [(name, command)]
    return [found for one in names for found in commands(command.get_command(None, one), f"{name} {one}")]


def test_every_output_of_every_command_is_marked() -> None:
    found = {}
    for name, command in commands():
        function = command.callback.__wrapped__
        hints = typing.get_type_hints(getattr(function, "__wrapped__", function), include_extras=True)
        for parameter in command.params:
            if {"-o", "--output"} & set(parameter.opts) or (parameter.help or "").startswith("Also write"):
                marks = getattr(hints[parameter.name], "__metadata__", ())
                found[name, parameter.name] = any(isinstance(mark, Written) for mark in marks)
    assert len(found) >= 12
    assert all(found.values()), found
