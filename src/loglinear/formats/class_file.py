r"""Files of word classes, and of phrases with types (lists of names, gazetteers).

    classes.tsv    word TAB class                 one word per line; further columns are not allowed
    paths          bits TAB word TAB count        what Brown's tool writes: the class of a word is its string of bits

Which of the two a file is, its first line with content tells: three columns, the first of zeros and ones and the last a
number, make it a file of paths.

    names.tsv      phrase TAB type                words of a phrase are separated by blanks; it may be of several types
    person.txt     phrase                         the type is the name of the file without its endings

Blank lines are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from loglinear.errors import FormatError
from loglinear.formats.text import Source, atomic_write, decode, each_line, name_of, read_bytes

TYPE = re.compile(r"[\w.:+-]+")  # what the type of phrases may be: it stands in templates
_BITS = re.compile(r"[01]+")


def read_classes(source: Source, encoding: str = "utf-8") -> dict[str, str]:
    """Return the class of each word of a file (plain or compressed, or ``-``); errors name the line at fault."""
    name = name_of(source)
    lines = [
        (number, line.split("\t"))
        for number, line in enumerate(each_line(decode(read_bytes(source), name, encoding)), start=1)
        if line.strip()
    ]
    if not lines:
        raise FormatError("there are no words; write one word per line, a tab, and its class", name)
    parse = _path if _is_path(lines[0][1]) else _word_and_class
    out: dict[str, str] = {}
    first: dict[str, int] = {}
    for number, columns in lines:
        word, label = parse(columns, name, number)
        if word in out:
            message = f"the word {word[:40]!r} is also in line {first[word]}; write each word once"
            raise FormatError(message, name, number)
        out[word], first[word] = label, number
    return out


def _is_path(columns: list[str]) -> bool:
    return len(columns) == 3 and bool(_BITS.fullmatch(columns[0])) and columns[2].strip().isdecimal()


def _path(columns: list[str], name: str, number: int) -> tuple[str, str]:
    if not _is_path(columns) or not columns[1]:
        raise FormatError("expected bits, a tab, a word, a tab and its count, as in the lines before", name, number)
    return columns[1], columns[0]


def _word_and_class(columns: list[str], name: str, number: int) -> tuple[str, str]:
    if len(columns) != 2 or not columns[0] or not columns[1]:
        raise FormatError("expected a word, a tab and its class", name, number)
    return columns[0], columns[1]


def read_phrases(source: Source) -> Iterator[tuple[str, str]]:
    """Yield (phrase, type) for every line of a file (plain, gzip, bz2, xz, zstd); errors name the line at fault."""
    name = name_of(source)
    own = PurePosixPath(name.replace("\\", "/")).name.split(".")[0]
    found = 0
    for number, line in enumerate(each_line(decode(read_bytes(source), name)), start=1):
        if not line.strip():
            continue
        columns = line.split("\t")
        phrase, kind = (columns[0], columns[1].strip()) if len(columns) == 2 else (line, own)
        if len(columns) > 2 or not phrase.strip():
            raise FormatError("expected a phrase, a tab and its type, or a phrase alone", name, number)
        if not TYPE.fullmatch(kind):
            message = f"the type {kind[:40]!r} must be of letters, digits and . : + - _ : rename it"
            raise FormatError(message if len(columns) == 2 else message + ", or the file", name, number)
        found += 1
        yield phrase, kind
    if not found:
        raise FormatError("there are no phrases; write one per line, a tab, and its type", name)


def write_classes(path: Source, words: Iterable[str], labels: Iterable[object]) -> None:
    """Write ``word TAB class``, in the order given; the file is replaced only when all is written."""
    _write(path, (f"{word}\t{label}\n" for word, label in zip(words, labels)))


def write_paths(path: Source, words: Iterable[str], bits: Iterable[str], counts: Iterable[int]) -> None:
    """Write ``bits TAB word TAB count``, by bits, the most frequent words of a class first."""
    rows = sorted(zip(bits, words, counts), key=lambda row: (row[0], -row[2]))
    _write(path, (f"{path_bits}\t{word}\t{count}\n" for path_bits, word, count in rows))


def _write(path: Source, lines: Iterable[str]) -> None:
    with atomic_write(path) as file:
        file.write("".join(lines).encode())
