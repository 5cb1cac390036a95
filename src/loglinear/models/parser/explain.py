"""Why a parser chose a tree: the share of every feature in the score of each of its constituents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear.formats.trees import Tree
from loglinear.grammar.features import LONGEST, ROLES, TreeFeatures, boundary_attributes, length_buckets
from loglinear.models.notebook import Shown
from loglinear.models.push import Push, by_effect, push_dicts


@dataclass(frozen=True)
class PartExplanation:
    """One rule of the tree, or one tagged word: its score is the sum of its pushes and its base."""

    rule: str
    begin: int
    end: int
    pushes: list[Push]  # features, largest effect first
    base: float  # logarithm of its probability in the grammar, where the model has one

    @property
    def score(self) -> float:
        """Return the score of the part."""
        return sum(push.contribution for push in self.pushes) + self.base


@dataclass(frozen=True)
class TreeExplanation(Shown):
    """The best tree of a sentence and its parts, whose scores add up to that of the tree."""

    tree: Tree
    log_probability: float
    words: list[str]
    parts: list[PartExplanation]

    def to_text(self, k: int = 5) -> str:
        """Return the tree, and every part with its k features of largest effect, a line each."""
        lines = [str(self.tree), f"log-probability {self.log_probability:.4f}"]
        for part in self.parts:
            lines.append(f"{part.rule}  [{' '.join(self.words[part.begin : part.end])}]  {part.score:+.4f}")
            lines += [f"    {push.contribution:+9.4f}  {push.feature}" for push in part.pushes[:k]]
            if part.base:
                lines.append(f"    {part.base:+9.4f}  from the grammar")
        return "\n".join(lines)

    def to_dict(self, k: int | None = None) -> dict[str, Any]:
        """Return plain values, for JSON, with the k features of largest effect of each part; None: all."""
        parts = [{**vars(p), "score": p.score, "pushes": push_dicts(p.pushes[:k])} for p in self.parts]
        return {"tree": str(self.tree), "log_probability": self.log_probability, "words": self.words, "parts": parts}

    def __str__(self) -> str:
        return self.to_text()


def explain(parser: Any, sentence: Any) -> TreeExplanation:
    """Return the best tree of a sentence with the parts of its score."""
    inputs = parser.encode([sentence])
    charts = parser._charts(inputs)
    trees, scores = charts.best()
    (tree,) = trees
    if np.isneginf(scores[0]):
        return TreeExplanation(tree, -np.inf, inputs.tokens, [])
    rules, grammar, features = parser.grammar_.rules, parser.grammar_, parser.features_
    binary = parser.binarisation.apply(trees)
    symbol = np.array([rules.symbols.number[name] for name in binary.labels], dtype=np.int32)[binary.label]
    renamed = type(trees)(binary.tree_ptr, symbol, binary.word, binary.size, rules.symbols.names, binary.words)
    parts, _ = rules.parts(renamed)
    readings = iter(grammar.reading_scores(parts, inputs.sentences.words).tolist())
    found = []
    for p, rule in enumerate(parts.rule.tolist()):
        begin, split, end = (int(column[p]) for column in (parts.begin, parts.split, parts.end))
        weights = _weights_of(features, inputs.sentences, rule, begin, split, end)
        pushes = [_push(features.name(w), float(parser.weights_[w])) for w in weights if parser.weights_[w]]
        base = next(readings) if rule < 0 else float(grammar.log_probability[rule])
        if rule < 0:
            name = f"{rules.symbols.parsed[rules.tag_symbol[-1 - rule]].shown} -> {inputs.tokens[begin]}"
        else:
            name = rules.rule_name(rule)
        found.append(PartExplanation(name, begin, end, by_effect(pushes), base if parser.has_base else 0.0))
    return TreeExplanation(tree, float(scores[0] - charts.log_normalisers()[0]), inputs.tokens, found)


def _push(name: str, weight: float) -> Push:
    return Push(name, 1.0, weight, weight)


def _weights_of(features: TreeFeatures, sentences: Any, rule: int, begin: int, split: int, end: int) -> list[int]:
    """Return the weights of the features of one part."""
    rules = features.rules
    if rule < 0:
        targets, out = [int(rules.coarse[rules.tag_symbol[-1 - rule]])], []
    else:
        c = int(rules.rule_class[rule])
        targets = [int(rules.class_label[c]), features.n_labels + c]
        out = features.rule_weight[features.rule_ptr[rule] : features.rule_ptr[rule + 1]].tolist()
    for role, name in enumerate(ROLES):
        if name == "length":
            if rule < 0:
                continue
            attributes = [int(length_buckets()[min(end - begin, LONGEST)])]
        elif name == "split" and not 0 <= rule < rules.n_binary:
            continue
        else:
            place = {"begin": begin, "end": end, "split": split}[name]
            attributes = boundary_attributes(sentences, np.array([0]), np.array([place]))[0].tolist()
        for a in attributes:
            first, last = features.role_ptr[role][a : a + 2].tolist()
            listed = features.role_target[role][first:last]
            out += [int(features.offsets[role]) + first + int(k) for k in np.flatnonzero(np.isin(listed, targets))]
    return out
