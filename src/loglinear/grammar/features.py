"""Features of trees that have weights: rules, and the words at the boundaries of their spans.

``"rules"`` has one feature per rule and per word under a tag, the features that a grammar counts. ``"extended"`` has
more, those that training has seen: every rule of the coarsest grammar beside the rules themselves (with ancestors and
siblings in the symbols these are rules with parent and grandparent); for the boundaries where a span begins, ends and
splits the word on either side, its class, and both classes together, each joined with the label of the constituent
and with its rule; and the length of the span (native/grammar/features.hh).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.data.matrix import SparseRows
from loglinear.grammar.lexicon import Lexicon
from loglinear.grammar.model import Ints
from loglinear.grammar.rules import Parts, RuleTable
from loglinear.threads import pool

FEATURES = ("rules", "extended")
ROLES = ("begin", "end", "split", "length")
LONGEST = 40  # spans from here on share a bucket


def length_buckets() -> Ints:
    """Return the bucket of every length: 1 to 10 by themselves, then 11-15, 16-20, 21-30, 31-39, and longer."""
    edges = np.array([*range(1, 11), 11, 16, 21, 31, LONGEST])
    return np.searchsorted(edges, np.arange(LONGEST + 1), side="right").astype(np.int32)


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences of numbered words."""

    ptr: NDArray[np.int64]
    words: Ints
    lexicon: Lexicon

    @cached_property
    def native(self) -> Any:
        """The same for native functions."""
        return _core.TreeSentences(self.ptr, self.words, self.lexicon.class_of_word)

    def __len__(self) -> int:
        return self.ptr.size - 1

    def take(self, numbers: NDArray[np.intp]) -> Sentences:
        """Return the sentences with these numbers."""
        lengths = np.diff(self.ptr)[numbers]
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(self.ptr[:-1][numbers] - ptr[:-1], lengths) + np.arange(ptr[-1])
        return Sentences(ptr, self.words[at], self.lexicon)


