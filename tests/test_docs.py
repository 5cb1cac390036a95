"""The code in README and docs runs and prints what the pages show.

```python blocks of a page run in one namespace, ```bash blocks in one folder; a ```text block beneath one of them is
its output (``doc_examples``). Code with no such block beneath it prints nothing.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from doc_examples import difference, examples

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def examples_of(page, language):
    return examples(page.read_text(encoding="utf-8"), language)


def pages_with(language):
    return [pytest.param(page, id=page.name) for page in PAGES if examples_of(page, language)]


def complaint(page, example, printed):
    """Return what a page shows otherwise than it is, with its line."""
    found = difference(example.shown, printed, varies=example.varies)
    line = len(example.code) - len(example.code.lstrip("\n"))
    return None if found is None else f"{page.name}:{line}: {found}"


@pytest.fixture(autouse=True)
def _own_folder_and_registries(tmp_path, monkeypatch):
    from loglinear.penalties import PENALTIES
    from loglinear.solvers import SOLVERS

    monkeypatch.chdir(tmp_path)
    for registry in (PENALTIES, SOLVERS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_print_what_is_shown(page):
    namespace, wrong = {"__name__": "example"}, []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for example in examples_of(page, "python"):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(example.code, page.name, "exec", dont_inherit=True), namespace)
            wrong.append(complaint(page, example, printed.getvalue()))
    assert "\n\n".join(filter(None, wrong)) == ""


@pytest.mark.parametrize("page", pages_with("bash"))
def test_bash_blocks_print_what_is_shown(page, tmp_path):
    path, wrong = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), []
    for example in examples_of(page, "bash"):
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", example.code],
            cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert "warning" not in run.stderr
        wrong.append(complaint(page, example, run.stdout))
    assert "\n\n".join(filter(None, wrong)) == ""


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    targets = [target for target in _LINK.findall(page.read_text(encoding="utf-8")) if "results/" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []
