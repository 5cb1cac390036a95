"""The code in README and docs runs: ```python blocks of a page in one namespace, ```bash blocks in a shell."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return [
        "\n" * text.count("\n", 0, m.start(1)) + m.group(1)  # so that a traceback has the page's line numbers
        for m in re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    ]


def pages_with(language):
    return [pytest.param(page, id=page.name) for page in PAGES if blocks(page, language)]


@pytest.fixture(autouse=True)
def _own_folder_and_registries(tmp_path, monkeypatch):
    from loglinear.penalties import PENALTIES
    from loglinear.solvers import SOLVERS

    monkeypatch.chdir(tmp_path)
    for registry in (PENALTIES, SOLVERS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_run(page):
    namespace = {"__name__": "example"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks(page, "python"):
            exec(compile(block, page.name, "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", pages_with("bash"))
def test_bash_blocks_run(page, tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for block in blocks(page, "bash"):
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert "warning" not in run.stderr


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    targets = [target for target in _LINK.findall(page.read_text(encoding="utf-8")) if "results/" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []
