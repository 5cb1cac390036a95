"""Taggers: the labels of a sentence, their probabilities, and what pushed each."""

from __future__ import annotations

from typing import Any

from loglinear.display.numbers import both_forms
from loglinear.formats.sentences import tokenise
from loglinear.models.push import push_dicts
from loglinear.serve.abilities import Ability, Operation, Served
from loglinear.serve.requests import BadRequest, Field

_LONGEST = 500  # tokens


def tag(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the best label of each token, its probability, other labels, and the attributes of largest effect."""
    model = served.model
    tokens = _tokens(model, asked)
    if not tokens:
        return {"tokens": [], "log_probability": 0.0, "nbest": []}
    if len(tokens) > _LONGEST:
        raise BadRequest(f"the sentence must have at most {_LONGEST} tokens, not {len(tokens)}")
    inputs = [tokens]
    explained = model.explain(tokens)
    (marginals,) = model.predict_marginals(inputs)
    found = []
    for token, one, shares in zip(tokens, explained.tokens, marginals):
        others = sorted(shares.items(), key=lambda item: -item[1])[: asked["labels"]]
        found.append(
            {
                "token": token if isinstance(token, dict) else token[0], "label": str(one.label),
                "probability": one.probability, "score": one.score, "step": one.step, "base": one.base,
                "labels": [{"label": str(label), "probability": p} for label, p in others],
                "pushes": push_dicts(one.pushes[: asked["top"]]),
            }
        )  # fmt: skip
    (nbest,) = model.predict_nbest(inputs, asked["nbest"], logarithms=True)
    return {
        "tokens": found, "log_probability": explained.log_probability,
        "nbest": [{"labels": [str(label) for label in labels]} | both_forms(p) for labels, p in nbest],
    }  # fmt: skip


def _tokens(model: Any, asked: dict[str, Any]) -> list[Any]:
    """Return the tokens of a request as the model reads them: rows of columns, or attributes."""
    if (asked["text"] is None) == (asked["tokens"] is None):
        raise BadRequest("give either 'text' or 'tokens'")
    if not model.reader_.reads_columns:
        if asked["tokens"] is None:
            raise BadRequest("the model reads attributes: give 'tokens', an object or a list of attributes each")
        return list(asked["tokens"])
    if asked["tokens"] is not None:
        rows = [[token] if isinstance(token, str) else token for token in asked["tokens"]]
    elif _n_needed(model) == 1 and "\n" not in asked["text"].strip():
        rows = [[token] for token in tokenise(asked["text"])]
    else:
        rows = [line.split() for line in asked["text"].splitlines() if line.strip()]
    return [_filled(model, row) for row in rows]


def _n_needed(model: Any) -> int:
    """Return how many columns a row must have, those after the last that templates read left out."""
    return max(model.reader_.columns_read, default=0) + 1


def _filled(model: Any, row: Any) -> tuple[str, ...]:
    """Return a row with the columns of training, of which those that nothing reads may be absent."""
    if not isinstance(row, list) or not row or not all(isinstance(value, str) and value for value in row):
        raise BadRequest("a token must be a word, or a list of words: its columns")
    n, needed = model.reader_.n_columns or 1, _n_needed(model)
    if not needed <= len(row) <= n:
        wanted = f"{needed}" if needed == n else f"{needed} to {n}"
        raise BadRequest(f"a token must have {wanted} columns, but one has {len(row)}: {row}"[:200])
    return (*row, *[""] * (n - len(row)))


def describe(model: Any) -> dict[str, Any]:
    """Return what the model reads and its labels."""
    columns = model.reader_.reads_columns
    return {
        "reads": "columns" if columns else "attributes", "n_columns": _n_needed(model) if columns else None,
        "labels": [str(label) for label in model.classes_[:1000]], "scheme": model.scheme_,
    }  # fmt: skip


ABILITY = Ability(
    {
        "tag": Operation(
            "The labels of one sentence, with probabilities and the attributes that pushed each",
            {
                "text": Field("text", "a sentence; for several columns a token per line, blanks between columns"),
                "tokens": Field("list", "the tokens: words, lists of columns, or attributes", most=_LONGEST),
                "labels": Field("whole", "how many labels to tell for each token", 5, least=1, most=1000),
                "nbest": Field("whole", "how many labellings of the whole sentence to tell", 3, least=1, most=100),
                "top": Field("whole", "how many attributes to tell for each token", 5, most=1000),
            },
            tag,
        )
    },
    describe,
)
