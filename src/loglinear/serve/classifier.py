"""Classifiers: the classes of a text or of features, with what pushed each."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.models.classifier.files import kind_of
from loglinear.models.push import push_dicts
from loglinear.serve.abilities import Ability, Operation, Served
from loglinear.serve.requests import BadRequest, Field, check_numbers, check_words

# The kind of examples that a model reads -> the field of the request.
_GIVEN = {"text": "text", "tokens": "tokens", "features": "features", "matrix": "values"}


def predict(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the most probable classes and the features of largest effect on each."""
    model = served.model
    explained = model.explain(_example(model, asked))
    ranked = sorted(explained.probabilities, key=lambda label: -explained.probabilities[label])[: asked["classes"]]
    return {
        "label": str(explained.predicted),
        "classes": [
            {
                "label": str(label), "probability": explained.probabilities[label], "score": explained.scores[label],
                "intercept": explained.intercepts[label], "n_features": len(explained.pushes[label]),
                "pushes": push_dicts(explained.top(asked["top"], label)),
            }
            for label in ranked
        ],
    }  # fmt: skip


def _example(model: Any, asked: dict[str, Any]) -> Any:
    kind = kind_of(model)
    given = [name for name in _GIVEN.values() if asked[name] is not None]
    if kind == "tokens" and given == ["text"]:
        return asked["text"].split()
    if given != [_GIVEN[kind]]:
        raise BadRequest(f"the model reads {kind}: give the field '{_GIVEN[kind]}' and no other example")
    if kind == "tokens":
        return check_words("tokens", asked["tokens"])
    if kind == "features":
        return check_numbers("features", asked["features"])
    if kind == "matrix":
        values = list(check_numbers("values", dict(enumerate(asked["values"]))).values())
        if len(values) != model.n_features_in_:
            raise BadRequest(f"'values' must be {model.n_features_in_} numbers, not {len(values)}")
        return np.array(values)
    return asked["text"]


def describe(model: Any) -> dict[str, Any]:
    """Return what the model reads and its classes."""
    return {
        "reads": kind_of(model), "n_features": int(model.n_features_in_), "n_classes": len(model.classes_),
        "classes": [str(label) for label in model.classes_[:100].tolist()],
    }  # fmt: skip


ABILITY = Ability(
    {
        "predict": Operation(
            "The most probable classes of one example, with the features that pushed each",
            {
                "text": Field("text", "the example, for models of text"),
                "tokens": Field("list", "the example, for models of tokens"),
                "features": Field("object", "the example, for models of named features: numbers by name"),
                "values": Field("list", "the example, for models of numbers", most=100_000),
                "classes": Field("whole", "how many classes to tell, the most probable first", 10, least=1, most=1000),
                "top": Field("whole", "how many features to tell for each class", 10, most=1000),
            },
            predict,
        )
    },
    describe,
)
