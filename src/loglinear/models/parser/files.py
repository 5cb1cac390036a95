"""Files through a parser: training on a file of trees, and the trees of a file of sentences as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from loglinear.display.numbers import both_forms, probability
from loglinear.formats.blocks import iterate_lines
from loglinear.formats.bracketed import Trees, format_bracketed, read_bracketed, strip
from loglinear.formats.json_text import json_text
from loglinear.formats.text import Source, name_of, split_lines
from loglinear.models.parser.predictor import ParserPredictor

if TYPE_CHECKING:
    from loglinear.models.parser.estimator import Parser

_COLUMNS = ("begin", "end", "label", "probability")
_BLOCK = 1 << 14  # bytes of sentences that are parsed together


def read_trees(source: Source, encoding: str = "utf-8", n_threads: int | None = None) -> Trees:
    """Read a file of bracketed trees, and strip empty elements, functions of labels and top brackets."""
    return strip(read_bracketed(source, encoding=encoding, n_threads=n_threads), name_of(source)).trees


def train_on_file(
    source: Source, settings: dict[str, Any], *, validation: Source | None = None, encoding: str = "utf-8"
) -> tuple[Parser, Trees]:
    """Train a parser on a file of trees; return it with the trees. ``settings`` are parameters of :class:`Parser`."""
    from loglinear.models.parser.estimator import Parser

    model = Parser(**settings)
    trees = read_trees(source, encoding, model.n_threads)
    held_out = None if validation is None else read_trees(validation, encoding, model.n_threads)
    return model.fit(trees, validation=held_out), trees


def parse_file(
    model: ParserPredictor, source: Source, *, encoding: str = "utf-8", nbest: int | None = None,
    marginals: bool = False, objective: str = "probability", cost: float = 0.0, as_json: bool = False,
) -> Iterator[bytes]:
    """Yield the trees of a file of sentences, one per line with blanks between words, as text; an empty line stays."""
    for sentences in _sentences(source, encoding):
        filled = [words for words in sentences if words]
        if not filled:
            yield b"\n" * len(sentences)
            continue
        inputs = model.encode(filled)
        texts = _texts(model.predict_trees(inputs, objective=objective, cost=cost))
        lists = None if nbest is None else [
            [(str(tree), p) for tree, p in found] for found in model.predict_nbest(inputs, nbest, logarithms=True)
        ]  # fmt: skip
        spans = model.predict_marginals(inputs) if marginals else None
        out, at = [], 0
        for words in sentences:
            if not words:
                out.append("")
                continue
            if as_json:
                entry: dict[str, Any] = {"words": words, "tree": texts[at]}
                if lists is not None:
                    entry["nbest"] = [{"tree": tree} | both_forms(p) for tree, p in lists[at]]
                if spans is not None:
                    entry["constituents"] = [dict(zip(_COLUMNS, row)) for row in spans[at]]
                out.append(json.dumps(entry, ensure_ascii=False))
            elif lists is not None:
                out += [f"# {rank} {probability(p)}\n{tree}" for rank, (tree, p) in enumerate(lists[at])]
            elif spans is not None:
                out += [texts[at], *(f"{begin}\t{end}\t{label}\t{p:.6f}" for begin, end, label, p in spans[at]), ""]
            else:
                out.append(texts[at])
            at += 1
        yield "".join(line + "\n" for line in out).encode("utf-8", "surrogatepass")


def _texts(trees: Trees) -> list[str]:
    """Return trees as text; brackets in words are written as in the Penn Treebank."""
    words = tuple(w.replace("(", "-LRB-").replace(")", "-RRB-") for w in trees.words)
    shown = Trees(trees.tree_ptr, trees.label, trees.word, trees.size, trees.labels, words)
    return format_bracketed(shown).decode("utf-8", "surrogatepass").splitlines()


def _sentences(source: Source, encoding: str) -> Iterator[list[list[str]]]:
    for block in iterate_lines(source, _BLOCK, encoding):
        yield [line.split() for line in split_lines(block)]


def explain_file(
    model: ParserPredictor, source: Source, *, encoding: str = "utf-8", top: int = 5, as_json: bool = False
) -> Iterator[bytes]:
    """Yield the explanation of every sentence as text with an empty line after it, or as one JSON object per line."""
    for sentences in _sentences(source, encoding):
        for words in filter(None, sentences):
            found = model.explain(words)
            text = json_text(found.to_dict(top)) if as_json else found.to_text(top) + "\n"
            yield f"{text}\n".encode("utf-8", "surrogatepass")


def evaluate_file(model: ParserPredictor, source: Source, encoding: str = "utf-8", **options: Any) -> dict[str, Any]:
    """Score a parser on a file of trees."""
    return model.evaluate(read_trees(source, encoding, model.n_threads), **options)
