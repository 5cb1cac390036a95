"""English typed on the keys of a telephone: an input method is adapted from one kind of text to another.

The background is the language reference (pydoc's topics); the domain to adapt to, docstrings of the standard library.
Words are typed as digits with blanks between them, so that most key sequences are ambiguous. The lexicon has the words
of both texts; the language model is trained on the background alone. A paragraph or docstring belongs to the training,
dev or test text as a whole, by a hash of its text. Only words of letters are typed: all punctuation is on one key and
would cause most errors.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from loglinear.demo.docstrings import Corpus, stdlib_docstrings, topic_paragraphs
from loglinear.demo.sentences import part_of, sentences
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.features.lexicon import digits
from loglinear.models import InputMethod, Reranker

SETTINGS: dict[str, Any] = {"readings": "keypad"}
_QUICK_PARAGRAPHS = 400  # of the background in the quick version
_MIN_WORDS = 3  # of a sentence
_MAX_EXAMPLE_WORDS = 14  # of the sentence shown, so that it fits a line
_STEPS = 5000  # of boosting and of BLasso
_N_LEARNT, _N_OTHERS = 8, 4  # words shown, and words on the same keys shown beside each
_COLUMNS = (
    "text", "adaptation", "character errors", "best of 20", "errors avoided", "weights or n-grams added", "seconds",
)  # fmt: skip


class KeypadText(NamedTuple):
    """Sentences of words joined by blanks: of the background and of the domain to adapt to."""

    background: list[str]
    background_test: list[str]
    train: list[str]
    dev: list[str]
    test: list[str]


def keypad_text(corpus: Corpus | None = None, *, quick: bool = False) -> KeypadText:
    """Return the text of a corpus that was read before, or of this Python's documentation if it is None."""
    corpus = stdlib_docstrings(quick=quick) if corpus is None else corpus
    paragraphs = list(dict.fromkeys(text for _, _, text in topic_paragraphs()))
    if corpus.quick:
        paragraphs = paragraphs[:_QUICK_PARAGRAPHS]
    reference = set(paragraphs)
    documents = [text for text in dict.fromkeys(corpus.documents) if text not in reference]
    parts: dict[tuple[str, str], list[str]] = {}
    for name, texts in (("reference", paragraphs), ("docstrings", documents)):
        for text in texts:
            parts.setdefault((name, part_of(text)), []).extend(_words(sentences([text])))
    keys = [("docstrings", part) for part in ("train", "validation", "test")]
    return KeypadText(*(parts.get(key, []) for key in [("reference", "train"), ("reference", "test"), *keys]))


def _words(lines: Iterable[str]) -> Iterator[str]:
    """Yield the sentences reduced to words of letters, if at least three remain."""
    for line in lines:
        words = [word for word in line.split() if word.isascii() and word.isalpha()]
        if len(words) >= _MIN_WORDS:
            yield " ".join(words)


def run(corpus: Corpus) -> list[Section]:
    """Return the section on input methods: one kind of text, another, and three ways to adapt to it."""
    text = keypad_text(corpus)
    if not (text.background and text.background_test and text.train and text.dev and text.test):
        return []  # this Python comes without its language reference
    model = InputMethod(**SETTINGS).fit(text.background, dictionary=text.train)
    before = model.evaluate(text.test)
    rows = [
        _row("the language reference", "none", model.evaluate(text.background_test)),
        _row("docstrings", "none", before),
        _interpolated(model, text, before),
    ]
    began = time.perf_counter()
    lists, dev = model.candidate_lists(text.train), model.candidate_lists(text.dev)
    converting = time.perf_counter() - began
    rerankers: dict[str, Reranker] = {}
    for method, name in (("boosting", "reranker by boosting"), ("blasso", "reranker by BLasso")):
        reranker = rerankers[method] = model.adapt(lists, dev, method, max_iterations=_STEPS)
        score = model.evaluate(text.test, reranker=reranker)
        seconds = converting + reranker.fit_seconds_
        rows.append(_row("docstrings", name, score, before, len(reranker.feature_weights()), seconds))
    return [
        Section(
            "Typing on nine keys",
            [
                f"Typing on nine keys: an input method makes {rows[1][2]} character errors in text of another domain "
                f"than its own, and {min((row[2] for row in rows[2:]), key=_share)} once it is adapted.",
                f"An input method of {len(text.background):,} sentences of the language reference: "
                f"{len(model.lexicon_.surfaces):,} words, {len(model.lexicon_.readings):,} ways to type them; "
                f"{before['sentences_per_second']:,.0f} sentences a second to 20 candidates, exactly. Of "
                f"{before['n_sentences']:,} sentences of docstrings {before['n_uncovered']:,} have a word that it "
                "lacks, which stands as it was typed.",
                f"It is adapted by {len(text.train):,} other sentences of docstrings: by mixing its language model "
                "with theirs (MAP), or by a reranker, which learns a few weights to choose among 20 candidates and "
                "leaves the language model alone.",
                "Below: a sentence as typed, as meant, as converted before and with the reranker by BLasso.",
            ],
            quote=_example(model, rerankers["blasso"], text.test),
            tables=[Table(_COLUMNS, rows), _learnt(model, rerankers["blasso"])],
        )
    ]


def _interpolated(model: InputMethod, text: KeypadText, before: Mapping[str, Any]) -> tuple[Any, ...]:
    began = time.perf_counter()
    adapted = model.adapt_language_model(text.train, text.dev)
    seconds = time.perf_counter() - began
    added = sum(adapted.language_model_.n_ngrams_) - sum(model.language_model_.n_ngrams_)
    name = f"MAP, {adapted.domain_weight_:.0%} of the domain"
    return _row("docstrings", name, adapted.evaluate(text.test), before, added, seconds)


def _row(
    text: str, adaptation: str, score: Mapping[str, Any], before: Mapping[str, Any] | None = None,
    n_added: int | None = None, seconds: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    avoided = None
    if before is not None:
        avoided = f"{(before['n_errors'] - score['n_errors']) / max(before['n_errors'], 1):.1%}"
    rounded = None if seconds is None else round(seconds, 2)
    return text, adaptation, f"{score['cer']:.2%}", f"{score['oracle_cer']:.2%}", avoided, n_added, rounded


def _share(text: str) -> float:
    return float(text.rstrip("%"))


def _learnt(model: InputMethod, reranker: Reranker) -> Table:
    """Return the words with the largest weights among those that share their keys with others."""
    rows = []
    for name, weight in reranker.feature_weights():
        kind, _, word = name.partition(": ")
        others = [other for other, _ in model.lexicon_.words(digits(word)) if other != word] if kind == "word" else []
        if others:
            rows.append((word, digits(word), f"{weight:+.2f}", ", ".join(others[:_N_OTHERS])))
        if len(rows) == _N_LEARNT:
            break
    return Table(("word", "typed as", "weight", "words on the same keys"), rows, "Words that BLasso learnt to write")


def _example(model: InputMethod, reranker: Reranker, sentences: list[str]) -> str:
    """Return the first short sentence that the reranker corrects: typed, meant, converted before and after."""
    typed = [" ".join(digits(word) for word in sentence.split()) for sentence in sentences]
    before, after = model.convert(typed), model.convert(typed, reranker=reranker)
    short = [i for i, right in enumerate(sentences) if right.count(" ") < _MAX_EXAMPLE_WORDS]
    i = next((i for i in short if before[i] != sentences[i] == after[i]), 0)
    return "\n".join([typed[i], sentences[i], before[i], after[i]])
