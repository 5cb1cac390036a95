"""Rerankers: the candidates of a list in their order, with what sets each apart from the first."""

from __future__ import annotations

from typing import Any

from loglinear.formats.nbest import list_of_record
from loglinear.models.push import push_dicts
from loglinear.serve.abilities import Ability, Operation, Served
from loglinear.serve.requests import Field

_MOST = 200  # candidates
_CANDIDATES = "texts, or objects with 'text' and 'score' or 'scores'"


def rerank(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the candidates, best first, each with its score and with what sets it apart from the best."""
    if not asked["candidates"]:
        return {"candidates": []}
    one = list_of_record({"hypotheses": asked["candidates"]}, 1, "the request")
    explained = served.model.explain(one)
    best = explained.chosen
    return {
        "candidates": [
            {
                "text": candidate.text, "place": candidate.place, "score": candidate.score,
                "pushes": push_dicts(candidate.pushes[: asked["top"]]),
                "apart": push_dicts(candidate.against(best)[: asked["top"]]),
            }
            for candidate in explained.candidates
        ]
    }  # fmt: skip


def describe(model: Any) -> dict[str, Any]:
    """Return the names of the base scores and the number of weights."""
    return {
        "reads": "candidates", "scores": list(model.base_names_), "n_weights": len(model.feature_weights()),
        "units": model.units,
    }  # fmt: skip


ABILITY = Ability(
    {
        "rerank": Operation(
            "The candidates of one list, best first, with what sets each apart",
            {
                "candidates": Field("list", _CANDIDATES, required=True, most=_MOST),
                "top": Field("whole", "how many features to tell for each candidate", 8, most=1000),
            },
            rerank,
        )
    },
    describe,
)
