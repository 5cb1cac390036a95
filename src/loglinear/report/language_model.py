"""Language models as facts and tables: what a model holds, how it was trained, how two of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loglinear.display.bars import Bars
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.formats.text import plain_line
from loglinear.metrics.comparison import Comparison, Part
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.optimise.stopping import describe

Facts = list[tuple[str, str]]
_LONGEST = 90  # characters of a sentence in a table
_MOST_STRENGTHS = 14
_CHOSEN = (
    "strengths", "strength", "depth_growth", "feature_decay", "group_norm", "l2", "n_parameters", "discounts",
)  # fmt: skip


# ---- a model --------------------------------------------------------------------------------------------------------
def model_facts(model: LanguageModelPredictor) -> dict[str, Any]:
    """Return what a model holds, as plain values."""
    facts = {
        "order": model.order_,
        "estimator": model.estimator,
        "units": model.units,
        "words": model.vocabulary_.n_words,
        "open": model.vocabulary_.is_open,
        "ngrams": list(model.n_ngrams_),
        "states": model.queries_.n_states,
        "bytes": model.queries_.nbytes,
    }
    if hasattr(model, "counts_"):
        facts["ngrams_counted"] = list(model.counts_)
    if model.estimator == "maxent":
        facts["penalty"] = model.penalty
    return facts | _learnt(model, _CHOSEN)


def _learnt(model: LanguageModelPredictor, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(model, name + "_") for name in names if hasattr(model, name + "_")}


def model_sections(
    model: LanguageModelPredictor, top: int = 10, tuning: Sequence[dict[str, Any]] | None = None
) -> list[Section]:
    """Return the same as tables, with the trials of tuning and the most probable first words of a sentence."""
    facts = model_facts(model)
    tables = [_order_table(facts)]
    if _has_classes(facts):
        tables.append(_class_table(facts["strengths"]))
    if tuning:
        tables.append(_tuning_table(tuning, _tuned_values(facts)))
    size = f"{facts['words']:,} words ({'open' if facts['open'] else 'closed'} vocabulary), {facts['bytes']:,} bytes"
    sections = [Section("N-grams", [size + " of arrays for queries"], tables=tables)]
    if top > 0:
        words = [(word, p) for word, p in model.top("", top)]
        first = Table(("word", "probability"), words)
        sections.append(Section("First words", bars=[Bars("Probability", words)], plain=[first]))
    return sections


# ---- training -------------------------------------------------------------------------------------------------------
def training_summary(model: LanguageModelPredictor, path: str) -> dict[str, Any]:
    """Return how a model was trained, as plain values."""
    summary = {
        "model": path,
        "tokens": model.n_tokens_,
        "words": model.vocabulary_.n_words,
        "order": model.order_,
        "estimator": model.estimator,
        "ngrams_counted": list(model.counts_),
        "ngrams": list(model.n_ngrams_),
        "weights": int(model.n_weights_),
        **({"penalty": model.penalty} if model.estimator == "maxent" else {}),
        **({"adapted": True} if getattr(model, "base", None) is not None else {}),
        "status": model.status_,
        "converged": bool(model.converged_),
        "passes": model.n_iter_,
        "seconds": model.fit_seconds_,
    }
    if hasattr(model, "validation_score_"):
        summary |= {"dev_score": model.validation_score_, "dev_perplexity": perplexity(model.validation_score_, 1)}
    learnt = ("objective", "gap", "gap_is_bound", "solver", "tuning", "tuning_status", "stage_seconds", "disjointness")
    return summary | _learnt(model, (*_CHOSEN, *learnt))


def training_facts(summary: dict[str, Any]) -> Facts:
    """Return the summary as names and texts."""
    facts = [
        ("tokens", f"{summary['tokens']:,} (ends of sentences included)"),
        ("words", f"{summary['words']:,}"),
        ("estimator", f"{summary['estimator']}, order {summary['order']}"),
    ]
    if "objective" in summary:
        facts.append(("objective", f"{summary['objective']:.8g}"))
        facts.append(("training", f"{summary['status']}: {describe(summary['gap'], summary['gap_is_bound'])}"))
        facts.append(("passes", f"{summary['passes']:,}"))
        if "tuning_status" in summary:
            facts.append(("tuning", summary["tuning_status"]))
        if "depth_growth" in summary:
            facts.append((summary["penalty"], _tree_settings(summary)))
        if "disjointness" in summary:
            facts.append(("taken for disjoint", _disjointness(summary["disjointness"])))
        facts.append(_kept(summary))
        facts.append(("parameters", f"{summary['n_parameters']:,} (equal weights on a path without branches: one)"))
    if "dev_perplexity" in summary:
        facts.append(("perplexity on dev", f"{summary['dev_perplexity']:.4f}"))
    for stage, seconds in summary.get("stage_seconds", {}).items():
        facts.append((f"seconds {stage}", f"{seconds:.2f}"))
    return [*facts, ("seconds", f"{summary['seconds']:.2f}"), ("model", summary["model"])]


def _disjointness(found: Mapping[str, Any]) -> str:
    """Return in words what it cost to take sources for disjoint."""
    terms = f"{found['terms']:.3g} terms instead of {found['exact_terms']:.3g}"
    return f"{terms}; log Z is off by {found['mean']:.2g} per token, at most {found['largest']:.2g}"


def _kept(summary: dict[str, Any]) -> tuple[str, str]:
    """Return how many n-grams a model has. One that adapts a base keeps that one's n-grams, which its text may lack."""
    kept, counted = f"{summary['weights']:,}", f"{sum(summary['ngrams_counted']):,}"
    if summary.get("adapted"):
        return "n-grams kept", f"{kept}, those of the base included; {counted} are in the text"
    return "weights kept", f"{kept} of {counted}"


