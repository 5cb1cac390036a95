"""Input methods for people: what a model holds, how well it converts."""

from __future__ import annotations

from typing import Any

from loglinear.metrics.conversion import ConversionScore
from loglinear.models import InputMethod
from loglinear.report.html import Section
from loglinear.report.language_model import model_facts as language_model_facts
from loglinear.report.tables import Table

_MOST = 10


def model_facts(model: InputMethod) -> dict[str, Any]:
    """Sizes of the lexicon and of the language model."""
    lexicon = model.lexicon_
    return {
        "words": len(lexicon.surfaces),
        "readings": len(lexicon.readings),
        "pairs": lexicon.n_lexemes,
        "order": model.language_model_.order_,
        "ngrams": language_model_facts(model.language_model_)["ngrams"],
    }


def model_sections(model: InputMethod, top: int) -> list[Section]:
    """The readings with most words."""
    if top < 1:
        return []
    lexicon = model.lexicon_
    sizes = lexicon.reading_ptr[1:] - lexicon.reading_ptr[:-1]
    rows = []
    for number in (-sizes).argsort(kind="stable")[:top].tolist():
        reading = lexicon.readings[number]
        words = lexicon.words(reading)
        rows.append((reading, len(words), ", ".join(word for word, _ in words[:_MOST])))
    return [Section("Readings with most words", tables=[Table(("reading", "words", "the most frequent"), rows)])]


def score_facts(score: ConversionScore) -> list[tuple[str, str]]:
    """A score, one line for each number."""
    return [
        ("sentences", f"{score.n_sentences:,}, {score.n_characters:,} characters"),
        ("character error rate", f"{score.cer:.2%}"),
        (f"oracle of {score.k}", f"{score.oracle_cer:.2%}"),
        ("sentences without error", f"{score.n_exact / score.n_sentences:.2%}"),
        ("words not in the lexicon", f"{score.n_unknown:,}"),
        ("sentences per second", f"{score.sentences_per_second:,.0f}, to {score.k} candidates"),
    ]
