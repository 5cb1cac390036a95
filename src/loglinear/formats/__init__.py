"""Bytes to records and back. A new format is one new file and one line in READERS."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loglinear.errors import FormatError
from loglinear.formats.conll import ConllData, format_conll, parse_conll, read_conll, write_conll
from loglinear.formats.crfsuite import (
    CrfsuiteData,
    CrfsuiteDump,
    parse_crfsuite,
    parse_crfsuite_dump,
    read_crfsuite,
    read_crfsuite_dump,
    write_crfsuite,
)
from loglinear.formats.jsonl import JsonlData, read_jsonl
from loglinear.formats.nbest import (
    NBEST_FORMATS,
    Candidate,
    CandidateList,
    merge_duplicates,
    read_nbest,
    with_scores,
    write_nbest,
)
from loglinear.formats.svmlight import SvmlightData, parse_svmlight, read_svmlight, write_svmlight
from loglinear.formats.text import Source, atomic_write, decode, name_of, read_bytes, read_head
from loglinear.formats.tsv import read_texts, read_tsv, write_tsv

__all__ = [
    "NBEST_FORMATS",
    "READERS",
    "Candidate",
    "CandidateList",
    "ConllData",
    "CrfsuiteData",
    "CrfsuiteDump",
    "JsonlData",
    "SvmlightData",
    "atomic_write",
    "decode",
    "format_conll",
    "guess",
    "merge_duplicates",
    "parse_conll",
    "parse_crfsuite",
    "parse_crfsuite_dump",
    "parse_svmlight",
    "read_bytes",
    "read_conll",
    "read_crfsuite",
    "read_crfsuite_dump",
    "read_jsonl",
    "read_nbest",
    "read_svmlight",
    "read_texts",
    "read_tsv",
    "with_scores",
    "write_conll",
    "write_crfsuite",
    "write_nbest",
    "write_svmlight",
    "write_tsv",
]

READERS: dict[str, Callable[..., Any]] = {
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "svmlight": read_svmlight,
}

_SUFFIXES = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
_HEAD = 1 << 16  # bytes enough to know a format by
_SVMLIGHT = re.compile(rb"[^\s#:]+([ \t]+(qid:\S+|\d+:[-+.\deE]+))+[ \t\r]*(#.*)?")


def guess(path: Source) -> str:
    """The format of a file, by its name (less ``.gz`` or ``.xz``) or else by its first line that is not blank."""
    name = name_of(path)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in (".gz", ".xz"):
        suffixes.pop()
    if suffixes and suffixes[-1] in _SUFFIXES:
        return _SUFFIXES[suffixes[-1]]
    formats = ", ".join(READERS)
    if os.fspath(path) == "-" or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()):
        raise FormatError(f"the format of a stream cannot be guessed; name it with --format ({formats})", name)
    format_name = _sniff(read_head(path, _HEAD))
    if format_name is None:
        message = f"the format cannot be guessed from the name or the first line; name it with --format ({formats})"
        raise FormatError(message, name)
    return format_name


def _sniff(head: bytes) -> str | None:
    lines = head.split(b"\n")
    records = (line for line in lines if line.strip() and not line.lstrip().startswith(b"#"))
    first = next(records, b"").lstrip()
    if first.startswith(b"{"):
        return "jsonl"
    if len(head) == _HEAD and first and lines[-1].lstrip() == first:  # the line goes on past what was read
        first = re.sub(rb"[ \t]*[^ \t]*$", b"", first)
    if _SVMLIGHT.fullmatch(first):
        return "svmlight"
    return "tsv" if b"\t" in first else None
