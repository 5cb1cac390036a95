"""Bytes to records and back. A new format of labelled examples is one new file and one line in FORMATS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loglinear.registry import Registry, imported

if TYPE_CHECKING:
    from loglinear.formats.candidate_list import Candidate, CandidateList
    from loglinear.formats.examples import ExampleFormat

__all__ = ["FORMATS", "Candidate", "CandidateList"]

# The formats of classifiers, imported on first use. Where the name of a file does not tell its format, the first of
# these that recognises its first line is taken.
FORMATS: Registry[ExampleFormat] = Registry(
    "format",
    {
        "jsonl": "loglinear.formats.jsonl:JSONL",
        "svmlight": "loglinear.formats.svmlight:SVMLIGHT",
        "tsv": "loglinear.formats.tsv:TSV",
    },
)


def __getattr__(name: str) -> Any:
    """Import the lists that rerankers take on first use, so that commands that read no lists start quickly."""
    if name in ("Candidate", "CandidateList"):
        return imported(f"loglinear.formats.candidate_list:{name}")
    raise AttributeError(f"module 'loglinear.formats' has no attribute {name!r}")
