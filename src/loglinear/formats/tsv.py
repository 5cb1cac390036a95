"""Labelled text, one example per line: ``label TAB text``. Further tabs belong to the text."""

from __future__ import annotations

from collections.abc import Sequence

from loglinear.errors import FormatError
from loglinear.formats.examples import ExampleFormat, Labels, Records
from loglinear.formats.text import Source, atomic_write, decode, name_of, read_bytes, split_lines


def read_tsv(source: Source, encoding: str = "utf-8") -> tuple[list[str], list[str]]:
    """Return the labels and the texts of a file (plain, gzip, xz, or ``-``)."""
    name = name_of(source)
    labels, texts = [], []
    for number, line in enumerate(split_lines(decode(read_bytes(source), name, encoding)), start=1):
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


def _read(source: Source, *, encoding: str, labelled: bool, n_threads: int) -> Records:
    """Labelled text, one example per line: label TAB text."""
    if not labelled:
        return Records("text", read_texts(source, encoding), None)
    labels, texts = read_tsv(source, encoding)
    return Records("text", texts, Labels.of(labels))


TSV = ExampleFormat(_read, (".tsv", ".txt"), lambda line: b"\t" in line)


def write_tsv(path: Source, labels: Sequence[str], texts: Sequence[str]) -> None:
    """Write a file that reads back the same; raise FormatError for a label with a tab, or anything with a line end."""
    if len(labels) != len(texts):
        raise ValueError(f"{len(labels)} labels for {len(texts)} texts")
    name = name_of(path)
    with atomic_write(path) as file:
        for number, (label, text) in enumerate(zip(labels, texts), start=1):
            if not label:
                raise FormatError("cannot write an empty label", name, number)
            if any(c in label for c in "\t\n\r"):
                raise FormatError(f"cannot write label {label!r}: it holds a tab or a line end", name, number)
            if "\n" in text or "\r" in text:
                raise FormatError("cannot write a text that holds a line end; use JSON lines for it", name, number)
            file.write(f"{label}\t{text}\n".encode())
