"""The demonstration behind ``loglinear demo``: sections run one after another, each giving tables and plots.

A new kind of model is one new file with a function from a :class:`~loglinear.demo.docstrings.Corpus` to sections, and
one line in SECTIONS. The first paragraph of its first section says in a sentence what it found. Texts come from
``docstrings``, ``sentences`` and ``code_lines``; nothing is downloaded.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loglinear.demo import classifiers, keypad, language_models, parsers, taggers, word_classes
from loglinear.demo.docstrings import Corpus, stdlib_docstrings
from loglinear.display.page import Section, write_page
from loglinear.display.tables import to_records

SECTIONS: list[tuple[str, Callable[[Corpus], list[Section]]]] = [
    ("penalties and solvers", classifiers.run),
    ("taggers", taggers.run),
    ("language models", language_models.run),
    ("word classes", word_classes.run),
    ("input methods", keypad.run),
    ("parsers", parsers.run),
]


@dataclass(frozen=True)
class DemoReport:
    """All sections, and the seconds they took."""

    sections: list[Section]
    seconds: float

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        write_page(path, "loglinear: a demonstration", self.sections)

    def to_dict(self) -> dict[str, Any]:
        """Return the sections and the rows of their tables as plain values, for JSON."""
        sections = [{"title": s.title, "tables": [to_records(t) for t in s.tables]} for s in self.sections]
        return {"seconds": self.seconds, "sections": sections}


def run(*, quick: bool = False, say: Callable[[str], None] = lambda message: None) -> DemoReport:
    """Run all sections; ``say`` is called with the name of each before it runs."""
    start = time.perf_counter()
    say("reading the documentation of the standard library")
    corpus = stdlib_docstrings(quick=quick)
    sections, findings = list[Section](), list[str]()
    for name, section in SECTIONS:
        say(name)
        if found := section(corpus):
            sections += found
            findings.append(found[0].paragraphs[0])
    seconds = time.perf_counter() - start
    findings.append(f"All of it was trained and tested in {seconds:.0f} seconds.")
    return DemoReport([Section("In short", findings), *sections], seconds)
