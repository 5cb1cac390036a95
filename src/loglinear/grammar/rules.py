"""The rules of a treebank: numbered for charts, and where the parts of trees use them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.formats.bracketed import Trees
from loglinear.grammar.binarisation import Symbols
from loglinear.grammar.model import Ints, ordered_unary


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of trees, one per node of the trees of symbols: a rule, or -1 - tag, and its span and split."""

    part_ptr: NDArray[np.int64]  # [n_trees + 1]
    rule: Ints  # [n_parts]
    begin: Ints
    split: Ints
    end: Ints

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays as native functions take them."""
        return self.part_ptr, self.rule, self.begin, self.split, self.end


class RuleTable:
    """Numbered rules: binary ones by their parents, then unary ones, each after those that make its child.

    Rules are grouped in classes, the rules of the coarsest grammar; parents in labels, its symbols.
    """

    def __init__(self, symbols: Symbols, parent: Ints, left: Ints, right: Ints, up: Ints, down: Ints) -> None:
        self.symbols = symbols
        n = len(symbols)
        order = np.lexsort((right, left, parent))
        self.parent, self.left, self.right = parent[order], left[order], right[order]
        order = ordered_unary(up, down, [s.shown for s in symbols.parsed]) if up.size else np.empty(0, dtype=np.intp)
        self.unary_parent, self.unary_child = up[order], down[order]
        self.tag_symbol = symbols.tags
        self.binary_ptr = np.searchsorted(self.parent, np.arange(n + 1)).astype(np.int64)
        self.native = _core.GrammarRules(
            n, symbols.root, self.binary_ptr, self.left, self.right, self.unary_parent, self.unary_child,
            self.tag_symbol, len(self.coarse_names), self.rule_class, self.class_label,
        )  # fmt: skip
        self._code = self._codes(self.parent, self.left, self.right)
        self._unary_code = self.unary_parent.astype(np.int64) * n + self.unary_child
        self._unary_order = np.argsort(self._unary_code)
        self.tag_number = np.full(n, -1, dtype=np.int32)
        self.tag_number[self.tag_symbol] = np.arange(self.tag_symbol.size)

    @classmethod
    def of(cls, trees: Trees) -> RuleTable:
        """Return the rules that trees of symbols have."""
        symbols = Symbols(trees.labels)
        parent, first, second = _children(trees)
        binary, unary = second >= 0, (first >= 0) & (second < 0)
        n = len(symbols)
        code = np.unique((parent[binary].astype(np.int64) * n + first[binary]) * n + second[binary])
        pairs = np.unique(parent[unary].astype(np.int64) * n + first[unary])
        columns = (code // (n * n), code // n % n, code % n, pairs // n, pairs % n)
        return cls(symbols, *(column.astype(np.int32) for column in columns))

    @property
    def n_binary(self) -> int:
        """Number of binary rules."""
        return self.parent.size

    @property
    def n_rules(self) -> int:
        """Number of rules, without those of words."""
        return self.parent.size + self.unary_parent.size

    @property
    def n_tags(self) -> int:
        """Number of symbols over words."""
        return self.tag_symbol.size

    def _codes(self, a: Any, b: Any, c: Any) -> NDArray[np.int64]:
        n = len(self.symbols)
        return (a.astype(np.int64) * n + b) * n + c

    def find(self, parent: Ints, first: Ints, second: Ints) -> Ints:
        """Return the number of each rule, -1 for an unknown one; ``second`` is -1 for a unary rule."""
        out = np.full(parent.size, -1, dtype=np.int32)
        binary = second >= 0
        for where, wanted, known, base, order in (
            (binary, self._codes(parent, first, second), self._code, 0, None),
            (~binary, parent.astype(np.int64) * len(self.symbols) + first, self._unary_code, self.n_binary,
             self._unary_order),
        ):  # fmt: skip
            if not where.any() or known.size == 0:
                continue
            sorted_known = known if order is None else known[order]
            place = np.minimum(np.searchsorted(sorted_known, wanted[where]), known.size - 1)
            number = place if order is None else order[place]
            out[where] = np.where(sorted_known[place] == wanted[where], number + base, -1)
        return out

    def parts(self, trees: Trees) -> tuple[Parts, NDArray[np.bool_]]:
        """Return the parts of trees of symbols of this table, and which trees have only known rules."""
        parent, first, second = _children(trees)
        begin, end = trees.spans
        leaf = trees.is_leaf
        rule = np.where(leaf, -1 - self.tag_number[parent], 0).astype(np.int32)
        good = ~leaf | (self.tag_number[parent] >= 0)
        found = self.find(parent[~leaf], first[~leaf], second[~leaf])
        good[~leaf] = found >= 0
        rule[~leaf] = np.maximum(found, 0)
        nodes = np.arange(parent.size)
        below = np.minimum(nodes + 1, parent.size - 1)
        split = np.where(second >= 0, end[below], begin).astype(np.int32)
        known = np.ones(len(trees), dtype=bool)
        known[trees.tree_of[~good]] = False
        return Parts(trees.tree_ptr, rule, begin, split, end), known

    # ---- classes and labels ------------------------------------------------------------------------------------------
    @cached_property
    def coarse_names(self) -> tuple[str, ...]:
        """The symbols of the coarsest grammar, which are the labels that features know."""
        return tuple(dict.fromkeys(s.coarse for s in self.symbols.parsed))

    @cached_property
    def coarse(self) -> Ints:
        """The coarse symbol of every symbol [n_symbols]."""
        number = {name: k for k, name in enumerate(self.coarse_names)}
        return np.array([number[s.coarse] for s in self.symbols.parsed], dtype=np.int32)

    @cached_property
    def _classes(self) -> tuple[Ints, Ints, NDArray[np.int64]]:
        n, c = len(self.coarse_names), self.coarse.astype(np.int64)
        binary = (c[self.parent] * n + c[self.left]) * (n + 1) + c[self.right]
        unary = (c[self.unary_parent] * n + c[self.unary_child]) * (n + 1) + n
        codes, of_rule = np.unique(np.concatenate([binary, unary]), return_inverse=True)
        return of_rule.astype(np.int32), (codes // (n + 1) // n).astype(np.int32), codes

    @property
    def rule_class(self) -> Ints:
        """The class of every rule [n_rules]."""
        return self._classes[0]

    @property
    def class_label(self) -> Ints:
        """The label of the parent of every class [n_classes]."""
        return self._classes[1]

    def class_names(self) -> list[str]:
        """Return every class as text: its parent and its children."""
        n, shown = len(self.coarse_names), [_shown(name) for name in self.coarse_names]
        out = []
        for code in self._classes[2].tolist():
            a, b, c = code // (n + 1) // n, code // (n + 1) % n, code % (n + 1)
            out.append(f"{shown[a]} -> {shown[b]}{'' if c == n else ' ' + shown[c]}")
        return out

    def rule_name(self, rule: int) -> str:
        """Return a rule as text."""
        s = self.symbols.parsed
        if rule < self.n_binary:
            return f"{s[self.parent[rule]].shown} -> {s[self.left[rule]].shown} {s[self.right[rule]].shown}"
        u = rule - self.n_binary
        return f"{s[self.unary_parent[u]].shown} -> {s[self.unary_child[u]].shown}"

    @cached_property
    def made(self) -> tuple[NDArray[np.int64], Ints]:
        """The labels of constituents that each unary rule makes: (pointers [n_unary + 1], labels)."""
        lists = [self.symbols.made_by(a, b) for a, b in zip(self.unary_parent.tolist(), self.unary_child.tolist())]
        ptr = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
        return ptr, np.array([label for x in lists for label in x], dtype=np.int32)

    @cached_property
    def hidden(self) -> NDArray[np.uint8]:
        """Whether a symbol is a tag or a part of a constituent, and thus no constituent [n_symbols]."""
        return np.array([s.kind in "it" for s in self.symbols.parsed], dtype=np.uint8)


def _shown(name: str) -> str:
    from loglinear.grammar.binarisation import Symbol

    return Symbol.parse(name).shown


def _children(trees: Trees) -> tuple[Ints, Ints, Ints]:
    """Return the symbol of every node and those of its first and second child, -1 where there is none."""
    nodes = np.arange(trees.label.size)
    end = nodes + trees.size
    below = np.minimum(nodes + 1, nodes.size - 1)
    first = np.where(trees.is_leaf, -1, trees.label[below]).astype(np.int32)
    after = below + trees.size[below]
    has_second = ~trees.is_leaf & (after < end)
    second = np.where(has_second, trees.label[np.minimum(after, nodes.size - 1)], -1).astype(np.int32)
    return trees.label, first, second
