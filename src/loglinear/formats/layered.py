r"""Documents with layers: sentences whose words have tags, heads or other symbols, and documents that have labels.

    json     one sentence per line, {"words": ["the", "dog"], "tags": ["DT", "NN"], "topic": "pets"}, or one document
             per line, {"topic": "pets", "sentences": [{"words": [...], "tags": [...]}, ...]}; a sentence may have its
             bracketed parse under "tree", which gives the layers of trees
    columns  one token per line, the word and its layers in columns; a blank line ends a sentence, "# topic = pets"
             before it labels it, "# newdoc" begins a document (CoNLL)
    tagged   one sentence per line, word/tag word/tag; of several slashes the last one separates
    trees    bracketed parses; they give the layers tags, head1, head2, headtag1, headtag2 (formats/trees.py)

A layer holds one symbol per word. Symbols under "before" are known before a word is: one per word and one for the end
of the sentence, such as the heads of a partial parse. Everything else that holds a string or a number is a label of the
whole document; consecutive sentences with the same labels on lines of their own form a document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loglinear.errors import FormatError
from loglinear.formats.streams.compression import without_suffix
from loglinear.formats.text import Source, decode, name_of, read_bytes, split_lines

WORDS, BEFORE, SENTENCES, TREE = "words", "before", "sentences", "tree"


@dataclass
class LayeredSentence:
    """Words and the symbols of each layer."""

    words: list[str]
    layers: dict[str, list[str]] = field(default_factory=dict)  # one symbol per word
    before: dict[str, list[str]] = field(default_factory=dict)  # one per word and one for the end
    source: str = ""
    line: int = 0


@dataclass
class LayeredDocument:
    """Sentences in order, and the labels of the whole."""

    labels: dict[str, str]
    sentences: list[LayeredSentence]


def read_layered(source: Source, kind: str, *, columns: Sequence[str] = (), encoding: str = "utf-8") -> Any:
    """Yield the documents of a file (plain or compressed, or ``-``); ``columns`` names those after the word."""
    name = name_of(source)
    lines = split_lines(decode(read_bytes(source), name, encoding))
    if kind == "columns":
        return read_columns(lines, name, columns)
    if kind not in READERS:
        raise ValueError(f"unknown format of documents {kind!r}; known: {', '.join((*READERS, 'columns'))}")
    return READERS[kind](lines, name)


def kind_of(source: Source) -> str | None:
    """Return the format that the name of a file suggests; None: plain text."""
    name = without_suffix(name_of(source))
    endings = {"json": (".jsonl", ".json"), "columns": (".conll", ".conllu"), "trees": (".mrg", ".trees"),
               "tagged": (".tagged", ".pos")}  # fmt: skip
    return next((kind for kind, known in endings.items() if name.endswith(known)), None)


# ---- JSON ------------------------------------------------------------------------------------------------------------
def read_json(lines: Iterable[str], name: str) -> Iterator[LayeredDocument]:
    """Yield the documents of JSON lines."""

    def records() -> Iterator[tuple[Any, int]]:
        for number, line in enumerate(lines, start=1):
            if not line or line.isspace():
                continue
            try:
                yield json.loads(line), number
            except (ValueError, RecursionError) as error:
                raise FormatError(f"not JSON: {error}", name, number) from None

    return read_records(records(), name)


def read_records(records: Iterable[tuple[Any, int]], name: str) -> Iterator[LayeredDocument]:
    """Yield the documents of (dict, number) pairs, each a sentence or a document."""
    return _joined(_document(record, name, number) for record, number in records)


def _document(record: Any, name: str, number: int) -> tuple[LayeredDocument, bool]:
    """Return a document and whether it is whole, rather than one sentence of it."""
    if not isinstance(record, Mapping) or (WORDS in record) == (SENTENCES in record):
        raise FormatError(
            'expected an object with "words", a sentence, or with "sentences", a document', name, number
        )
    if WORDS in record:
        sentence, labels = _sentence(record, name, number)
        return LayeredDocument(labels, [sentence]), False
    if not isinstance(record[SENTENCES], (list, tuple)):
        raise FormatError('"sentences" must be a list', name, number)
    found = []
    for place, part in enumerate(record[SENTENCES], start=1):
        if not isinstance(part, Mapping) or WORDS not in part:
            raise FormatError(f'sentence {place} is no object with "words"', name, number)
        sentence, labels = _sentence(part, name, number, f"sentence {place}: ")
        if labels:
            raise FormatError(f"sentence {place}: {next(iter(labels))!r} labels a sentence inside a document; give it "
                              "to the document", name, number)  # fmt: skip
        found.append(sentence)
    labels = {k: _label(k, v, name, number) for k, v in record.items() if k != SENTENCES and v is not None}
    return LayeredDocument(labels, found), True


def _sentence(
    record: Mapping[str, Any], name: str, number: int, prefix: str = ""
) -> tuple[LayeredSentence, dict[str, str]]:
    words = _symbols(WORDS, record[WORDS], name, number, prefix)
    sentence, labels = LayeredSentence(words, source=name, line=number), {}
    for key, value in record.items():
        if key == BEFORE:
            if not isinstance(value, Mapping):
                raise FormatError(f'{prefix}"before" must be an object of layers', name, number)
            for layer, symbols in value.items():
                found = _symbols(layer, symbols, name, number, prefix)
                _check_length(layer, found, len(words) + 1, "its words and its end", name, number, prefix)
                sentence.before[layer] = found
        elif key == TREE:
            continue
        elif isinstance(value, (list, tuple)) and key != WORDS:
            sentence.layers[key] = _symbols(key, value, name, number, prefix)
            _check_length(key, sentence.layers[key], len(words), "its words", name, number, prefix)
        elif key != WORDS and value is not None:
            labels[key] = _label(key, value, name, number)
    if record.get(TREE) is not None:
        _add_tree(sentence, record[TREE], name, number, prefix)
    return sentence, labels


def _add_tree(sentence: LayeredSentence, tree: Any, name: str, number: int, prefix: str) -> None:
    """Add the layers of a sentence's bracketed parse; those that the sentence has already stay as they are."""
    if not isinstance(tree, str):
        raise FormatError(f'{prefix}"tree" must be a string, a bracketed parse of the sentence', name, number)
    try:
        parsed = [one for document in read_trees([tree], name) for one in document.sentences]
    except FormatError as error:
        raise FormatError(f"{prefix}{error.message}", name, number) from None
    if len(parsed) != 1:
        raise FormatError(f'{prefix}"tree" holds {len(parsed)} trees, and a sentence has one', name, number)
    check_same_words(parsed[0].words, sentence.words, name, number, prefix)
    sentence.layers = {**parsed[0].layers, **sentence.layers}
    sentence.before = {**parsed[0].before, **sentence.before}


