"""Input methods: what is typed to the candidates of what is meant, also in the order of a reranker."""

from __future__ import annotations

from typing import Any

from loglinear.models.push import push_dicts
from loglinear.models.reranker.predictor import RerankerPredictor
from loglinear.serve.abilities import Ability, Operation, Served
from loglinear.serve.requests import BadRequest, Field


def convert(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the best candidates of a reading, and which n-grams and readings gave the first its score."""
    model, reading = served.model, asked["reading"].strip()
    if not reading:
        return {"candidates": [], "words": []}
    reranker = None
    if asked["reranker"]:
        reranker = served.all.get(asked["reranker"])
        if not isinstance(reranker, RerankerPredictor):
            raise BadRequest(f"no reranker is served under the name {asked['reranker']!r}")
    found = model.decode([reading], asked["k"], distinct="text", reranker=reranker)
    words = found.texts[0].split()
    explained = model.explain(reading, words)
    return {
        "candidates": [
            {"text": model.text_of(text), "words": text.split(), "log_probability": log_p}
            for text, log_p in zip(found.texts, found.log_probability.tolist())
        ],
        "words": [
            {"word": one.word, "reading": one.reading, "log_probability": one.log_probability, "unknown": one.unknown,
             "pushes": push_dicts(one.pushes[: asked["top"]])}
            for one in explained.tokens
        ],
    }  # fmt: skip


def describe(model: Any) -> dict[str, Any]:
    """Return what is typed and the size of the lexicon."""
    return {
        "reads": "digits" if model.readings == "keypad" else "readings",
        "n_words": len(model.lexicon_.surfaces), "n_readings": len(model.lexicon_.readings),
    }  # fmt: skip


ABILITY = Ability(
    {
        "convert": Operation(
            "The most probable conversions of what is typed",
            {
                "reading": Field("text", "what is typed", required=True, most=500),
                "k": Field("whole", "how many candidates to tell", 5, least=1, most=100),
                "reranker": Field("text", "the name of a served reranker that orders the candidates", "", most=200),
                "top": Field("whole", "how many n-grams to tell for each word", 5, most=1000),
            },
            convert,
        )
    },
    describe,
)
