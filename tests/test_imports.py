"""Who may import the extension. Who may import whom otherwise is checked by import-linter (`make lint`)."""

import ast
from pathlib import Path

import pytest

import loglinear

PACKAGE = Path(loglinear.__file__).parent
NATIVE = {
    "formats", "features", "data", "hmm", "backoff", "grammar", "losses", "penalties", "solvers", "stagewise", "models",
    "optimise", "sources", "structure", "threads", "clustering",
}  # fmt: skip


def _touches_native(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any("_core" in alias.name.split(".") for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom):
            names = (node.module or "").split(".") + [alias.name for alias in node.names]
            if "_core" in names:
                return True
    return False


@pytest.mark.parametrize(
    "source",
    ["from loglinear import _core", "from .. import _core", "from loglinear._core import x", "import loglinear._core"],
)
def test_imports_of_the_extension_are_recognised(source):
    assert _touches_native(source)
    assert not _touches_native(source.replace("_core", "errors"))


def test_only_the_folders_with_kernels_touch_the_extension():
    touching = {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for path in PACKAGE.rglob("*.py")
        if _touches_native(path.read_text(encoding="utf-8"))
    }
    assert touching <= NATIVE