def _tree_settings(summary: dict[str, Any]) -> str:
    """Return the settings of a tree penalty in words."""
    settings = [f"strength {summary['strength']:.4g}", f"depth growth {summary['depth_growth']:.4g}"]
    if "feature_decay" in summary:
        settings.append(f"feature decay {summary['feature_decay']:.4g}")
    settings.append(f"l2 {summary['l2']:.4g}")
    if summary.get("group_norm") == "plain":
        settings.append("plain norms")
    return ", ".join(settings)


def training_tables(summary: dict[str, Any]) -> list[Table]:
    """Return tables of the trials of tuning, of n-grams by order, and of strengths by class."""
    return [
        *([_tuning_table(summary["tuning"], _tuned_values(summary))] if "tuning" in summary else []),
        _order_table(summary),
        *([_class_table(summary["strengths"])] if _has_classes(summary) else []),
    ]


def _has_classes(summary: dict[str, Any]) -> bool:
    """Return whether strengths are by class. Those of trees are by order, up to orders that the model may lack."""
    return "depth_growth" not in summary and len(summary.get("strengths", [])) > summary["order"]


def _order_table(summary: dict[str, Any]) -> Table:
    columns, rows = ["order", "n-grams"], [[n, kept] for n, kept in enumerate(summary["ngrams"], 1)]
    if len(summary.get("ngrams_counted", [])) >= len(rows):
        columns.append("counted")
        rows = [[*row, counted] for row, counted in zip(rows, summary["ngrams_counted"])]
    classes = summary.get("strengths", [])
    if len(classes) >= len(rows) and not _has_classes(summary):
        first = "group" if "group" in classes[0] else "l1"  # a tree penalty has groups, with a strength each
        columns += [first, "l2"]
        rows = [[*row, c[first], c["l2"]] for row, c in zip(rows, classes)]
    if "discounts" in summary:
        columns.append("discounts")
        rows = [[*row, str(d)] for row, d in zip(rows, summary["discounts"])]
    return Table(columns, rows)


def _class_table(classes: Sequence[dict[str, Any]]) -> Table:
    kinds = [kind for kind in ("group", "l1", "l2") if any(kind in c for c in classes)]
    return Table(("n-grams", *kinds), [(c["ngrams"], *(c.get(k, "") for k in kinds)) for c in classes],
                 "Strengths by class")  # fmt: skip


def _tuned_values(summary: Mapping[str, Any]) -> str:
    """Return what the strengths of a trial of tuning are."""
    if "depth_growth" in summary:
        return "strength, depth growth, l2"
    if any(str(c.get("ngrams", "")).startswith("class by") for c in summary.get("strengths", [])):
        return "factor of the strengths, of classes and then of words"
    of_trees = any("group" in c for c in summary.get("strengths", []))
    return "strength, depth growth, l2 by source" if of_trees else "strengths: l1 by order, l2 by order"


