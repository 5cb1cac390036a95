"""Language models: the next words after a text, the probability of each word of a text, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.models.push import push_dicts
from loglinear.serve.abilities import Ability, Operation, Served
from loglinear.serve.requests import BadRequest, Field

_LONGEST = 500  # words or characters of a sentence
_TRIED = 200_000  # words that are compared with the beginning of a word


def next_words(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the most probable next words and what gives each its probability; with ``prefix``, those that begin so."""
    model = served.model
    context = _units(model, asked["text"])
    if not asked["prefix"]:
        words = model.top(context, asked["k"])
    else:
        shares = model.next_distribution(context)
        words, vocabulary = [], model.vocabulary_
        for number in np.argsort(-shares, kind="stable")[:_TRIED].tolist():
            if (word := vocabulary.word(number)).startswith(asked["prefix"]):
                words.append((word, float(shares[number])))
                if len(words) == asked["k"]:
                    break
    told = words[: asked["explained"]]
    pushes = [push_dicts(one.pushes) for one in model.explain_next(context, [word for word, _ in told])]
    pushes += [[] for _ in words[len(told) :]]
    return {"words": [{"word": word, "probability": p, "pushes": own} for (word, p), own in zip(words, pushes)]}


def score(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the probability of every word of a sentence and what each n-gram adds to it."""
    explained = served.model.explain(_units(served.model, asked["text"]))
    return {
        "log_probability": explained.log_probability, "perplexity": explained.perplexity,
        "tokens": [
            {"word": one.word, "log_probability": one.log_probability, "unknown": one.unknown, "order": one.order,
             "pushes": push_dicts(one.pushes[: asked["top"]])}
            for one in explained.tokens
        ],
    }  # fmt: skip


def _units(model: Any, text: str) -> list[str]:
    units = list(model.split(text))
    if len(units) > _LONGEST:
        raise BadRequest(f"the text must have at most {_LONGEST} {model.units}, not {len(units)}")
    return units


def describe(model: Any) -> dict[str, Any]:
    """Return the units of the model and its size."""
    size = {"order": model.order_, "n_words": len(model.vocabulary_)}
    return {"reads": model.units, "estimator": model.estimator, **size}


_TEXT = Field("text", "the text, a sentence from its beginning", required=True)
ABILITY = Ability(
    {
        "next": Operation(
            "The most probable words after a text, with the n-grams that gave them",
            {
                "text": _TEXT,
                "prefix": Field("text", "the beginning of the next word", "", most=200),
                "k": Field("whole", "how many words to tell", 10, least=1, most=1000),
                "explained": Field("whole", "for how many of them to tell the n-grams", 10, most=100),
            },
            next_words,
        ),
        "score": Operation(
            "The probability of each word of a sentence, with the n-grams that gave it",
            {"text": _TEXT, "top": Field("whole", "how many n-grams to tell for each word", 10, most=1000)},
            score,
        ),
    },
    describe,
)
