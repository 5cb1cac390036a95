"""Sentences that every Python carries: its documentation, as text for language models.

The text is the docstrings of the standard library and the paragraphs of pydoc's topics (the language reference).
Sentences end at full stops; they are lower-cased, and punctuation is separated from words. A docstring or paragraph
belongs to the training, validation or test text as a whole, by a hash of its text; repeated texts are taken once, and a
third of all texts is enough. The same Python gives the same sentences in every run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from loglinear.demo.docstrings import Corpus, topic_paragraphs

_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z\"'(<*])")
_TOKEN = re.compile(r"\w+(?:[.'_-]\w+)*|[^\w\s]")
_MIN_TOKENS = 3  # shorter pieces are no sentences
_TENTHS = {8: "validation", 9: "test"}  # by the last digit of the hash; the other tenths are for training
_SHARE = 3  # one text in three is taken, so that the demonstration takes seconds


class Prose(NamedTuple):
    """Sentences of tokens joined by blanks; ``about`` describes their source."""

    train: list[str]
    validation: list[str]
    test: list[str]
    about: str


def documentation(corpus: Corpus) -> Prose:
    """Return a third of the documents of a corpus and of the language reference; in the quick version all documents."""
    reference = [] if corpus.quick else [text for _, _, text in topic_paragraphs()]
    parts: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    for text in dict.fromkeys([*corpus.documents, *reference]):
        if corpus.quick or _number(text) // 10 % _SHARE == 0:
            parts[part_of(text)] += sentences([text])
    n_words = {name: sum(sentence.count(" ") + 1 for sentence in part) for name, part in parts.items()}
    sources = "docstrings of the standard library" + ("" if corpus.quick else " and the language reference")
    about = (
        f"{sources}: {n_words['train']:,} words to train on, {n_words['validation']:,} to tune on, "
        f"{n_words['test']:,} to test on"
    )
    return Prose(**parts, about=about)


def part_of(text: str) -> str:
    """Return the part that a text belongs to: "train", "validation" or "test"."""
    return _TENTHS.get(_number(text) % 10, "train")


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """Yield the sentences of at least three tokens, lower-cased, with blanks between tokens."""
    for text in texts:
        for sentence in _END.split(text):
            tokens = _TOKEN.findall(sentence.lower())
            if len(tokens) >= _MIN_TOKENS:
                yield " ".join(tokens)


def _number(text: str) -> int:
    """Return a hash of the text as a number, the same in every run."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).digest(), "big")
