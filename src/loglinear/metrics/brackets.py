"""Labelled bracketing as evalb counts it: precision, recall and F1 of constituents, exact matches, accuracy of tags.

A constituent is a label over a span of words. Words with the tags of punctuation are left out before spans are counted,
and so are brackets around the whole tree (TOP); ADVP and PRT count as the same (Collins's settings, COLLINS.prm).
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

from loglinear.formats.bracketed import EMPTY, TOPS, Trees, plain_label

PUNCTUATION = frozenset(("''", "``", ",", ".", ":", EMPTY))
_EQUAL = {"PRT": "ADVP"}


@dataclass(frozen=True)
class BracketScores:
    """Numbers of constituents and what follows from them."""

    n_trees: int
    gold: int
    predicted: int
    correct: int
    exact: int  # trees with all constituents and no others
    words: int  # without punctuation
    correct_tags: int

    @property
    def precision(self) -> float:
        """Share of predicted constituents that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of gold constituents that are found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        total = self.gold + self.predicted
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, for JSON."""
        return {
            "trees": self.n_trees, "precision": self.precision, "recall": self.recall, "f1": self.f1,
            "exact_match": self.exact / self.n_trees if self.n_trees else 0.0,
            "tag_accuracy": self.correct_tags / self.words if self.words else 0.0,
            "gold": self.gold, "predicted": self.predicted, "correct": self.correct,
        }  # fmt: skip


def score_trees(gold: Trees, predicted: Trees) -> BracketScores:
    """Compare predicted trees with gold trees of the same sentences."""
    if len(gold) != len(predicted):
        raise ValueError(f"{len(predicted)} predicted trees for {len(gold)} gold ones")
    sums = [0] * 6
    gold_tags, found_tags = gold.tags(), predicted.tags()
    brackets = (_brackets(trees, gold_tags) for trees in (gold, predicted))
    both = zip(gold.sentences(), predicted.sentences(), gold_tags, found_tags, *brackets)
    for number, (words, same, tags, found, a, b) in enumerate(both, start=1):
        if len(words) != len(same):
            raise ValueError(f"tree {number}: {len(same)} words are predicted where the gold tree has {len(words)}")
        kept = [t for t, tag in enumerate(tags) if tag not in PUNCTUATION]
        correct = sum((a & b).values())
        n_gold, n_found = sum(a.values()), sum(b.values())
        right = sum(tags[t] == found[t] for t in kept)
        for k, x in enumerate((n_gold, n_found, correct, n_gold == n_found == correct, len(kept), right)):
            sums[k] += int(x)
    return BracketScores(len(gold), *sums)


def _brackets(trees: Trees, gold_tags: list[list[str]]) -> list[Counter[tuple[str, int, int]]]:
    """Return the constituents of every tree, spans counted without the punctuation of the gold tree."""
    names = [plain_label(label) for label in trees.labels]
    names = [_EQUAL.get(name, name) for name in names]
    begin, end = (column.tolist() for column in trees.spans)
    label, leaf = trees.label.tolist(), trees.is_leaf.tolist()
    found = []
    for tree, (a, b) in enumerate(itertools.pairwise(trees.tree_ptr.tolist())):
        tags = gold_tags[tree]
        if len(tags) != int(trees.word_ptr[tree + 1] - trees.word_ptr[tree]):
            found.append(Counter[tuple[str, int, int]]())  # score_trees refuses it
            continue
        place = list(itertools.accumulate((tag not in PUNCTUATION for tag in tags), initial=0))
        spans = Counter[tuple[str, int, int]]()
        for v in range(a, b):
            if leaf[v] or (v == a and names[label[v]] in TOPS):
                continue
            i, j = place[begin[v]], place[end[v]]
            if j > i:
                spans[names[label[v]], i, j] += 1
        found.append(spans)
    return found
