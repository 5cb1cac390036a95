"""The committed type stubs are those of the built extension: `make stubs` would change nothing."""

import ast
import importlib.metadata
from pathlib import Path

import pytest

import loglinear
from loglinear import _core

STUB = Path(loglinear.__file__).with_name("_core.pyi")
# The version of nanobind that wrote the committed stubs. Others write types and docstrings in another way, so that only
# names, parameters and defaults can be compared.
GENERATOR = "3.1"
REMEDY = "run `make stubs` and commit src/loglinear/_core.pyi"

stubgen = pytest.importorskip("nanobind.stubgen", reason="nanobind, which writes the stubs, is not installed")


@pytest.fixture(scope="module")
def generated():
    """The text of the stubs of the built extension."""
    generator = stubgen.StubGen(_core)
    generator.put(_core)
    return generator.get()


def signatures(text):
    """Return the names, parameters and defaults of all functions and methods of a stub, and its other names."""
    found = []

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                found.append(f"class {prefix}{node.name}")
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                for part in ast.walk(node.args):
                    if isinstance(part, ast.arg):
                        part.annotation = None
                decorators = "".join(f"@{ast.unparse(decorator)} " for decorator in node.decorator_list)
                found.append(f"{decorators}{prefix}{node.name}({ast.unparse(node.args)})")
            elif isinstance(node, ast.AnnAssign):
                found.append(prefix + ast.unparse(node.target))

    visit(ast.parse(text).body, "")
    return sorted(found)  # older generators go by the alphabet


def test_the_stubs_have_every_name_and_parameter_of_the_extension(generated):
    assert signatures(STUB.read_text(encoding="utf-8")) == signatures(generated), REMEDY


@pytest.mark.skipif(
    not f"{importlib.metadata.version('nanobind')}.".startswith(f"{GENERATOR}."),
    reason=f"nanobind {GENERATOR} wrote the stubs; other versions write types and docstrings in another way",
)
def test_the_stubs_are_the_generator_s_text(generated):
    assert STUB.read_text(encoding="utf-8") == generated, REMEDY
