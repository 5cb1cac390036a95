"""English typed on the keys of a telephone: an input method of the language reference, met with docstrings.

The background is the language reference (pydoc's topics); the domain to adapt to, docstrings of the standard library.
Words are typed as digits, blanks between them, so that most keys could mean several words. The lexicon has the words of
both, the language model has read the background alone. A paragraph or docstring is trained on, tuned on or tested on as
a whole, by a hash of its text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from loglinear.demo.corpus import Corpus, stdlib_docstrings, topic_paragraphs
from loglinear.demo.prose import part_of, sentences
from loglinear.features.keypad import digits
from loglinear.metrics.conversion import ConversionScore
from loglinear.models import InputMethod
from loglinear.report import Section, Table

SETTINGS: dict[str, Any] = {"readings": "keypad"}
_QUICK_PARAGRAPHS = 400


class KeypadText(NamedTuple):
    """Sentences of words joined by blanks: to build the input method of, and of the domain to adapt it to."""

    background: list[str]
    background_test: list[str]
    train: list[str]
    dev: list[str]
    test: list[str]


def keypad_text(corpus: Corpus | None = None, *, quick: bool = False) -> KeypadText:
    """The text; that of a corpus already read, or of this Python's documentation."""
    corpus = stdlib_docstrings(quick=quick) if corpus is None else corpus
    paragraphs = list(dict.fromkeys(text for _, _, text in topic_paragraphs()))
    if corpus.quick:
        paragraphs = paragraphs[:_QUICK_PARAGRAPHS]
    reference = set(paragraphs)
    documents = [text for text in dict.fromkeys(corpus.documents) if text not in reference]
    parts: dict[tuple[str, str], list[str]] = {}
    for name, texts in (("reference", paragraphs), ("docstrings", documents)):
        for text in texts:
            parts.setdefault((name, part_of(text)), []).extend(sentences([text]))
    keys = [("docstrings", part) for part in ("train", "validation", "test")]
    return KeypadText(*(parts.get(key, []) for key in [("reference", "train"), ("reference", "test"), *keys]))


def run(corpus: Corpus) -> list[Section]:
    """What an input method of one kind of text makes of another, and what adapting its language model gives."""
    text = keypad_text(corpus)
    if not (text.background and text.background_test and text.train and text.dev and text.test):
        return []  # this Python comes without its language reference
    model = InputMethod(**SETTINGS).fit(text.background, dictionary=text.train)
    adapted = model.adapt_language_model(text.train, text.dev)
    rows = [
        _row("the language reference", "none", model.evaluate(text.background_test)),
        _row("docstrings", "none", model.evaluate(text.test)),
        _row("docstrings", "interpolation (MAP)", adapted.evaluate(text.test)),
    ]
    columns = ("text", "adaptation", "character errors", "best of 20", "words not in the lexicon", "sentences/s")
    example = min(text.test, key=lambda sentence: abs(len(sentence.split()) - 9))
    typed = " ".join(digits(word) for word in example.split())
    best = adapted.convert([typed], 3)[0]
    return [
        Section(
            "Typing on nine keys",
            [
                f"An input method of {len(text.background):,} sentences of the language reference: "
                f"{len(model.lexicon_.surfaces):,} words, {len(model.lexicon_.readings):,} ways to type them. "
                "Conversions are exact. Below: a sentence as typed, as meant, and the three best conversions."
            ],
            quote="\n".join([typed, example, *best]),
            tables=[Table(columns, rows)],
        )
    ]


def _row(text: str, adaptation: str, score: ConversionScore) -> tuple[str, str, str, str, int, int]:
    rates = f"{score.cer:.2%}", f"{score.oracle_cer:.2%}"
    return (text, adaptation, *rates, score.n_unknown, int(score.sentences_per_second))
