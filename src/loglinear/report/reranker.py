"""Reports on rerankers: the weights of a model, its path, and error rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loglinear.display.bars import Bars
from loglinear.display.charts import Curve, Plot
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.models.reranker.predictor import RerankerPredictor
from loglinear.optimise.stopping import describe

_ROWS = 12  # of the table of a path, which fits a screen


def model_facts(model: RerankerPredictor) -> dict[str, Any]:
    """Return sizes and weights as plain values."""
    return {
        "base_weights": model.base_weights(),
        "features": len(model.feature_weights()),
        "points": model.path_.n_points,
        "chosen": model.chosen_,
        "no_change": model.no_change_,
        "path": path_rows(model),
    }


def model_sections(model: RerankerPredictor, top: int) -> list[Section]:
    """Return the sections on base scores, the strongest features and the path."""
    base = Table(("base score", "weight"), list(model.base_weights().items()))
    sections = [Section("Base scores", [verdict(model)] if verdict(model) else [], tables=[base])]
    if top > 0 and model.feature_weights(1):
        found = model.feature_weights()
        bars = [
            Bars(title, chosen[:top], is_signed=True)
            for title, chosen in (
                ("features of better candidates", [pair for pair in found if pair[1] > 0]),
                ("features of worse candidates", [pair for pair in found if pair[1] < 0]),
            )
            if chosen
        ]
        tables = [Table((one.title, "weight"), one.rows) for one in bars]
        sections.append(Section("Features with the largest weights", bars=bars, plain=tables))
    sections.append(path_section(model))
    return sections


def path_rows(model: RerankerPredictor) -> list[dict[str, Any]]:
    """Return the figures of some points of the path, including the first, the chosen and the last."""
    path = model.path_
    even = np.linspace(0, path.point.size - 1, min(_ROWS, path.point.size)).round().astype(int)
    rows = []
    for i in np.union1d(even, [path.index(model.chosen_)]).tolist():
        row: dict[str, Any] = {"point": int(path.point[i])}
        if path.strength is not None:
            row["strength"] = float(path.strength[i]) if np.isfinite(path.strength[i]) else None
        row |= {"loss": float(path.loss[i]), "l1": float(path.l1[i]), "features": int(path.n_nonzeros[i])}
        if path.validation_errors is not None:
            errors = float(path.validation_errors[i])
            row["dev_errors"] = int(errors) if errors.is_integer() else errors
        rows.append({**row, "chosen": row["point"] == model.chosen_})
    return rows


def path_section(model: RerankerPredictor) -> Section:
    """Return the path as a table and as a plot."""
    path = model.path_
    plots = []
    if path.validation_errors is not None and path.point.size > 1:
        curve = Curve("held-out lists", path.point.tolist(), path.validation_errors.tolist())
        plots.append(Plot("Errors along the path", [curve], "point", "errors"))
    ended = f"The path ended at point {path.n_points - 1}: {path.stopped}."
    return Section("Path", [ended], tables=[path_table(path_rows(model))], plots=plots)


def path_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return points of a path as a table; that of the model has a star."""
    names = [name for name in rows[0] if name not in ("point", "chosen")]
    cells = [(f"{row['point']} *" if row["chosen"] else row["point"], *(row[name] for name in names)) for row in rows]
    columns = ("point", *(name.replace("_", " ") for name in names))
    return Table(columns, cells, note="* is the model; point 0 is no change")


def verdict(model: RerankerPredictor) -> str:
    """Return a sentence that compares the model with no change on the held-out lists; empty if there are none."""
    path = model.path_
    baseline = getattr(model, "validation_baseline_errors_", None)
    if path.validation_errors is None:
        return ""
    if model.no_change_:
        which = "the base score alone" if len(model.base_names_) == 1 else "the base scores alone"
        return f"No change wins: on the held-out lists no point of the path makes fewer errors than {which}."
    chosen, first = path.validation_errors[path.index(model.chosen_)], path.validation_errors[0]
    if isinstance(baseline, (int, float)) and baseline < chosen:
        return (
            f"The first candidates as given make {baseline:g} errors in the held-out lists, fewer than any point of "
            f"the path ({chosen:g}): add a base score that keeps their order, such as rank."
        )
    return f"Errors in the held-out lists: {chosen:g}, and {first:g} without a change."


def training_facts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (name, value) of each number that training found."""
    weights = ", ".join(f"{name} {weight:.4g}" for name, weight in summary["base_weights"].items())
    facts = [
        ("method", summary["method"]),
        ("lists", f"{summary['lists']:,}"),
        ("features", f"{summary['features']:,}"),
        ("base scores", weights or "none"),
        ("path", f"{summary['points']:,} points, {summary['stopped']}"),
        ("model", f"point {summary['chosen']:,}" + (", no change" if summary["no_change"] else "")),
        ("features with a weight", f"{summary['nonzero_features']:,}"),
        ("loss", f"{summary['loss']:.6g}"),
        ("L1 norm", f"{summary['l1']:.6g}"),
    ]
    if "strength" in summary:
        facts.append(("strength", f"{summary['strength']:g}"))
    if "gap" in summary:
        facts.append(("training", describe(summary["gap"], summary["gap_is_bound"])))
    return [*facts, ("seconds", f"{summary['seconds']:.1f}")]


_RATES = {
    "words": "word error rate", "characters": "character error rate", "bleu": "1 - BLEU, mean of lists",
    "chrf": "1 - chrF, mean of lists", "ter": "translation edit rate",
}  # fmt: skip


def score_facts(scores: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures of ``evaluate`` as names and texts."""
    rate = _RATES[scores["units"]]
    reranked, compared = scores["reranked"], scores["comparison"]
    low, high = compared["interval"]
    return [
        ("lists", f"{reranked['n_lists']:,}{_length(reranked['length'], scores['units'])}"),
        (rate, _rate(reranked)),
        *((name, _rate(scores[name])) for name in ("baseline", "oracle", "worst")),
        ("difference", f"{compared['difference']:+.2%} ({low:+.2%} to {high:+.2%})"),
        ("reduction", _share(compared["reduction"], "the baseline has no errors")),
        ("of what the oracle saves", _share(scores["oracle_share"], "it saves nothing")),
        ("lists better, worse", f"{compared['n_better']:,}, {compared['n_worse']:,}"),
        ("p-value", f"{compared['p_bootstrap']:.2g} (bootstrap), {compared['p_matched_pairs']:.2g} (matched pairs)"),
    ]


def _length(length: float, units: str) -> str:
    return "" if units in ("bleu", "chrf") else f", {length:,.0f} {'tokens' if units == 'ter' else units}"


def _share(value: float, otherwise: str) -> str:
    return f"{value:.1%}" if np.isfinite(value) else otherwise


def _rate(found: Mapping[str, Any]) -> str:
    low, high = found["interval"]
    return f"{found['rate']:.2%} ({low:.2%} to {high:.2%}), {found['n_errors']:,.0f} errors"
