"""Evaluations as pages: the figures first, then what they are made of, charts, and the mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loglinear.display.bars import Bars
from loglinear.display.charts import Curve, Plot
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.report import classifier, input_method, language_model, reranker, spans
from loglinear.report.mistakes import mistake_table

Facts = Sequence[tuple[str, Any]]


def results(facts: Facts, **parts: Any) -> Section:
    """Return the section that a page begins with."""
    return Section("Results", tables=[Table(("", "value"), list(facts))], **parts)


def classifier_sections(found: Mapping[str, Any]) -> list[Section]:
    """Return the sections on ``evaluate`` of a classifier."""
    by_class = [("F1", row["label"], row["f1"]) for row in found["classes"]]
    sections = [results(classifier.score_facts(found))]
    tables = [classifier.score_table(found)]
    if "confusion" in found:
        tables.append(classifier.confusion_table(found))
    bars = [Bars("F1 by class", [(str(label), value) for _, label, value in by_class])] if len(by_class) > 1 else []
    sections.append(Section("Classes", tables=tables, bars=bars))
    if "calibration" in found:
        sections.append(calibration_section(found["calibration"]))
    return [*sections, *mistake_sections(found)]


def calibration_section(found: Mapping[str, Any]) -> Section:
    """Return the section on how far probabilities can be trusted."""
    bins = found["bins"]
    curve = Curve("predictions", [b["probability"] for b in bins], [b["accuracy"] for b in bins])
    agreement = Curve("where the two agree", [0.0, 1.0], [0.0, 1.0])
    plot = Plot("Share of right predictions by their probability", [curve, agreement], "probability", "share right")
    rows = [(f"{b['low']:.1f} to {b['high']:.1f}", b["n"], b["probability"], b["accuracy"]) for b in bins]
    table = Table(("probability", "predictions", "mean probability", "share right"), rows)
    told = (
        f"A prediction of probability p is right in a share p of the cases, if probabilities can be trusted: here the "
        f"two differ by {found['error']:.4f} on average."
    )
    return Section("Calibration", [told], tables=[table], plots=[plot])


def tagger_sections(found: Mapping[str, Any]) -> list[Section]:
    """Return the sections on ``evaluate`` of a tagger: spans by type, or labels, and their confusions."""
    bars = []
    if found["f1"] is not None and found["types"]:
        bars = [Bars("F1 by type", [(row["type"] or "(no type)", row["f1"]) for row in found["types"]])]
    title = "Labels" if found["f1"] is None else "Spans"
    sections = [results(spans.score_facts(found)), Section(title, tables=spans.score_tables(found), bars=bars)]
    if "calibration" in found:
        sections.append(calibration_section(found["calibration"]))
    return [*sections, *mistake_sections(found)]


def parser_sections(facts: Facts, found: Mapping[str, Any]) -> list[Section]:
    """Return the sections on ``evaluate`` of a parser."""
    names = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
    spelt = {"f1": "F1", "exact_match": "exact match", "tag_accuracy": "tag accuracy"}
    return [results(facts, bars=[Bars("Percent", [(spelt.get(n, n), 100 * found[n]) for n in names])])]


def language_model_sections(
    found: Mapping[str, Any], against: Mapping[str, Any] | None = None, name: str = ""
) -> list[Section]:
    """Return the sections on ``evaluate`` of a language model, beside those figures of another on the same text."""
    facts = language_model.evaluation_facts(found)
    hits = Bars("Tokens by the longest n-gram found", [(str(n), hits) for n, hits in enumerate(found["hits"], 1)])
    bars = []
    if against is not None:
        facts += language_model.difference_facts(found, against, name)
        bars = [Bars("Perplexity", [("this model", found["perplexity"]), (name, against["perplexity"])])]
    return [
        results(facts, bars=bars),
        Section("N-grams found", tables=[language_model.hit_table(found)], bars=[hits]),
    ]


def reranker_sections(found: Mapping[str, Any]) -> list[Section]:
    """Return the sections on ``evaluate`` of a reranker."""
    names = (("reranked", "the reranker's choice"), ("baseline", "the baseline"), ("oracle", "the oracle"))
    bars = Bars("Error rate, percent", [(told, 100 * found[name]["rate"]) for name, told in names])
    return [results(reranker.score_facts(found), bars=[bars])]


def input_method_sections(found: Mapping[str, Any]) -> list[Section]:
    """Return the sections on ``evaluate`` of an input method."""
    rates = [("the conversion", 100 * found["cer"]), (f"the oracle of {found['k']}", 100 * found["oracle_cer"])]
    if found.get("comparison") is not None:
        rates.insert(1, ("without the reranker", 100 * found["comparison"]["rate_first"]))
    return [results(input_method.score_facts(found), bars=[Bars("Character error rate, percent", rates)])]


def mistake_sections(found: Mapping[str, Any]) -> list[Section]:
    """Return the section on the most confident mistakes, where they were asked for."""
    if not found.get("errors"):
        return []
    told = "Each with what spoke for the predicted label against the gold one, as contributions to their scores."
    return [Section("Most confident mistakes", [told], tables=[mistake_table(found["errors"])])]
