"""Labelled text, one example per line: ``label TAB text``. Further tabs belong to the text."""

from __future__ import annotations

from loglinear.errors import FormatError
from loglinear.formats.examples import ExampleFormat, Labels, Records
from loglinear.formats.text import Source, decode, name_of, read_bytes, split_lines


def read_tsv(source: Source, encoding: str = "utf-8") -> tuple[list[str], list[str]]:
    """Return the labels and the texts of a file (plain, gzip, xz, or ``-``)."""
    return _labelled(split_lines(decode(read_bytes(source), name_of(source), encoding)), name_of(source))


def _labelled(lines: list[str], name: str) -> tuple[list[str], list[str]]:
    labels, texts = [], []
    for number, line in enumerate(lines, start=1):
        label, tab, text = line.partition("\t")
        if not tab:
            what = "the line has no TAB" if line else "the line is empty"
            raise FormatError(f"{what}; expected label TAB text", name, number)
        if not label:
            raise FormatError("the label is empty; expected label TAB text", name, number)
        labels.append(label)
        texts.append(text)
    return labels, texts


def read_texts(source: Source, encoding: str = "utf-8") -> list[str]:
    """Return texts without labels, one per line."""
    return split_lines(decode(read_bytes(source), name_of(source), encoding))


def _parse(data: bytes, name: str, *, encoding: str, labelled: bool, n_threads: int) -> Records:
    """Labelled text, one example per line: label TAB text."""
    lines = split_lines(decode(data, name, encoding))
    if not labelled:
        return Records("text", lines, None)
    labels, texts = _labelled(lines, name)
    return Records("text", texts, Labels.of(labels))


TSV = ExampleFormat(_parse, (".tsv", ".txt"), lambda line: b"\t" in line)
