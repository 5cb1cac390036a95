"""A trained tagger as a report: a heat map of label successions and the strongest attributes of every label."""

from __future__ import annotations

from typing import Any

from loglinear.display.bars import Bars
from loglinear.display.page import Section
from loglinear.models.tagger.predictor import TaggerPredictor
from loglinear.report.heat_map import attribute_table, strongest_attributes, transition_table

_MOST_LABELS, _WIDTH = 12, 110  # labels and characters of a heat map that fits a terminal


def tagger_sections(model: TaggerPredictor, top: int = 10, most: int | None = None) -> list[Section]:
    """Return a heat map of the ``most`` labels with the largest transition weights, and ``top`` attributes per label.

    A ``most`` of None is the number of labels that fits a terminal.
    """
    labels = [str(label) for label in model.classes_]
    width = 3 + sum(max(6, len(label)) for label in labels) // len(labels)
    most = max(4, min(_MOST_LABELS, _WIDTH // width - 1)) if most is None else most
    heat_map = transition_table(labels, model.transition_matrix(), most=most)
    told = ["Weights from label to label: red attracts, blue repels."]
    if model.scheme_ is not None:
        told.insert(0, f"Labels follow the scheme {model.scheme_}.")
    sections = [Section("Transitions", told, tables=[heat_map])]
    weights = _state_weights(model)
    if weights and top > 0:
        bars = [
            Bars(label, [*speak_for, *against[::-1]], is_signed=True)
            for label, (speak_for, against) in strongest_attributes(weights, top).items()
            if speak_for or against
        ]
        sections.append(Section("Strongest attributes", bars=bars, plain=[attribute_table(weights, top)]))
    return sections


def tagger_facts(model: TaggerPredictor, top: int = 10) -> dict[str, Any]:
    """Return the same as plain values, for JSON."""
    steps = sorted(model.transition_features_.items(), key=lambda item: -abs(item[1]))
    strongest = strongest_attributes(_state_weights(model), top)
    return {
        "labels": list(model.classes_),
        "scheme": model.scheme_,
        "transitions": [{"from": a, "to": b, "weight": weight} for (a, b), weight in steps],
        "top_features": {label: [*for_it, *against] for label, (for_it, against) in strongest.items()},
    }


def _state_weights(model: TaggerPredictor) -> list[tuple[str, str, float]]:
    """Return (attribute, label, weight) of all weights, labels in the order of the model."""
    number = {str(label): k for k, label in enumerate(model.classes_)}
    found = [(attribute, str(label), weight) for (attribute, label), weight in model.state_features_.items()]
    return sorted(found, key=lambda entry: number[entry[1]])
