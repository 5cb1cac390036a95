"""The committed type stubs name everything the built extension has. Text is not compared: generators differ."""

import ast
from pathlib import Path

import loglinear
from loglinear import _core

STUB = Path(loglinear.__file__).with_name("_core.pyi")


def _public(names):
    return {name for name in names if not name.startswith("_")}


def _stub():
    """(public names of the stub, public members of each of its classes)."""
    names, members = set(), {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            members[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return _public(names), {name: _public(found) for name, found in members.items()}


def test_the_stub_has_every_name_of_the_extension_and_no_other():
    names, _ = _stub()
    assert names == _public(dir(_core)), "run `make stubs` and commit src/loglinear/_core.pyi"


def test_the_stub_has_every_method():
    _, members = _stub()
    for name, found in members.items():
        assert found == _public(vars(getattr(_core, name))), f"{name}: run `make stubs` and commit the result"
