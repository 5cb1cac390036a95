"""How the documentation becomes a site: ``make docs`` builds it offline, and warnings are errors.

The sources are README.md, docs/ and a few pages beside README.md, as they stand: links between them hold on the site as
they do in the repository. The reference is made of docstrings; nothing is loaded from another host, not even for
formulas, which are MathML.
"""

import dataclasses
import inspect
import re
import shutil
import sys
from pathlib import Path

import latex2mathml.converter

import loglinear

sys.path.insert(0, str(Path(__file__).parent))
import notebooks

project = "loglinear"
author = copyright = "The loglinear developers"
version = release = loglinear.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "docs/**"]
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
smartquotes = False
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"inherited-members": "object, dict, list, tuple, Exception"}
html_theme = "furo"
html_title = "loglinear"
html_math_renderer = "mathml"
html_copy_source = False
html_static_path = ["style"]
html_css_files = ["site.css"]
templates_path: list[str] = []
pygments_style, pygments_dark_style = "friendly", "github-dark"

# The pages beside the first one, as the sidebar shows them.
CONTENTS = {
    "Tutorials": [
        "tutorials/chunking", "tutorials/named_entities", "tutorials/filtering", "tutorials/recogniser",
        "tutorials/typing", "tutorials/out_of_memory", "tutorials/comparing",
    ],
    "Guides": [
        "classifier", "tagger", "parser", "language_model", "word_classes", "input_method", "reranker", "serve",
        "penalties_and_solvers", "words", "files", "model_file", "scale", "reliability",
    ],
    "Coming from": ["from_scikit_learn", "from_crfsuite", "from_kenlm", "from_srilm"],
    "Reference": ["reference/index", "mathematics"],
    "Results": ["results/README"],
    "Development": [
        "../CONTRIBUTING", "architecture", "decisions", "add_a_loss", "add_a_penalty", "add_a_solver", "../SECURITY",
        "../CODE_OF_CONDUCT", "../CHANGELOG",
    ],
}  # fmt: skip

_INTERNAL = re.compile(  # what models have for each other
    r"set_\w+_request|check_fitted|check_settings|from_archive|from_backoff|parameters|fitted_attribute|kind|take"
    r"|use_weights|reading_options|document_kind|needs_base|has_base|legal_scheme|machine|dev_\w+_"
)
_CODE = re.compile(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`)", re.DOTALL)
_FIELD = re.compile(r"^    (\w+): [^#\n]+?  # (.+)$", re.MULTILINE)
_ITEM = re.compile(r"^([\w*, ]+) : (.*)")


def add_contents(app, name, source):
    """Add what is on the site alone: tables of contents, which the sidebar shows, and links to notebooks."""
    tutorial = name.removeprefix("docs/tutorials/")
    if tutorial in notebooks.NOTEBOOKS:
        title, rest = source[0].split("\n", 1)
        link = f'<p class="notebook"><a href="{tutorial}.ipynb" download>This page as a notebook</a></p>'
        source[0] = f"{title}\n\n{link}\n{rest}"
    if name == "docs/results/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    if name == root_doc:
        for caption, pages in CONTENTS.items():
            lines = "\n".join(page.removeprefix("../") if page.startswith("../") else f"docs/{page}" for page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def skip(app, what, name, thing, skipped, options):
    """Leave out what models inherit from scikit-learn and what they have for each other."""
    home = getattr(thing, "__module__", None) or ""
    return True if _INTERNAL.fullmatch(name) or home.startswith("sklearn") else None


def add_fields(app, what, name, thing, options, lines):
    """Append the fields of a dataclass, whose comments describe them."""
    if what == "class" and dataclasses.is_dataclass(thing):
        described = dict(_FIELD.findall(inspect.getsource(thing)))
        fields = [(field.name, described[field.name]) for field in dataclasses.fields(thing) if field.name in described]
        if fields:
            lines += ["", "Fields", "------", *(f"{name} : {says}" for name, says in fields)]


def to_rst(app, what, name, thing, options, lines):
    """Turn a docstring of this project into reStructuredText: lists of parameters, formulas, and plain text."""
    out, names, in_list, literal = [], "", False, False
    for number, line in enumerate(lines):
        if re.fullmatch("-{3,}", line):
            continue
        heading = number + 1 < len(lines) and re.fullmatch("-{3,}", lines[number + 1])
        begins = number == 0 or not lines[number - 1].strip()
        if heading:
            out += ["", f"**{line}**", ""]
            in_list, names = True, ""
        elif not line.strip():
            in_list, literal = False, False
            out.append("")
        elif (item := _ITEM.match(line)) and (in_list or begins):
            in_list = True
            out += ["**" + escaped(names + item[1]) + "**", "    " + escaped(item[2])]
            names = ""
        elif in_list and not line.startswith(" "):
            names = line + " "
        elif in_list or line.startswith("  ") is False or (not literal and not begins):
            out.append(escaped(line))
        else:
            out += ["::", ""] if begins else []
            literal = True
            out.append(line)
    lines[:] = out


def escaped(text):
    """Escape what reStructuredText would read as markup, but for code and roles."""
    pieces = _CODE.split(text)
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            pieces[i] = re.sub(r"([\\*|_`])", r"\\\1", piece)
        elif piece.startswith("`") and not piece.startswith("``"):
            pieces[i] = f"`{piece}`"
    return "".join(pieces)


def mathml(self, node):
    """Write a formula as MathML, which browsers show by themselves."""
    from docutils.nodes import SkipNode

    self.body.append(f'<div class="math">{latex2mathml.converter.convert(node.astext(), display="block")}</div>')
    raise SkipNode


def finish(app, error):
    """Let the first page be index.html too, and write the notebooks."""
    if error is None and app.builder.format == "html":
        notebooks.write(Path(app.outdir, "docs", "tutorials"))
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app):
    """Connect all of this to Sphinx."""
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
    app.connect("source-read", add_contents)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", add_fields)
    app.connect("autodoc-process-docstring", to_rst)
    app.connect("build-finished", finish)
