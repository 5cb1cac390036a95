"""Read files of sequences for a tagger, by one function for all formats.

conll gives :class:`Columns`, of which one is the label; crfsuite gives :class:`AttributeSequences`, and the label is
the first field of a line; text is split into tokens, which are one column, without labels. Labels are numbers from here
on (:class:`FlatLabels`). A file that does not fit in memory is read in blocks that end where a sequence ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.attributes import AttributeSequences
from loglinear.features.columns import Columns
from loglinear.features.sequences import FlatLabels
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.formats.blocks import after_lines, read_blocks, read_utf8_blocks
from loglinear.formats.conll import CodedColumn, ConllData, parse_conll
from loglinear.formats.crfsuite.data import parse_crfsuite
from loglinear.formats.sentences import parse_sentences
from loglinear.formats.text import Source, decode, name_of, read_bytes, read_head
from loglinear.models.tagger.predictor import TaggerPredictor

FORMATS = ("conll", "crfsuite", "text")
BLOCK = 1 << 24  # bytes; tagging takes about twenty times as much memory
_HEAD = 1 << 16  # bytes that suffice to tell the format
_EMPTY = re.compile(rb"[ \t\r\n]*\Z")
_EMPTY_BUT_FOR_COMMENTS = re.compile(rb"(?:[ \t\r]*\n|#[^\n]*\n)*(?:[ \t\r]*|#[^\n]*)\Z")

Tokens: TypeAlias = Columns | AttributeSequences


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences, and the labels of their tokens where the file has labels.

    ``echo`` holds the columns of a conll file as they were read, the label included, or the tokens of a text, and
    ``separator`` the separator between them, to write the file again with one more column.
    """

    X: Tokens
    labels: FlatLabels | None
    format: str
    source: str
    echo: list[CodedColumn] | None = None
    separator: str = " "

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self.X.n_tokens

    @property
    def n_columns(self) -> int | None:
        """Number of columns besides the label; None for attributes."""
        return self.X.n_columns if isinstance(self.X, Columns) else None


@dataclass(frozen=True)
class Layout:
    """How to read a file.

    ``label_column`` is that of the label in conll, None where there is none; ``n_columns`` is the number of columns
    besides the label, None for any number. A file may lack the last of them, those after the last of ``columns_read``.
    crfsuite always has labels; they are dropped where ``label_column`` is None.
    """

    format: str
    encoding: str = "utf-8"
    label_column: int | None = -1
    n_columns: int | None = None
    comments: bool = False  # whether lines that begin with # are skipped
    n_threads: int | None = None
    columns_read: tuple[int, ...] | None = None  # None: all

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise FormatError(f"unknown format {self.format!r}; known: {', '.join(FORMATS)}")

    @property
    def labelled(self) -> bool:
        """Whether labels are read."""
        return self.label_column is not None


def read_sequences(
    source: Source, format: str = "conll", encoding: str = "utf-8", *, label_column: int | None = -1,
    n_columns: int | None = None, comments: bool = False, n_threads: int | None = None,
) -> Sequences:
    """Read a whole file (plain or compressed, or ``-``).

    Parameters
    ----------
    format : "conll" or "crfsuite"
    encoding : of conll; crfsuite is UTF-8
    label_column : column of the label in conll, from 0, or negative from the last; None where there is none
    n_columns : number of columns besides the label; a file with another number is refused. None: any number
    comments : whether lines of conll that begin with ``#`` are skipped
    n_threads : native threads; None for all cores
    """
    layout = Layout(format, encoding, label_column, n_columns, comments, n_threads)
    return parse_sequences(read_bytes(source), name_of(source), layout)


def parse_sequences(data: bytes, source: str, layout: Layout, separator: str | None = None) -> Sequences:
    """Return the sequences in the bytes of a file; a separator of None is found in the first line."""
    if layout.format == "crfsuite":
        return _attributes(data, source, layout)
    if layout.format == "text":
        return _tokens(data, source, layout)
    found = parse_conll(
        data, source, encoding=layout.encoding, separator=separator, comments=layout.comments,
        n_threads=layout.n_threads,
    )
    columns, place = Columns.from_conll(found), layout.label_column
    _check_columns(found, layout)
    labels = None
    if place is not None:
        labels = FlatLabels(columns.ids[place], columns.sequence_ptr, list(columns.vocabularies[place]))
        columns = columns.without(place)
    return Sequences(columns, labels, "conll", source, found.columns, separator or separator_of(data))


def _attributes(data: bytes, source: str, layout: Layout) -> Sequences:
    found = parse_crfsuite(data, source, n_threads=layout.n_threads)
    labels = FlatLabels(found.labels, found.sequence_ptr, found.label_names) if layout.labelled else None
    return Sequences(AttributeSequences.from_crfsuite(found), labels, "crfsuite", source)


def _tokens(data: bytes, source: str, layout: Layout) -> Sequences:
    """Return the tokens of a text, one sentence per line, as one column."""
    if layout.labelled:
        raise FormatError("plain text has no labels", source)
    words = Columns.from_lists(parse_sentences(decode(data, source, layout.encoding)))
    echo = [(ids, values.blob, values.offsets) for ids, values in zip(words.ids, words.vocabularies)]
    return Sequences(words, None, "text", source, echo)