def _tuning_table(trials: Sequence[dict[str, Any]], values: str) -> Table:
    """Return the perplexity of every trial on the dev set; its strengths are shown if they fit on a line."""
    few = len(trials[0]["strengths"]) <= _MOST_STRENGTHS
    columns = ["trial", "perplexity on dev", "weights kept", "better", "seconds"]
    rows: list[list[Any]] = []
    for i, t in enumerate(trials, 1):
        number = f"{i} *" if t.get("chosen") else str(i)  # files of version 0.1.0 lack these two
        better = "yes" if t["accepted"] else ""
        rows.append([number, t["perplexity"], t.get("nonzero_weights"), better, f"{t['seconds']:.1f}"])
        if few:
            rows[-1].insert(1, " ".join(f"{s:.3g}" for s in t["strengths"]))
    if few:
        columns.insert(1, values)
    note = "* is the model" + ("" if few else "; --json has the strengths of every trial")
    return Table(columns, rows, "Strengths tried", note)


# ---- evaluation -----------------------------------------------------------------------------------------------------
def evaluation_facts(found: Mapping[str, Any]) -> Facts:
    """Return the figures of ``evaluate`` as names and texts."""
    n_unknown = found["n_unknown"]
    facts = [
        ("sentences", f"{found['n_sentences']:,}"),
        ("tokens", f"{found['n_tokens']:,} (ends of sentences included)"),
        ("perplexity", f"{found['perplexity']:.4f}"),
        ("without unknown words", f"{found['perplexity_without_unknown']:.4f}"),
        ("unknown words", f"{n_unknown:,} ({n_unknown / max(found['n_words'], 1):.2%} of the words)"),
    ]
    if found.get("unknown_examples"):
        told = ", ".join(f"{plain_line(one['word'])} (line {one['line']})" for one in found["unknown_examples"])
        facts.append(("for instance", told))
    return facts


def difference_facts(found: Mapping[str, Any], against: Mapping[str, Any], name: str) -> Facts:
    """Return by how much the perplexity differs from that of another model on the same text."""
    ours, theirs = found["perplexity"], against["perplexity"]
    difference = f"{ours - theirs:+.4f} ({ours / theirs - 1:+.2%})"
    return [(f"perplexity of {name}", f"{theirs:.4f}"), ("difference", difference)]


def hit_table(found: Mapping[str, Any]) -> Table:
    """Return a table of tokens by the length of the n-gram found."""
    rows = [(n, hits, f"{hits / found['n_tokens']:.2%}") for n, hits in enumerate(found["hits"], 1)]
    return Table(("order hit", "tokens", "share"), rows)


# ---- mixtures -------------------------------------------------------------------------------------------------------
def mixture_table(names: Sequence[str], weights: Sequence[float], perplexities: Mapping[str, Sequence[float]]) -> Table:
    """Return a table of the models and the mixture; ``perplexities``: by text, the mixture's and then the models'."""
    columns = ("model", "weight", *(f"perplexity on {text}" for text in perplexities))
    rows = [(name, w, *(p[i] for p in perplexities.values())) for i, (name, w) in enumerate(zip(names, weights), 1)]
    return Table(columns, [*rows, ("mixture", float(sum(weights)), *(p[0] for p in perplexities.values()))])


# ---- comparisons ----------------------------------------------------------------------------------------------------
def comparison_facts(found: Comparison, first: str, second: str) -> Facts:
    """Return how much two models differ, as names and texts."""
    low, high = found.interval
    better = second if found.difference < 0 else first
    verdict = f"{better} is better" if found.p_value < 0.05 else "this may be chance"
    return [
        ("sentences", f"{found.n_sentences:,}"),
        ("tokens", f"{found.n_tokens:,} (ends of sentences included)"),
        (f"perplexity of {first}", f"{found.perplexity_first:.4f}"),
        (f"perplexity of {second}", f"{found.perplexity_second:.4f}"),
        ("difference", f"{found.difference:+.4f} (95%: {low:+.4f} to {high:+.4f})"),
        ("p-value", f"{found.p_value:.4g} ({found.n_samples:,} samples of sentences): {verdict}"),
    ]


def comparison_tables(found: Comparison, first: str, second: str) -> list[Table]:
    """Return tables of where two models differ."""
    note = f"gain: log-probability by {second} minus that by {first}, in nats"
    return [
        _parts(found.bands, "word occurs in the text", "By frequency"),
        _parts(found.orders_first, "n-gram found", f"By order hit in {first}"),
        _parts(found.orders_second, "n-gram found", f"By order hit in {second}"),
        _parts(found.words, "word", "Words"),
        _parts(found.sentences, "sentence", "Sentences", note),
    ]


def _parts(parts: Sequence[Part], what: str, title: str, note: str = "") -> Table:
    columns = (what, "tokens", "perplexity of the first", "of the second", "gain")
    rows = [(_short(p.name), p.n_tokens, p.perplexity_first, p.perplexity_second, p.difference) for p in parts]
    return Table(columns, rows, title, note)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."
