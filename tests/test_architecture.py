"""The promises of docs/architecture.md: its table of formulas names what exists, and the layout stays readable."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "src" / "loglinear", ROOT / "native"]
SUFFIXES = {".py", ".cc", ".hh", ".inc"}
MAX_ROOT_MODULES = 10
MAX_FILES = 22  # of one folder: about twenty
MAX_LINES = 450
REASON = "This file is long because"  # in the first lines of a longer file


# ---- the table of formulas -------------------------------------------------------------------------------------------
def rows():
    """Return the rows (formula, file, names of functions) of the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = re.search(r"^\| formula \| file \| function \|\n\|[-| ]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    assert table, "docs/architecture.md has no table | formula | file | function |"
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]
    return [(formula, file.strip("`"), re.findall(r"`([^`]+)`", names)) for formula, file, names in cells]


def python_names(text):
    """Return the names that Python code defines, those of methods behind the name of their class."""
    found = set()

    def visit(body, prefix):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse(text).body, "")
    return found


def cpp_defines(text, name):
    """Return whether C++ code defines or declares a function: a line that begins with its type and has its name."""
    function = rf"^ *(?!return\b|else\b|throw\b)[A-Za-z_][\w:<>,&*\[\] ]*[ *&](?:\w+::)*{name}\("
    return bool(re.search(rf"{function}|^ *(?:class|struct) {name}\b", text, re.MULTILINE))


def test_the_table_has_every_formula():
    assert len(rows()) >= 12


@pytest.mark.parametrize(("file", "names"), [row[1:] for row in rows()], ids=[row[0] for row in rows()])
def test_the_functions_of_the_table_exist(file, names):
    assert names, "the row names no function"
    text = (ROOT / file).read_text(encoding="utf-8")
    for name in names:
        assert name in python_names(text) if file.endswith(".py") else cpp_defines(text, name), f"{file} has no {name}"


def test_calls_are_told_from_definitions():
    for definition in ("double Path::step(int n) {", "template <class T>\n  std::vector<T>* step(\n", "struct step {"):
        assert cpp_defines(definition, "step")
    for call in ("  step(x);", "  return step(x);", "// void step(int)", "  x = step(3);", "  if (step(1))"):
        assert not cpp_defines(call, "step")


# ---- the layout ------------------------------------------------------------------------------------------------------
def source_files():
    return [path for root in SOURCES for path in sorted(root.rglob("*")) if path.suffix in SUFFIXES]


def test_few_modules_stand_at_the_root():
    modules = [path.name for path in SOURCES[0].glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MAX_ROOT_MODULES, modules


def test_folders_are_small():
    folders = [path.parent.relative_to(ROOT).as_posix() for path in source_files()]
    assert {folder: folders.count(folder) for folder in folders if folders.count(folder) > MAX_FILES} == {}


def test_long_files_give_their_reason():
    for path in source_files():
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES:
            assert REASON in " ".join(lines[:15]), f"{path} has {len(lines)} lines: split it or begin with {REASON!r} …"
