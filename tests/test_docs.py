"""The code in README and docs runs and prints what the pages show.

````python blocks of a page run in one namespace, ```bash blocks in one folder; a ```text block beneath one of them is
its output (``doc_examples``). Code with no such block beneath it prints nothing. The blocks of a tutorial, in either
language, run from top to bottom in one folder.
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
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
_OTHERS = "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "CHANGELOG.md"
RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))  # none where the source is unpacked from an sdist
OTHERS = [*(ROOT / name for name in _OTHERS), *RESULTS]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def examples_of(page, *languages):
    return examples(page.read_text(encoding="utf-8"), *languages)


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


def run_python(example, page, namespace):
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("error")
        exec(compile(example.code, page.name, "exec", dont_inherit=True), namespace)
    return printed.getvalue()


def run_bash(example, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.code],
        cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "warning" not in run.stderr
    return run.stdout


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_print_what_is_shown(page):
    namespace = {"__name__": "example"}
    wrong = [complaint(page, example, run_python(example, page, namespace)) for example in examples_of(page, "python")]
    assert "\n\n".join(filter(None, wrong)) == ""


@pytest.mark.parametrize("page", pages_with("bash"))
def test_bash_blocks_print_what_is_shown(page, tmp_path):
    wrong = [complaint(page, example, run_bash(example, tmp_path)) for example in examples_of(page, "bash")]
    assert "\n\n".join(filter(None, wrong)) == ""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_tutorials_print_what_is_shown(page, tmp_path):
    namespace, wrong = {"__name__": "example"}, []
    found = examples_of(page, "python", "bash")
    assert found
    for example in found:
        run = run_python(example, page, namespace) if example.language == "python" else run_bash(example, tmp_path)
        wrong.append(complaint(page, example, run))
    assert "\n\n".join(filter(None, wrong)) == ""


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS], ids=lambda page: page.name)
def test_all_code_is_in_blocks_that_run(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"^```(\w+)", text, re.MULTILINE)) <= {"python", "bash", "text", "math"}
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^    (?:loglinear|pip|python|make|from \w+ import|import) .*", outside, re.MULTILINE) == []


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS, *OTHERS], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    wanted = [target for target in targets if RESULTS or "results/" not in target]
    assert [target for target in wanted if not (page.parent / target).exists()] == []