class TreeFeatures:
    """Numbered features: those of rules first, then those of begin, end, split and length."""

    def __init__(
        self, rules: RuleTable, lexicon: Lexicon, rule_ptr: NDArray[np.int64], rule_weight: Ints,
        role_ptr: list[NDArray[np.int64]], role_target: list[Ints],
    ) -> None:
        self.rules, self.lexicon = rules, lexicon
        self.rule_ptr, self.rule_weight, self.role_ptr, self.role_target = rule_ptr, rule_weight, role_ptr, role_target
        self.n_labels, self.n_classes = len(rules.coarse_names), rules.class_label.size
        self.native = _core.TreeFeatures(
            rules.native, lexicon.n_words, lexicon.n_classes, rules.coarse[rules.tag_symbol], rule_ptr, rule_weight,
            length_buckets(), role_ptr, role_target,
        )  # fmt: skip
        self.n_weights: int = self.native.n_weights

    @classmethod
    def observed(
        cls, rules: RuleTable, lexicon: Lexicon, sentences: Sentences, parts: Parts, kind: str = "extended",
        min_count: int = 1,
    ) -> TreeFeatures:
        """Return the features that occur in trees, those of boundaries at least ``min_count`` times."""
        if kind not in FEATURES:
            raise ValueError(f"features must be one of {', '.join(map(repr, FEATURES))}, not {kind!r}")
        extended = kind == "extended"
        own, classes = np.arange(rules.n_rules), rules.rule_class
        both = extended and classes.size > np.unique(classes).size
        columns: list[Any] = [own, rules.n_rules + classes] if both else [own]
        rule_weight = np.stack(columns, axis=1).reshape(-1).astype(np.int32)
        rule_ptr = np.arange(rules.n_rules + 1, dtype=np.int64) * len(columns)
        ptrs, targets = [], []
        for role in ROLES:
            codes, n_attributes, n_targets = _occurring(rules, lexicon, sentences, parts, role, extended)
            found, counts = np.unique(codes, return_counts=True)
            found = found[counts >= (min_count if extended else 1)]
            ptrs.append(np.searchsorted(found // n_targets, np.arange(n_attributes + 1)).astype(np.int64))
            targets.append((found % n_targets).astype(np.int32))
        return cls(rules, lexicon, rule_ptr, rule_weight, ptrs, targets)

    @property
    def n_rule_weights(self) -> int:
        """Number of weights of rules; those of roles follow."""
        return int(self.rule_weight.max(initial=-1)) + 1

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The first weight of each role, and the number of weights [5]."""
        sizes = [target.size for target in self.role_target]
        return self.n_rule_weights + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def counts(self, sentences: Sentences, parts: Parts, n_threads: int | None = None) -> SparseRows:
        """Return how often each tree has each feature [n_trees, n_weights]."""
        indptr, indices, values = self.native.count(pool(n_threads), sentences.native, *parts.arrays)
        return SparseRows(indptr, indices, values, self.n_weights)

    # ---- names -------------------------------------------------------------------------------------------------------
    def name(self, weight: int) -> str:
        """Return a feature as text."""
        rules = self.rules
        if weight < self.n_rule_weights:
            return f"rule {rules.rule_name(weight)}" if weight < rules.n_rules else (
                f"rule class {self._class_names[weight - rules.n_rules]}"
            )
        role = int(np.searchsorted(self.offsets, weight, side="right")) - 1
        place = weight - int(self.offsets[role])
        attribute = int(np.searchsorted(self.role_ptr[role], place, side="right")) - 1
        target = int(self.role_target[role][place])
        names = self._label_names
        shown = names[target] if target < self.n_labels else self._class_names[target - self.n_labels]
        return f"{ROLES[role]} {self._attribute_name(ROLES[role], attribute)} of {shown}"

    @cached_property
    def _class_names(self) -> list[str]:
        return self.rules.class_names()

    @cached_property
    def _label_names(self) -> list[str]:
        from loglinear.grammar.binarisation import Symbol

        return [Symbol.parse(name).shown for name in self.rules.coarse_names]

    def _attribute_name(self, role: str, attribute: int) -> str:
        if role == "length":
            lengths = np.flatnonzero(length_buckets() == attribute)
            if lengths[-1] == LONGEST:
                return f"{lengths[0]} or more"
            return str(lengths[0]) if lengths.size == 1 else f"{lengths[0]}-{lengths[-1]}"
        V, K = self.lexicon.n_words + 1, self.lexicon.n_classes + 1
        if attribute < 2 * V:
            side, word = ("after", attribute) if attribute < V else ("before", attribute - V)
            name = "the edge" if word == V - 1 else repr(self.lexicon.words[word])
            return f"{side} {name}"
        rest = attribute - 2 * V
        if rest < 2 * K:
            return f"{'after' if rest < K else 'before'} the class {self._class_of(rest % K)}"
        rest -= 2 * K
        return f"between the classes {self._class_of(rest // K)} and {self._class_of(rest % K)}"

    def _class_of(self, number: int) -> str:
        if number == self.lexicon.n_classes:
            return "of the edge"
        return repr(self.lexicon.words[int(np.flatnonzero(self.lexicon.class_of_word == number)[0])])


def _occurring(
    rules: RuleTable, lexicon: Lexicon, sentences: Sentences, parts: Parts, role: str, extended: bool
) -> tuple[NDArray[np.int64], int, int]:
    """Return codes attribute * n_targets + target of one role, and the numbers of attributes and targets."""
    n_labels = len(rules.coarse_names)
    n_targets = n_labels + rules.class_label.size
    V, K = lexicon.n_words + 1, lexicon.n_classes + 1
    n_attributes = 2 * V + 2 * K + K * K
    if role == "length":
        n_attributes = int(length_buckets().max()) + 1
    tree = np.repeat(np.arange(len(sentences)), np.diff(parts.part_ptr))
    is_rule = parts.rule >= 0
    tag_label = rules.coarse[rules.tag_symbol]
    label = np.where(is_rule, rules.class_label[rules.rule_class[np.maximum(parts.rule, 0)]], 0)
    label[~is_rule] = tag_label[-1 - parts.rule[~is_rule]]
    if not extended:
        if role != "begin":
            return np.empty(0, dtype=np.int64), n_attributes, n_targets
        at = sentences.ptr[tree[~is_rule]] + parts.begin[~is_rule]
        attribute = V + sentences.words[at].astype(np.int64)
        return attribute * n_targets + label[~is_rule], n_attributes, n_targets
    binary = is_rule & (parts.rule < rules.n_binary)
    if role == "length":
        lengths = np.minimum((parts.end - parts.begin)[is_rule], LONGEST)
        return length_buckets()[lengths].astype(np.int64) * n_targets + label[is_rule], n_attributes, n_targets
    used = binary if role == "split" else np.ones(parts.rule.size, dtype=bool)
    place = getattr(parts, role)[used]
    attributes = boundary_attributes(sentences, tree[used], place)  # [n, 5]
    out = [attributes * n_targets + label[used][:, None]]
    with_class = is_rule[used]
    classes = n_labels + rules.rule_class[parts.rule[used][with_class]]
    out.append(attributes[with_class] * n_targets + classes[:, None])
    return np.concatenate([codes.reshape(-1) for codes in out]), n_attributes, n_targets


def boundary_attributes(sentences: Sentences, sentence: Any, place: Any) -> NDArray[np.int64]:
    """Return the five attributes of boundaries (native/grammar/features.hh) [n, 5]."""
    lexicon = sentences.lexicon
    V, K = lexicon.n_words + 1, lexicon.n_classes + 1
    begin, end = sentences.ptr[sentence], sentences.ptr[sentence + 1]
    at = begin + place
    words = np.append(sentences.words.astype(np.int64), V - 1)
    left = np.where(place > 0, words[at - 1], V - 1)
    right = np.where(at < end, words[at], V - 1)
    classes = np.append(lexicon.class_of_word.astype(np.int64), K - 1)
    lc, rc = classes[left], classes[right]
    return np.stack([left, V + right, 2 * V + lc, 2 * V + K + rc, 2 * V + 2 * K + lc * K + rc], axis=1)
