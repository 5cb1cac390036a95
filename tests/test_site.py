"""The documentation site builds without a warning and loads nothing from elsewhere; notebooks print what pages show."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from doc_examples import difference, examples

ROOT = Path(__file__).parents[1]
NOTEBOOKS = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
_LOADED = re.compile(  # what a browser fetches by itself: not the href of a link
    r"""(?:\bsrc|\bsrcset|\bdata|\baction|<link[^>]*\bhref)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)|url\(\s*["']?((?:https?:)?//[^"')]+)"""
    r"""|@import\s+["']((?:https?:)?//[^"']+)|(?:fetch|importScripts)\(\s*["']((?:https?:)?//[^"']+)"""
)


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed: pip install -e '.[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d", str(folder / "work")]
    run = subprocess.run([*command, ".", str(folder / "html")], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / "html"


def test_loads_from_elsewhere_are_seen():
    loads = '<script src="https://a.b/c.js">', "@import '//a.b/c'", "url(//a.b/c.w)", '<link rel="x" href="//a.b">'
    for text in loads:
        assert _LOADED.search(text), text
    for text in ('<a href="https://a.b">', '<img src="a.png">', '<link rel="x" href="a.css">'):
        assert not _LOADED.search(text), text


@needs("sphinx", "furo", "myst_parser", "latex2mathml", "distributed", "starlette")
def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site):
    for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md"), *ROOT.glob("docs/*/*.rst")]:
        assert site.joinpath(page.relative_to(ROOT)).with_suffix(".html").exists(), page
    assert "<h1>" in (site / "index.html").read_text(encoding="utf-8")
    loaded = {}
    for file in site.rglob("*"):
        if file.suffix in {".html", ".css", ".js", ".svg"}:
            found = ["".join(groups) for groups in _LOADED.findall(file.read_text(encoding="utf-8"))]
            loaded.update({str(file.relative_to(site)): found} if found else {})
    assert loaded == {}


@needs("sphinx", "furo", "myst_parser", "latex2mathml", "distributed", "starlette")
def test_the_reference_describes_what_is_public(site):
    import loglinear

    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "docs" / "reference").glob("*.html"))
    missing = [name for name in loglinear.__all__ if not re.search(rf'id="loglinear\.(\w+\.)?{name}"', pages)]
    assert missing == []


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: Debian's package is called chromium")
@needs("sphinx", "furo", "myst_parser", "latex2mathml", "distributed", "starlette")
def test_no_page_is_wider_than_a_phone(site):
    wide = []
    with Browser() as browser:
        browser.size(400, 800)
        for page in sorted(site.rglob("*.html")):
            browser.go(page.as_uri())
            if browser.run("document.documentElement.scrollWidth > innerWidth"):
                wide.append(str(page.relative_to(site)))
    assert wide == []


def test_the_picture_is_that_of_its_script():
    drawn = runpy.run_path(str(ROOT / "docs" / "picture.py"))["picture"]()
    assert difference((ROOT / "docs" / "picture.svg").read_text(encoding="utf-8"), drawn) is None


@pytest.mark.parametrize("name", NOTEBOOKS["NOTEBOOKS"])
def test_a_notebook_has_the_code_of_its_page(name):
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    cells = NOTEBOOKS["notebook"](text)["cells"]
    code = [cell["source"].removeprefix("%%bash\n") for cell in cells if cell["cell_type"] == "code"]
    assert code == [example.code.strip("\n") for example in examples(text, "python", "bash")]
    assert not any("```" in cell["source"] for cell in cells)


@needs("nbclient", "ipykernel")
@pytest.mark.parametrize("name", NOTEBOOKS["NOTEBOOKS"])
def test_a_notebook_prints_what_its_page_shows(name, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    book = nbformat.from_dict(NOTEBOOKS["notebook"](text))
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    printed = ["".join(out.text for out in cell.outputs if out.get("name") == "stdout") for cell in cells]
    shown = examples(text, "python", "bash")
    wrong = [difference(example.shown, out, varies=example.varies) for example, out in zip(shown, printed)]
    assert [message for message in wrong if message] == []
