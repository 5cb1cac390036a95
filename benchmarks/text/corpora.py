"""Corpora of labelled texts, each written as TSV and as fastText's format: its training part and its test part."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

Text = tuple[str, str]  # label, text


@dataclass(frozen=True)
class Corpus:
    """A corpus, and the strengths that five-fold cross-validation on its training part chooses for ``log_tfidf``."""

    about: str
    parts: Callable[[Path], tuple[list[Text], list[Text]]]
    strength: float


def lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def r8(data: Path) -> tuple[list[Text], list[Text]]:
    train, test = ([tuple(line.split("\t", 1)) for line in lines(data / "r8" / f"{p}.tsv.gz")]
                   for p in ("train", "test"))  # fmt: skip
    return train, test


def reuters(data: Path) -> tuple[list[Text], list[Text]]:
    """Return the documents of the ModApte split that have one topic, of topics with ten documents or more."""
    found: dict[str, list[Text]] = {"train": [], "test": []}
    for line in lines(data / "reuters" / "modapte.tsv.gz"):
        part, topics, text = line.split("\t", 2)
        if topics and "," not in topics and part in found:
            found[part].append((topics, text))
    counts: dict[str, int] = {}
    for topic, _ in found["train"]:
        counts[topic] = counts.get(topic, 0) + 1
    train, test = ([item for item in found[p] if counts.get(item[0], 0) >= 10] for p in ("train", "test"))
    return train, test


def brown(n_sentences: int, n_train: int | None = None) -> Callable[[Path], tuple[list[Text], list[Text]]]:
    """Return pieces of so many sentences with their genres; every fifth document is for testing."""

    def parts(data: Path) -> tuple[list[Text], list[Text]]:
        found: tuple[list[Text], list[Text]] = ([], [])
        rows = (line.split("\t") for line in lines(data / "brown" / "brown.tsv.gz"))
        for number, ((_, genre), document) in enumerate(groupby(rows, key=lambda row: (row[0], row[1]))):
            sentences = [" ".join(token.rsplit("/", 1)[0] for token in row[2].split()) for row in document]
            for start in range(0, len(sentences), n_sentences):
                found[number % 5 == 4].append((genre, " ".join(sentences[start : start + n_sentences])))
        n_all = len(found[0])
        n = min(n_train or n_all, n_all)
        return [found[0][i * n_all // n] for i in range(n)], found[1]

    return parts


CORPORA = {
    "r8": Corpus("R8: newswire, 8 topics", r8, 0.005),
    "reuters": Corpus("Reuters-21578, ModApte: documents with one topic", reuters, 0.005),
    "brown": Corpus(
        "Brown: 20,000 pieces of two sentences, 15 genres, tested on other documents", brown(2, 20_000), 0.3
    ),
    "long": Corpus("Brown: pieces of twenty sentences, 15 genres, tested on other documents", brown(20), 0.1),
}


def write(corpus: Corpus, data: Path, folder: Path, every: int) -> tuple[int, int, int]:
    """Write train.tsv (each n-th text), test.tsv, and the same for fastText; return the numbers of texts and labels."""
    train, test = corpus.parts(data)
    train = train[::every]
    for name, texts in (("train", train), ("test", test)):
        plain = [(label, " ".join(text.split())) for label, text in texts]
        (folder / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in plain), encoding="utf-8")
        (folder / f"{name}.txt").write_text("".join(f"__label__{a} {b.lower()}\n" for a, b in plain), encoding="utf-8")
    return len(train), len(test), len({label for label, _ in train})
