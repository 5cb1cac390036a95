"""Parsers: the best trees of a sentence, with the probabilities of their constituents."""

from __future__ import annotations

from typing import Any

from loglinear.display.numbers import both_forms
from loglinear.formats.sentences import tokenise
from loglinear.formats.trees import Tree
from loglinear.models.push import push_dicts
from loglinear.serve.abilities import Ability, Operation, Served
from loglinear.serve.requests import BadRequest, Field, check_words

_LONGEST = 60  # words; the time grows with their cube
_BRACKETS = {"(": "-LRB-", ")": "-RRB-"}


def parse(served: Served, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the most probable trees, the first as nodes too, each with its probability and its features."""
    model, words = served.model, _words(asked)
    if not words:
        return {"words": [], "tree": None, "log_probability": 0.0, "nbest": [], "parts": []}
    inputs = model.encode([words])
    (nbest,) = model.predict_nbest(inputs, asked["nbest"], logarithms=True)
    if not nbest:
        raise BadRequest("the sentence has no tree under the grammar of the model")
    (marginals,) = model.predict_marginals(inputs, threshold=0.0)
    explained = model.explain(words)
    probability = {(begin, end, label): p for begin, end, label, p in marginals}
    parts = [
        {"rule": part.rule, "begin": part.begin, "end": part.end, "score": part.score, "base": part.base,
         "pushes": push_dicts(part.pushes[: asked["top"]])}
        for part in explained.parts
    ]  # fmt: skip
    return {
        "words": words, "tree": str(nbest[0][0]), "log_probability": explained.log_probability,
        "root": _node(nbest[0][0], 0, probability)[0],
        "nbest": [{"tree": str(tree)} | both_forms(p) for tree, p in nbest], "parts": parts,
    }  # fmt: skip


def _words(asked: dict[str, Any]) -> list[str]:
    if (asked["text"] is None) == (asked["tokens"] is None):
        raise BadRequest("give either 'text' or 'tokens'")
    words = tokenise(asked["text"]) if asked["tokens"] is None else check_words("tokens", asked["tokens"])
    if len(words) > _LONGEST:
        raise BadRequest(f"the sentence must have at most {_LONGEST} words, not {len(words)}")
    return [_BRACKETS.get(word, word) for word in words]


def _node(tree: Tree, begin: int, probability: dict[tuple[int, int, str], float]) -> tuple[dict[str, Any], int]:
    """Return a constituent as plain values, and where it ends."""
    node: dict[str, Any] = {"label": tree.label, "begin": begin}
    end = begin + 1
    if tree.word is not None:
        node["word"] = tree.word
    else:
        end, node["children"] = begin, []
        for child in tree.children:
            made, end = _node(child, end, probability)
            node["children"].append(made)
    node["end"], node["probability"] = end, probability.get((begin, end, tree.label))
    return node, end


def describe(model: Any) -> dict[str, Any]:
    """Return what the model reads and its labels."""
    return {"reads": "words", "labels": list(model.grammar_.rules.symbols.labels)[:1000], "longest": _LONGEST}


ABILITY = Ability(
    {
        "parse": Operation(
            "The most probable trees of one sentence, with the probability of each constituent",
            {
                "text": Field("text", "a sentence"),
                "tokens": Field("list", "the words of a sentence, in place of text", most=_LONGEST),
                "nbest": Field("whole", "how many trees to tell", 3, least=1, most=50),
                "top": Field("whole", "how many features to tell for each part", 5, most=1000),
            },
            parse,
        )
    },
    describe,
)