def check_same_words(tree: Sequence[str], text: Sequence[str], name: str, number: int, prefix: str = "") -> None:
    """Raise FormatError unless a tree has the words of its sentence."""
    if list(tree) != list(text):
        at = next((i for i, (a, b) in enumerate(zip(tree, text)) if a != b), min(len(tree), len(text)))
        have = [repr(words[at]) if at < len(words) else "its end" for words in (tree, text)]
        raise FormatError(f"{prefix}tree: word {at + 1} is {have[0]}, and the text has {have[1]}", name, number)


def _check_length(
    layer: str, found: list[str], expected: int, of: str, name: str, number: int, prefix: str
) -> None:
    if len(found) != expected:
        message = f"{prefix}layer {layer!r} has {len(found)} symbols, and the sentence needs {expected}, for {of}"
        raise FormatError(message, name, number)


def _symbols(layer: str, value: Any, name: str, number: int, prefix: str) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(issubclass(kind, str) for kind in set(map(type, value))):
        raise FormatError(f"{prefix}{layer!r} must be a list of strings", name, number)
    return list(value)


def _label(key: str, value: Any, name: str, number: int) -> str:
    if not isinstance(value, (str, int)):
        raise FormatError(f"{key!r} must be a string or a whole number, the label of a document", name, number)
    return str(value)


def _joined(parts: Iterable[tuple[LayeredDocument, bool]]) -> Iterator[LayeredDocument]:
    """Join consecutive sentences with the same labels to one document."""
    open_: LayeredDocument | None = None
    for document, whole in parts:
        if open_ is not None and not whole and document.labels == open_.labels:
            open_.sentences += document.sentences
            continue
        if open_ is not None:
            yield open_
        open_ = None if whole else document
        if whole:
            yield document
    if open_ is not None:
        yield open_


# ---- lines of tagged words, columns ----------------------------------------------------------------------------------
def read_tagged(lines: Iterable[str], name: str) -> Iterator[LayeredDocument]:
    """Yield one document of the lines ``word/tag word/tag``."""
    found = []
    for number, line in enumerate(lines, start=1):
        pairs = [token.rpartition("/") for token in line.split()]
        for word, _, tag in pairs:
            if not word or not tag:
                raise FormatError(f"{word + tag!r} is no word/tag", name, number)
        if pairs:
            words, _, tags = (list(part) for part in zip(*pairs))
            found.append(LayeredSentence(words, {"tags": tags}, source=name, line=number))
    if found:
        yield LayeredDocument({}, found)


def read_columns(lines: Sequence[str], name: str, columns: Sequence[str] = ()) -> Iterator[LayeredDocument]:
    """Yield the documents of a CoNLL file; the columns after the word are ``columns``, by default "tags" alone."""
    columns = tuple(columns) or ("tags",)
    return _joined(_column_sentences(lines, name, columns))


def _column_sentences(
    lines: Sequence[str], name: str, columns: Sequence[str]
) -> Iterator[tuple[LayeredDocument, bool]]:
    labels: dict[str, str] = {}
    n_documents = 0
    rows: list[list[str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        if not line or line.isspace():
            if rows:
                words, *layers = (list(column) for column in zip(*rows))
                sentence = LayeredSentence(words, dict(zip(columns, layers)), source=name, line=number - len(rows))
                yield LayeredDocument(labels if n_documents < 2 else {**labels, "document": str(n_documents)},
                                      [sentence]), False  # fmt: skip
            rows = []
        elif line.startswith("#") and not rows:
            key, equals, value = line[1:].partition("=")
            if key.strip().startswith("newdoc"):
                n_documents, labels = n_documents + 1, {}
            elif equals:
                labels = {**labels, key.strip(): value.strip()}
        else:
            cells = line.split("\t") if "\t" in line else line.split()
            if len(cells) <= len(columns):
                message = f"{len(cells)} columns, and the word with {', '.join(columns)} needs {len(columns) + 1}"
                raise FormatError(message, name, number)
            rows.append(cells[: len(columns) + 1])


def read_trees(lines: Sequence[str], name: str) -> Iterator[LayeredDocument]:
    """Yield one document of bracketed trees."""
    from loglinear.formats.trees import exposed_heads, parse_trees

    found = []
    for number, tree in enumerate(parse_trees("\n".join(lines), name), start=1):
        words, tags, before = exposed_heads(tree)
        found.append(LayeredSentence(words, {"tags": tags}, before, name, number))
    if found:
        yield LayeredDocument({}, found)


READERS: dict[str, Callable[[Sequence[str], str], Iterator[LayeredDocument]]] = {
    "json": read_json,
    "tagged": read_tagged,
    "trees": read_trees,
}
