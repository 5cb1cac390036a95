"""The texts: disjoint subsets of Brown, PTB and Gutenberg, made like those of Nelakanti et al. (2013), section 6.

A corpus is a list of documents, a document a list of sentences, a sentence a list of words. Documents are shuffled with
a fixed seed and split into a piece to choose strengths on (30,000 words to train, 10,000 to validate) and four subsets
(100,000 to train, 20,000 to test). If documents are marked (Brown's samples, Gutenberg's books) no two pieces share
one; PTB is one long text, whose pieces are consecutive.

Words are in lower case. Numbers become ``#n``, proper nouns ``<proper_noun>`` if they are tagged (Brown), and words
that are rare in the whole corpus ``<unknown>``, which is a word like any other. The vocabulary of a piece is the words
of its training text, about 8,500; other words of its test text do not count in perplexities.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from loglinear.data.corpus import read_corpus
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary

Sentence = list[str]
Document = list[Sentence]

PROPER_NOUN, NUMBER, UNKNOWN = "<proper_noun>", "#n", "<unknown>"
RARE = {"brown": 2, "ptb": 0, "gutenberg": 1}  # words with at most this count are unknown; in PTB they already are
FRONT_WORDS, BOOK_WORDS = 500, 5000  # of a book: skipped (title, contents) and taken (few: many books per subset)
MARK = re.compile(r"^\* ?\* ?\* ?(start|end) of (?:this|the) project gutenberg ebook (.*?)[ *]*$")
ENDS, CLOSING = {".", "!", "?"}, {'"', "'", "”", "’", ")", "''", "]", "_"}


@dataclass(frozen=True)
class Sizes:
    """Numbers of words of the pieces, and the number of subsets."""

    train: int = 100_000
    test: int = 20_000
    tuning: int = 30_000
    validation: int = 10_000
    subsets: int = 4


@dataclass(frozen=True)
class Piece:
    """A training text, a test text, and the vocabulary of the training text."""

    train: Sentences
    test: Sentences
    vocabulary: WordVocabulary


@dataclass(frozen=True)
class Pieces:
    tuning: Piece
    subsets: list[Piece]


def pieces_of(name: str, folder: Path, sizes: Sizes, n_threads: int | None = None) -> Pieces:
    """Read a corpus and split it into pieces."""
    documents = without_rare(READERS[name](folder), RARE[name])
    return deal(documents, sizes, shuffle=name != "ptb", n_threads=n_threads)


def without_rare(documents: list[Document], most: int) -> list[Document]:
    if most == 0:
        return documents
    counts = Counter(word for document in documents for sentence in document for word in sentence)
    known = {word: word for word, n in counts.items() if n > most}
    return [[[known.get(w, UNKNOWN) for w in sentence] for sentence in document] for document in documents]


def deal(documents: list[Document], sizes: Sizes, *, shuffle: bool = True, n_threads: int | None = None) -> Pieces:
    order = np.random.default_rng(0).permutation(len(documents)) if shuffle else range(len(documents))
    rest = iter([documents[i] for i in order])
    tuning = _piece(rest, sizes.tuning, sizes.validation, n_threads)
    subsets = [_piece(rest, sizes.train, sizes.test, n_threads) for _ in range(sizes.subsets)]
    return Pieces(tuning, subsets)


def _piece(rest: Iterator[Document], train: int, test: int, n_threads: int | None) -> Piece:
    texts = [take(rest, train), take(rest, test)]
    sentences, vocabulary = read_corpus(texts[0], n_threads=n_threads)
    return Piece(sentences, read_corpus(texts[1], vocabulary=vocabulary, n_threads=n_threads)[0], vocabulary)


def take(rest: Iterator[Document], n_words: int) -> list[Sentence]:
    """Take whole documents until there are ``n_words`` words; the rest of the last one is left out."""
    taken: list[Sentence] = []
    n = 0
    for document in rest:
        for sentence in document:
            taken.append(sentence)
            n += len(sentence)
            if n >= n_words:
                return taken
    raise SystemExit(f"the corpus is too small: {n:,} words where {n_words:,} were wanted")


# ---- readers ---------------------------------------------------------------------------------------------------------
def _lines(path: Path) -> Iterator[str]:
    source: IO[bytes]
    with gzip.open(path) as source:
        for line in source:
            yield line.decode("utf-8").rstrip("\n")


def plain(word: str) -> str:
    return NUMBER if any(c.isdigit() for c in word) else word.lower()


def brown(folder: Path) -> list[Document]:
    """Read lines of document TAB genre TAB word/tag ...; a document is a sample of about 2,000 words."""
    documents: dict[str, Document] = {}
    for line in _lines(folder / "brown" / "brown.tsv.gz"):
        name, _, tokens = line.split("\t")
        pairs = [token.rpartition("/")[::2] for token in tokens.split()]
        words = [PROPER_NOUN if tag.startswith("np") else plain(word) for word, tag in pairs]
        documents.setdefault(name, []).append(words)
    return list(documents.values())


def ptb(folder: Path) -> list[Document]:
    """Read the training file; every sentence is a document, so that pieces are consecutive."""
    return [[line.replace("<unk>", UNKNOWN).split()] for line in _lines(folder / "ptb" / "ptb.train.txt.gz")]


def gutenberg(folder: Path) -> list[Document]:
    """Read some words of each book, split into sentences.

    A book is the text between the marks of its beginning and its end. Books that occur again are taken once.
    """
    documents: list[Document] = []
    seen: set[str] = set()
    words: list[str] | None = None
    for line in _lines(folder / "gutenberg" / "gutenberg13m.txt.gz"):
        mark = MARK.match(line)
        if mark is None:
            if words is not None and len(words) < FRONT_WORDS + BOOK_WORDS:
                words += map(plain, line.split())
        elif mark[1] == "start":
            words = None if mark[2] in seen else []
            seen.add(mark[2])
        elif words is not None:
            if len(words) >= FRONT_WORDS + BOOK_WORDS:
                documents.append(split_sentences(words[FRONT_WORDS : FRONT_WORDS + BOOK_WORDS]))
            words = None
    return documents


def split_sentences(words: list[str]) -> Document:
    """Split after . ! or ? and closing quotes and brackets; the incomplete first and last sentences are dropped."""
    sentences: Document = []
    start = k = 0
    while k < len(words):
        if words[k] in ENDS:
            while k + 1 < len(words) and words[k + 1] in ENDS | CLOSING:
                k += 1
            sentences.append(words[start : k + 1])
            start = k + 1
        k += 1
    return sentences[1:]


READERS = {"brown": brown, "ptb": ptb, "gutenberg": gutenberg}
TITLES = {"brown": "Brown", "ptb": "PTB", "gutenberg": "Gutenberg"}
