"""Input methods as facts and tables: what a model holds, how well it converts, how it was adapted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.models.input_method.files import Adaptation
from loglinear.models.input_method.predictor import InputMethodPredictor
from loglinear.report.language_model import model_facts as language_model_facts
from loglinear.report.reranker import path_rows

_MOST = 10


def model_facts(model: InputMethodPredictor) -> dict[str, Any]:
    """Return the sizes of the lexicon and of the language model."""
    lexicon = model.lexicon_
    return {
        "words": len(lexicon.surfaces),
        "readings": len(lexicon.readings),
        "pairs": lexicon.n_lexemes,
        "order": model.language_model_.order_,
        "ngrams": language_model_facts(model.language_model_)["ngrams"],
    }


def model_sections(model: InputMethodPredictor, top: int) -> list[Section]:
    """Return a table of the readings with most words."""
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


def score_facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures of ``evaluate`` as names and texts."""
    return [
        ("sentences", f"{found['n_sentences']:,}, {found['n_characters']:,} characters"),
        ("character error rate", f"{found['cer']:.2%}"),
        *_comparison_facts(found.get("comparison")),
        (f"oracle of {found['k']}", f"{found['oracle_cer']:.2%}"),
        ("sentences without error", f"{found['sentence_accuracy']:.2%}"),
        ("sentences not covered", f"{found['n_uncovered']:,}, with words or readings that the lexicon lacks"),
        ("words left as typed", f"{found['n_unknown']:,}"),
        ("sentences per second", f"{found['sentences_per_second']:,.0f}, to {found['k']} candidates"),
    ]


def _comparison_facts(found: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    low, high = found["interval"]
    return [
        ("without the reranker", f"{found['rate_first']:.2%}"),
        ("errors avoided", f"{found['reduction']:.1%}"),
        ("difference", f"{found['difference']:+.2%}, 95% between {low:+.2%} and {high:+.2%}"),
        ("p-value", f"{found['p_matched_pairs']:.2g} (matched pairs), {found['p_bootstrap']:.2g} (bootstrap)"),
        ("better, worse sentences", f"{found['n_better']:,}, {found['n_worse']:,}"),
    ]


# ---- adaptation -----------------------------------------------------------------------------------------------------
def adaptation_dict(done: Adaptation) -> dict[str, Any]:
    """Return the result of an adaptation as plain values."""
    found: dict[str, Any] = {
        "method": done.method,
        "sentences": done.coverage.n_sentences,
        "uncovered": done.coverage.n_uncovered,
        "candidates": done.k,
    }
    if isinstance(done.made, InputMethodPredictor):
        found |= {"domain_weight": done.made.domain_weight_, "dev_perplexities": done.made.validation_perplexities_}
    else:
        path = done.made.path_
        found |= {
            "features": done.made.n_features_,
            "point": path.chosen,
            "points": path.n_points,
            "nonzeros": len(done.made.feature_weights()),
            "no_change": done.made.no_change_,
            "stopped": done.made.status_,
        }
        if done.validation is not None:
            found["tuning"] = path_rows(done.made)
    if done.validation is not None:
        found["dev"] = {**done.validation._asdict(), "reduction": done.validation.reduction}
    return {**found, "seconds": done.seconds}


def adaptation_facts(done: Adaptation) -> list[tuple[str, str]]:
    """Return the same as names and texts."""
    found = adaptation_dict(done)
    facts = [("method", done.method), ("sentences", f"{found['sentences']:,}, {found['uncovered']:,} not covered")]
    if isinstance(done.made, InputMethodPredictor):
        facts.append(("weight of the domain", f"{done.made.domain_weight_:.3f}"))
        told = ", ".join(f"{name} {value:.1f}" for name, value in done.made.validation_perplexities_.items())
        facts += [("held-out perplexity", told)] if told else []
    else:
        facts += [
            ("features", f"{found['nonzeros']:,} of {found['features']:,} have a weight"),
            ("path", f"point {found['point']:,} of {found['points'] - 1:,}; {found['stopped']}"),
        ]
    if done.validation is not None:
        before, after, oracle = done.validation
        told = f"{after:.2%}, {before:.2%} before ({done.validation.reduction:.1%} avoided); oracle of {done.k}"
        told += f": {oracle:.2%}"
        facts.append(("held-out character errors", told))
    if found.get("no_change"):
        facts.append(("note", "no change is best on the held-out text: the reranker leaves the order as it is"))
    return [*facts, ("seconds", f"{done.seconds:.1f}")]
