"""Documents in numbers: sentences, layers over their tokens, and labels of whole documents.

An *event* is a token to predict: the words of a sentence and its end, in the order of the text. Layers number their
symbols by first occurrence; a symbol that training has not seen has the number -1, and no feature.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.data.corpus import read_corpus
from loglinear.data.sentences import Sentences, UnknownWords
from loglinear.errors import FormatError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.layered import LayeredDocument, kind_of, read_layered, read_records

IntArray = NDArray[np.int32]
TEXT = "text"


@dataclass(frozen=True, eq=False)
class Layer:
    """Numbers of symbols, -1 for those that ``names`` lacks."""

    numbers: IntArray
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Documents:
    """Sentences of several documents with their layers; a plain text is one document without any."""

    sentences: Sentences
    document_ptr: NDArray[np.int64]  # [n_documents + 1] sentences
    layers: Mapping[str, Layer] = field(default_factory=dict)  # [n_tokens]
    before: Mapping[str, Layer] = field(default_factory=dict)  # [n_events]
    labels: Mapping[str, Layer] = field(default_factory=dict)  # [n_documents]
    places: tuple[str, ...] = ()  # where each document begins, for messages

    @property
    def n_documents(self) -> int:
        """Return the number of documents."""
        return self.document_ptr.size - 1

    @property
    def n_sentences(self) -> int:
        """Return the number of sentences."""
        return self.sentences.n_sentences

    @property
    def n_tokens(self) -> int:
        """Return the number of words, without the ends of sentences."""
        return self.sentences.n_tokens

    @property
    def unknown(self) -> UnknownWords | None:
        """Return the words that became <unk>."""
        return self.sentences.unknown

    @property
    def n_events(self) -> int:
        """Return the number of words and ends of sentences."""
        return self.sentences.n_tokens + self.sentences.n_sentences

    @cached_property
    def event_ptr(self) -> NDArray[np.int64]:
        """Return where each sentence begins among the events: [n_sentences + 1]."""
        return self.sentences.sentence_ptr + np.arange(self.sentences.n_sentences + 1)

    @cached_property
    def words(self) -> NDArray[np.uint32]:
        """Return the word of every event, 0 for ends: [n_events]."""
        return self.at_events(self.sentences.words, 0)

    def at_events(self, numbers: NDArray[Any], end: int) -> NDArray[Any]:
        """Return numbers of tokens as numbers of events, with ``end`` at the ends of sentences."""
        out = np.full(self.n_events, end, dtype=numbers.dtype)
        is_word = np.ones(self.n_events, dtype=bool)
        is_word[self.event_ptr[1:] - 1] = False
        out[is_word] = numbers
        return out

    @cached_property
    def position(self) -> NDArray[np.int64]:
        """Return the place of each event in its sentence, from 0."""
        return np.arange(self.n_events) - np.repeat(self.event_ptr[:-1], np.diff(self.event_ptr))

    @cached_property
    def document_of_events(self) -> NDArray[np.int64]:
        """Return the document of every event: [n_events]."""
        by_document = np.diff(self.event_ptr[self.document_ptr])
        return np.repeat(np.arange(self.n_documents), by_document)

    def place(self, document: int) -> str:
        """Return where a document begins."""
        return self.places[document] if document < len(self.places) else f"document {document + 1}"

    def subset(self, documents: Sequence[int] | NDArray[np.integer[Any]]) -> Documents:
        """Return some of the documents."""
        chosen = np.asarray(documents, dtype=np.int64)
        ranges = [np.arange(self.document_ptr[d], self.document_ptr[d + 1]) for d in chosen]
        kept = np.concatenate(ranges) if ranges else np.empty(0, np.int64)
        ptr = self.sentences.sentence_ptr
        tokens = _ranges(ptr[kept], ptr[kept + 1])
        events = _ranges(self.event_ptr[kept], self.event_ptr[kept + 1])
        sentence_ptr = np.concatenate([[0], np.cumsum(ptr[kept + 1] - ptr[kept])])
        return Documents(
            Sentences(self.sentences.n_words, self.sentences.words[tokens], sentence_ptr),
            np.concatenate([[0], np.cumsum([r.size for r in ranges])]).astype(np.int64),
            {name: Layer(layer.numbers[tokens], layer.names) for name, layer in self.layers.items()},
            {name: Layer(layer.numbers[events], layer.names) for name, layer in self.before.items()},
            {name: Layer(layer.numbers[chosen], layer.names) for name, layer in self.labels.items()},
            tuple(self.place(int(d)) for d in chosen),
        )

    def with_labels(self, name: str, numbers: IntArray, names: Sequence[str]) -> Documents:
        """Return the documents with other labels."""
        labels = {**self.labels, name: Layer(np.asarray(numbers, np.int32), tuple(names))}
        return Documents(self.sentences, self.document_ptr, self.layers, self.before, labels, self.places)


def _ranges(begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all numbers of several ranges, one after the other."""
    lengths = end - begin
    out = np.arange(int(lengths.sum()))
    return out + np.repeat(begin - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)