def _check_columns(found: ConllData, layout: Layout) -> None:
    """Raise FormatError for a file with other columns than wanted; all its lines have as many as the first."""
    n, label, line = len(found.columns), layout.label_column, int(found.first_lines[0])
    if label is not None and not -n <= label < n:
        message = f"there is no column {label} for the label: there are {n}, numbered from 0"
        raise FormatError(message, found.source, line)
    if label is not None and n == 1:
        message = "there is one column only; a token needs one at least besides its label"
        raise FormatError(message, found.source, line)
    if layout.n_columns is not None:
        _check_number(n, layout.n_columns, layout, found.source, line)


def _check_number(n: int, wanted: int, layout: Layout, source: str, line: int) -> None:
    """Raise FormatError for more columns than in training, or for fewer where the model reads the missing ones."""
    columns = range(wanted) if layout.columns_read is None else layout.columns_read
    n_inputs, label = n - layout.labelled, ", and the label" if layout.labelled else ""
    hint = ""
    if n_inputs > wanted:
        expected = f"there should be {wanted}, as in training{label}"
        if not layout.labelled and n == wanted + 1:
            hint = "; if the last is the label, say so (--labelled)"
    elif any(column >= n_inputs for column in columns):
        expected = f"the model reads columns {', '.join(map(str, columns))} (numbered from 0){label}"
        if layout.labelled and n == wanted:
            hint = "; is the label missing?"
    else:
        return
    raise FormatError(f"found {n} column{'s' * (n > 1)}, but {expected}{hint}", source, line)


def separator_of(data: bytes) -> str:
    """Return the separator between columns: a tab if the first token's line has one, as in the parser."""
    first = data[:_HEAD].lstrip(b"\xef\xbb\xbf\r\n ").split(b"\n", 1)[0]
    return "\t" if b"\t" in first.strip() else " "


def is_empty(data: bytes, layout: Layout) -> bool:
    """Return whether the bytes of a file hold no token, but blank lines and comments at most."""
    return (_EMPTY_BUT_FOR_COMMENTS if layout.comments else _EMPTY).match(data) is not None


def format_for_training(source: Source, columns: bool) -> str:
    """Return the format of a training file: conll where the model reads ``columns``, else crfsuite if it looks so.

    The first field of a line is the label in crfsuite and a word in conll, where the last is the label. Labels have
    fewer distinct values than words, which tells the two apart.
    """
    if columns:
        return "conll"
    sets = ", ".join(TEMPLATE_SETS)
    wanted = f"name a set with --templates ({sets}) or give a file of templates"
    if os.fspath(source) == "-":
        raise FormatError(f"columns need templates: {wanted}; attributes need --format crfsuite", name_of(source))
    lines = [line.rstrip(b"\r") for line in read_head(source, _HEAD).split(b"\n")[:-1]]
    fields = [line.split(b"\t") for line in lines if line.strip()]
    regular = len({len(line) for line in fields}) <= 1
    first, last = ({line[end] for line in fields} for end in (0, -1))
    if not any(len(line) > 1 for line in fields) or (regular and len(first) >= len(last)):
        message = f"this looks like columns, which need templates: {wanted} (attributes: --format crfsuite)"
        raise FormatError(message, name_of(source))
    return "crfsuite"


def layout_for(
    model: TaggerPredictor, format: str | None = None, encoding: str = "utf-8", *, label_column: int | None = -1,
    comments: bool = False, n_threads: int | None = None,
) -> Layout:
    """Return how a trained tagger reads a file: in the format of its training, with the columns that it reads."""
    reader = model.reader_
    wanted, columns = "conll" if reader.reads_columns else "crfsuite", tuple(reader.columns_read)
    if format == "text" and reader.reads_columns:
        if missing := [str(column) for column in columns if column > 0]:
            read = f"the model also reads column{'s' * (len(missing) > 1)} {', '.join(missing)} (numbered from 0)"
            raise IncompatibleError(f"plain text has one column, the words, but {read}: give columns (conll)")
        return Layout("text", encoding, label_column, n_threads=n_threads)
    if format not in (None, wanted):
        raise IncompatibleError(f"the model was trained on {wanted}, so it cannot read the format {format!r}")
    return Layout(wanted, encoding, label_column, reader.n_columns, comments, n_threads, columns)


def blocks(source: Source, layout: Layout, size: int = BLOCK) -> Iterator[Sequences]:
    """Yield the sequences of a file (plain or compressed, or ``-``) block by block, so that memory stays bounded.

    A block ends at the last blank line within ``size`` bytes, or at the next one, of a text at a line; a pipe or a
    terminal gives what has come. Errors count lines from the start of the file.
    """
    name, n_lines, separator = name_of(source), 0, None
    encoding = "utf-8" if layout.format == "crfsuite" else layout.encoding
    layout = replace(layout, encoding="utf-8")
    read = read_utf8_blocks if layout.format == "text" else read_blocks
    for data in read(source, size, encoding):
        if not is_empty(data, layout):
            with after_lines(n_lines):
                found = parse_sequences(data, name, layout, separator)
            separator = found.separator if found.format == "conll" else None
            if len(found):
                yield found
        n_lines += data.count(b"\n")
