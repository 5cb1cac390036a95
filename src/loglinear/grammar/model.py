"""Probabilistic context-free grammars in binarised form: A -> B C, A -> B and A -> word, with probabilities.

Counted from trees they are relative frequencies, and then tight: every derivation ends, with probability one (Chi and
Geman 1998). Given rule by rule they need not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import LoglinearError
from loglinear.formats.bracketed import Trees
from loglinear.threads import pool

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Grammar:
    """Rules and their probabilities, which sum to one for every symbol that has any."""

    symbols: tuple[str, ...]
    start: int
    parent: Ints  # binary rules [n_binary], sorted by parent
    left: Ints
    right: Ints
    binary: FloatArray
    unary_parent: Ints  # [n_unary]
    unary_child: Ints
    unary: FloatArray
    lexical_symbol: Ints  # [n_lexical], sorted by word
    lexical_word: Ints
    lexical: FloatArray
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        n, v = len(self.symbols), len(self.words)
        for name, bound in [("parent", n), ("left", n), ("right", n), ("unary_parent", n), ("unary_child", n),
                            ("lexical_symbol", n), ("lexical_word", v)]:  # fmt: skip
            column = getattr(self, name)
            if column.size and (column.min() < 0 or column.max() >= bound):
                raise ValueError(f"grammar: {name} has an unknown number")
        for table in (self.binary, self.unary, self.lexical):
            if not np.all(np.isfinite(table)) or np.any(table < 0):
                raise ValueError("grammar: probabilities must be numbers of at least 0")
        total = self.totals()
        wrong = np.flatnonzero((np.abs(total - 1.0) > 1e-8) & (total > 0))
        if wrong.size:
            name = self.symbols[wrong[0]]
            raise ValueError(f"grammar: the probabilities of the rules of {name!r} sum to {total[wrong[0]]:.6g}, not 1")

    def totals(self) -> FloatArray:
        """Return the sum of the probabilities of every symbol's rules [n_symbols]."""
        n = len(self.symbols)
        pairs = ((self.parent, self.binary), (self.unary_parent, self.unary), (self.lexical_symbol, self.lexical))
        return sum((np.bincount(a, weights=p, minlength=n) for a, p in pairs), np.zeros(n))

    @classmethod
    def from_rules(cls, rules: Iterable[tuple[str, Any, float]], start: str) -> Grammar:
        """Return a grammar of rules (symbol, right side, probability): a tuple of one or two symbols, or a word."""
        symbols: dict[str, int] = {start: 0}
        words: dict[str, int] = {}
        binary, unary, lexical = list[Any](), list[Any](), list[Any]()
        for left, right, probability in rules:
            a = symbols.setdefault(left, len(symbols))
            if isinstance(right, str):
                lexical.append((words.setdefault(right, len(words)), a, probability))
            elif len(right) in (1, 2):
                numbers = [symbols.setdefault(name, len(symbols)) for name in right]
                (binary if len(right) == 2 else unary).append((a, *numbers, probability))
            else:
                raise ValueError(f"the rule {left!r} -> {right!r} must have one or two symbols, or a word")
        if not lexical:
            raise ValueError("the grammar has no rule with a word")
        without = set(symbols.values()) - {r[0] for r in binary} - {r[0] for r in unary} - {r[1] for r in lexical}
        if without:
            name = next(n for n, k in symbols.items() if k in without)
            raise ValueError(f"the symbol {name!r} has no rules; words are given as text, symbols in tuples")
        a, b, c, p = _columns(sorted(binary), 4)
        ua, ub, up = _columns(unary, 3)
        w, x, q = _columns(sorted(lexical), 3)
        return cls(tuple(symbols), 0, a, b, c, p, ua, ub, up, x, w, q, tuple(words))

    @property
    def n_rules(self) -> int:
        """Number of rules, those with words included."""
        return self.binary.size + self.unary.size + self.lexical.size

    # ---- samples -----------------------------------------------------------------------------------------------------
    @cached_property
    def _productions(self) -> tuple[NDArray[np.int64], FloatArray, Ints, Ints]:
        """Productions by symbol with cumulative probabilities, as the native sampler takes them."""
        symbol = np.concatenate([self.parent, self.unary_parent, self.lexical_symbol])
        first = np.concatenate([self.left, self.unary_child, -1 - self.lexical_word])
        second = np.concatenate([self.right, np.full(self.unary.size + self.lexical.size, -1)])
        p = np.concatenate([self.binary, self.unary, self.lexical])
        order = np.argsort(symbol, kind="stable")
        ptr = np.searchsorted(symbol[order], np.arange(len(self.symbols) + 1)).astype(np.int64)
        upto = np.concatenate([[0.0], np.cumsum(p[order])])
        cumulative = upto[1:] - np.repeat(upto[ptr[:-1]], np.diff(ptr))
        return ptr, cumulative, first[order].astype(np.int32), second[order].astype(np.int32)

    def sample(
        self, n: int, rng: np.random.Generator, *, max_nodes: int = 1_000_000, n_threads: int | None = None
    ) -> Trees:
        """Draw ``n`` trees; the same for any number of threads. A tree of more than ``max_nodes`` nodes is an error."""
        if n < 0:
            raise ValueError("n must not be negative")
        seed = int(rng.integers(2**63))
        try:
            ptr, symbol, word, size = _core.generate_trees(
                pool(n_threads), *self._productions, self.start, n, seed, max_nodes
            )
        except ValueError as error:
            raise LoglinearError(str(error)) from None
        return Trees(ptr, symbol, word, size, self.symbols, self.words)


def _columns(rows: Sequence[tuple[Any, ...]], n: int) -> list[Any]:
    """Return the columns of rows, numbers and in the last one probabilities."""
    columns = list(zip(*rows)) if rows else [()] * n
    return [np.array(c, dtype=np.int32) for c in columns[:-1]] + [np.array(columns[-1], dtype=np.float64)]


def ordered_unary(parent: Ints, child: Ints, names: Sequence[str]) -> NDArray[np.intp]:
    """Return an order in which a unary rule comes after all rules that make its child; raise ValueError for a cycle."""
    makers: dict[int, list[int]] = {}
    for a, b in zip(parent.tolist(), child.tolist()):
        makers.setdefault(a, []).append(b)
    depth: dict[int, int] = {}
    for first in makers:
        path: list[tuple[int, int]] = [(first, 0)]
        open_ = {first}
        while path:
            symbol, at = path[-1]
            below = makers.get(symbol, [])
            if symbol in depth or at == len(below):
                if symbol not in depth:
                    depth[symbol] = 1 + max((depth.get(b, 0) for b in below), default=-1)
                path.pop()
                open_.discard(symbol)
                continue
            path[-1] = (symbol, at + 1)
            nxt = below[at]
            if nxt in open_:
                cycle = [names[s] for s, _ in path[[s for s, _ in path].index(nxt) :]] + [names[nxt]]
                raise ValueError(f"unary rules form a cycle: {' -> '.join(cycle)}; collapse chains of them first")
            if nxt not in depth and nxt in makers:
                path.append((nxt, 0))
                open_.add(nxt)
    return np.argsort([depth[a] for a in parent.tolist()], kind="stable").astype(np.intp)