def plain_documents(sentences: Sentences, document_ptr: NDArray[np.int64] | None = None) -> Documents:
    """Return sentences as documents without layers, by default as one."""
    if document_ptr is None:
        document_ptr = np.array([0, sentences.n_sentences])
    return Documents(sentences, np.asarray(document_ptr, np.int64))


@dataclass(frozen=True)
class Numbering:
    """How symbols are numbered: the vocabulary of words and the names of every layer, as training found them."""

    vocabulary: WordVocabulary
    layers: Mapping[str, tuple[str, ...]]
    before: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, documents: Documents, vocabulary: WordVocabulary) -> Numbering:
        """Return the numbering of documents."""
        return cls(
            vocabulary,
            {name: layer.names for name, layer in documents.layers.items()},
            {name: layer.names for name, layer in documents.before.items()},
            {name: layer.names for name, layer in documents.labels.items()},
        )


def iterate_documents(source: Any, kind: str | None = None, columns: Sequence[str] = ()) -> Iterator[LayeredDocument]:
    """Yield the documents of a file, of several files, or of an iterable of dicts (formats/layered.py)."""
    if isinstance(source, (str, os.PathLike)):
        found = kind or kind_of(source)
        if found is None:
            raise ValueError(f"{source}: the name does not tell its format; give it: json, columns, tagged or trees")
        yield from read_layered(source, found, columns=columns)
        return
    items = list(source)
    if items and isinstance(items[0], LayeredDocument):
        yield from items
    elif items and isinstance(items[0], (str, os.PathLike)):
        for item in items:
            yield from iterate_documents(item, kind, columns)
    else:
        yield from read_records(((item, n) for n, item in enumerate(items, start=1)), "<documents>")


def is_layered(source: Any, kind: str | None = None) -> bool:
    """Return whether a source holds documents with layers rather than plain text."""
    if kind is not None:
        return kind != TEXT
    if isinstance(source, (str, os.PathLike)):
        return kind_of(source) is not None
    if isinstance(source, (list, tuple)) and source:
        first = source[0]
        if isinstance(first, (list, tuple)):  # a sentence of words
            return False
        return isinstance(first, (Mapping, LayeredDocument)) or is_layered(first)
    return False


def number_documents(
    source: Iterable[LayeredDocument], *, like: Numbering | None = None, min_count: int = 1,
    max_words: int | None = None, vocabulary: Any = None, unknown: str = "token", reserved: str = "error",
) -> tuple[Documents, Numbering]:
    """Number documents: with ``like``, as training did; else by a new vocabulary, chosen as ``read_corpus`` does.

    Raises FormatError for a layer that only some sentences have, naming the first that lacks it.
    """
    documents = list(source)
    flat = [sentence for document in documents for sentence in document.sentences]
    if not flat:
        raise FormatError("there are no sentences; give documents with at least one")
    options: dict[str, Any] = {"unknown": unknown, "reserved": reserved}
    if like is not None:
        options = {"vocabulary": like.vocabulary, "reserved": reserved}
    elif vocabulary is not None:
        key = "vocabulary_file" if isinstance(vocabulary, (str, os.PathLike)) else "vocabulary"
        options[key] = vocabulary
    else:
        options |= {"min_count": min_count, "max_words": max_words}
    for sentence in flat:
        if not sentence.words:
            raise FormatError("a sentence has no words", sentence.source, sentence.line)
    sentences, words = read_corpus([sentence.words for sentence in flat], **options)
    tables: list[dict[str, Layer]] = []
    for kind in ("layers", "before"):
        known = None if like is None else getattr(like, kind)
        names = dict.fromkeys(name for sentence in flat for name in getattr(sentence, kind))
        found = {}
        for name in names:
            for sentence in flat:
                if name not in getattr(sentence, kind):
                    raise FormatError(f"the sentence lacks the layer {name!r}, which others have", sentence.source,
                                      sentence.line)  # fmt: skip
            symbols = chain.from_iterable(getattr(sentence, kind)[name] for sentence in flat)
            found[name] = _numbered(symbols, None if known is None else known.get(name, ()))
        tables.append(found)
    labels = {
        name: _numbered((d.labels.get(name) for d in documents), None if like is None else like.labels.get(name, ()))
        for name in dict.fromkeys(name for document in documents for name in document.labels)
    }
    places = tuple(f"{d.sentences[0].source}:{d.sentences[0].line}" if d.sentences else "" for d in documents)
    document_ptr = np.cumsum([0, *(len(d.sentences) for d in documents)])
    result = Documents(sentences, document_ptr, tables[0], tables[1], labels, places)
    return result, like or Numbering.of(result, words)


def _numbered(symbols: Iterable[str | None], known: tuple[str, ...] | None) -> Layer:
    given = list(symbols)
    names = tuple(symbol for symbol in dict.fromkeys(given) if symbol is not None) if known is None else known
    numbers: dict[str | None, int] = {name: n for n, name in enumerate(names)}
    find: Callable[[str | None, int], int] = numbers.get
    return Layer(np.fromiter(map(find, given, repeat(-1)), np.int32, len(given)), names)
