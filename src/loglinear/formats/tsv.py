"""Labelled text, one example per line: ``label TAB text``. Further tabs belong to the text."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from loglinear.errors import FormatError
from loglinear.formats.examples import ExampleFormat, Labels, Records
from loglinear.formats.text import Source, decode, each_line, name_of, plain_label, read_bytes, split_lines

_SAMPLE = 1 << 16  # bytes that suffice to tell labels from text


def read_tsv(source: Source, encoding: str = "utf-8") -> tuple[list[str], list[str]]:
    """Return the labels and the texts of a file (plain or compressed, or ``-``)."""
    return _labelled(each_line(decode(read_bytes(source), name_of(source), encoding)), name_of(source))


def _labelled(lines: Iterable[str], name: str, empty_labels: bool = False) -> tuple[list[str], list[str]]:
    labels, texts = [], []
    for number, line in enumerate(lines, start=1):
        label, tab, text = line.partition("\t")
        if not tab:
            what = "the line has no TAB" if line else "the line is empty"
            raise FormatError(f"{what}; expected label TAB text", name, number)
        if not label and not empty_labels:
            raise FormatError("the label is empty; expected label TAB text", name, number)
        labels.append(label)
        texts.append(text)
    return labels, texts


def read_texts(source: Source, encoding: str = "utf-8") -> list[str]:
    """Return texts without labels, one per line."""
    return split_lines(decode(read_bytes(source), name_of(source), encoding))


def _parse(
    data: bytes, name: str, *, encoding: str, labelled: bool, n_threads: int, empty_labels: bool = False
) -> Records:
    """Labelled text, one example per line: label TAB text."""
    lines = split_lines(decode(data, name, encoding))
    if not labelled:
        return Records("text", lines, None)
    labels, texts = _labelled(lines, name, empty_labels)
    return Records("text", texts, Labels.of(labels))


def begins_with_labels(data: bytes, classes: Collection[str]) -> bool:
    """Return whether at least half of the first lines with content begin with one of the classes and a TAB.

    Text hardly ever does, and a labelled file may have classes that the model does not know.
    """
    lines = [line for line in split_lines(data[:_SAMPLE].decode(errors="replace")) if line.strip()]
    fields = (line.partition("\t") for line in lines)
    n_labelled = sum(tab != "" and plain_label(label) in classes for label, tab, _ in fields)
    return bool(lines) and 2 * n_labelled >= len(lines)


TSV = ExampleFormat(_parse, (".tsv", ".txt"), lambda line: b"\t" in line, begins_with_labels)
