"""Exact expectations under a probabilistic context-free grammar, over all of its trees.

    i_A = sum r_A(B C) i_B i_C + sum r_A(B) i_B + sum r_A(x)                   inside: all trees below A
    o_A = [A = S] + sum o_B i_C (r_B(A C) + r_B(C A)) + sum o_B r_B(A)         outside: all trees around A

(Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure Models", section 4.1.2.) In a
tight grammar i = 1 and both systems are linear; else i is the least solution of the quadratic one, which Newton's
method from zero reaches from below. The expected number of a fragment is o(root) x rules x i(leaves). Expectations are
sums over trees, each with its probability: where the grammar is not tight they count the trees that end.

Words at the edges of constituents have linear systems of their own: with J = the means of left (right) children,

    first_A(w)  = r_A(w) + sum r_A(B C) i_C first_B(w) + sum r_A(B) first_B(w)              left corner; last_A alike
    before_A(w) = sum_{B -> A C} before_B(w) r i_C + sum_{B -> C A} o_B r last_C(w) + ...   outside, w before A's span
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import LoglinearError
from loglinear.formats.trees import Tree
from loglinear.grammar.model import Grammar

_ROUNDS = 200  # of Newton's method: 50 give double precision, unless the grammar is critical
_CRITICAL = 1e-6  # Newton's method comes so close to one where a grammar is critical, the root there being double


class Expectations:
    """Sums over all trees of a grammar. ``first`` and the like have a column per word, and one for the boundary."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.n = len(grammar.symbols)

    # ---- systems -----------------------------------------------------------------------------------------------------
    def _sparse(self, rows: Any, columns: Any, values: Any) -> Any:
        from scipy import sparse

        return sparse.csc_matrix((values, (rows, columns)), shape=(self.n, self.n))

    def _solver(self, matrix: Any) -> Any:
        """Return x -> (I - matrix)^-1 x."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        factor = splu(sparse.csc_matrix(sparse.identity(self.n) - matrix))

        def solve(x: FloatArray) -> FloatArray:
            return factor.solve(np.ascontiguousarray(x))

        return solve

    def _means(self, inside: FloatArray) -> tuple[Any, Any, Any]:
        """Return the mean numbers of left, right and only children, [parent, child]."""
        g = self.grammar
        left = self._sparse(g.parent, g.left, g.binary * inside[g.right])
        right = self._sparse(g.parent, g.right, g.binary * inside[g.left])
        return left, right, self._sparse(g.unary_parent, g.unary_child, g.unary)

    def _lexical_totals(self) -> FloatArray:
        g = self.grammar
        return np.bincount(g.lexical_symbol, weights=g.lexical, minlength=self.n).astype(np.float64)

    def _bounded(self, inside: FloatArray) -> bool:
        """Return whether the expected number of symbols below any symbol is finite.

        x = 1 + J x with x >= 1 shows that the spectral radius of J is below one.
        """
        left, right, only = self._means(inside)
        matrix = (left + right + only).tocsc()
        try:
            x = self._solver(matrix)(np.ones(self.n))
        except RuntimeError:  # exactly singular
            return False
        residual = np.abs(x - 1.0 - matrix @ x)
        return bool(np.all(np.isfinite(x)) and np.all(x >= 1.0 - 1e-9) and np.all(residual <= 1e-6 * np.abs(x)))

    # ---- inside and outside ------------------------------------------------------------------------------------------
    @cached_property
    def inside(self) -> FloatArray:
        """The probability that a derivation from each symbol ends, i [n_symbols]."""
        g, has_rules = self.grammar, self.grammar.totals() > 0
        one = has_rules.astype(np.float64)
        if self._bounded(one):
            return one
        lexical, x = self._lexical_totals(), np.zeros(self.n)
        for _ in range(_ROUNDS):
            left, right, only = self._means(x)
            value = lexical + np.bincount(g.parent, weights=g.binary * x[g.left] * x[g.right], minlength=self.n)
            value += np.bincount(g.unary_parent, weights=g.unary * x[g.unary_child], minlength=self.n)
            try:
                step = self._solver((left + right + only).tocsc())(value - x)
            except RuntimeError:
                step = value - x
            if not np.all(np.isfinite(step)) or np.any(x + step > 1.0 + 1e-6):
                step = value - x
            x = np.minimum(x + np.maximum(step, 0.0), 1.0)
            if step.max(initial=0.0) <= 1e-15:
                break
        return np.where(has_rules & (np.abs(x - 1.0) <= _CRITICAL), 1.0, x)

    @property
    def is_tight(self) -> bool:
        """Whether every derivation from the start symbol ends, with probability one."""
        reachable = self._reachable()
        return bool(np.all(np.abs(self.inside[reachable] - 1.0) <= _CRITICAL))

    def _reachable(self) -> Any:
        g = self.grammar
        seen = np.zeros(self.n, dtype=bool)
        seen[g.start] = True
        while True:
            more = seen.copy()
            for parent, child in ((g.parent, g.left), (g.parent, g.right), (g.unary_parent, g.unary_child)):
                more[child[seen[parent]]] = True
            if np.array_equal(more, seen):
                return np.flatnonzero(seen)
            seen = more

    @cached_property
    def _systems(self) -> tuple[Any, Any, Any]:
        """The checked mean matrices: (left + unary, right + unary, all)."""
        left, right, only = self._means(self.inside)
        if not self._bounded(self.inside):
            raise LoglinearError(
                "the expectations under this grammar are infinite: the mean size of its trees diverges. Give more "
                "probability to rules that end derivations"
            )
        return (left + only).tocsc(), (right + only).tocsc(), (left + right + only).tocsc()

    @cached_property
    def outside(self) -> FloatArray:
        """The weight of all trees around a symbol, o [n_symbols]; o_A i_A is the expected number of A."""
        start = np.zeros(self.n)
        start[self.grammar.start] = 1.0
        return np.maximum(self._solver(self._systems[2].T)(start), 0.0)

    # ---- rules and fragments -----------------------------------------------------------------------------------------
    def rules(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the expected numbers of binary rules, unary rules and words under symbols: one [n] each."""
        g, i, o = self.grammar, self.inside, self.outside
        return (
            o[g.parent] * g.binary * i[g.left] * i[g.right], o[g.unary_parent] * g.unary * i[g.unary_child],
            o[g.lexical_symbol] * g.lexical,
        )  # fmt: skip

    def fragment(self, tree: Tree, *, first: str | None = None, last: str | None = None) -> float:
        """Return the expected number of a fragment of trees: symbols whose leaves may be words or any subtree.

        ``first`` and ``last`` are words that the leftmost (rightmost) leaf, a symbol, must begin (end) with.
        """
        g = self.grammar
        symbol = {name: k for k, name in enumerate(g.symbols)}
        word = {name: k for k, name in enumerate(g.words)}
        sum_of = {"left": self.first, "right": self.last}

        def weight(node: Tree, edges: dict[str, str]) -> float:
            a = symbol[node.label]
            children = [symbol[child.label] for child in node.children]
            if node.word is not None:
                if any(w != node.word for w in edges.values()):
                    return 0.0
                hit = (g.lexical_symbol == a) & (g.lexical_word == word[node.word])
                return float(g.lexical[hit].sum())
            if not children:
                if len(edges) == 2:
                    raise ValueError("a fragment of one symbol has its first or its last word given, not both")
                for side, w in edges.items():
                    return float(sum_of[side][a, word[w]])
                return float(self.inside[a])
            if len(children) == 1:
                p = g.unary[(g.unary_parent == a) & (g.unary_child == children[0])].sum()
            else:
                p = g.binary[(g.parent == a) & (g.left == children[0]) & (g.right == children[-1])].sum()
            for place, child in enumerate(node.children):
                inner = {side: w for side, w in edges.items() if place == (0 if side == "left" else len(children) - 1)}
                p *= weight(child, inner)
            return float(p)

        edges = {side: w for side, w in (("left", first), ("right", last)) if w is not None}
        return float(self.outside[symbol[tree.label]]) * weight(tree, edges)

    # ---- words at edges ----------------------------------------------------------------------------------------------
    @cached_property
    def _words(self) -> FloatArray:
        g = self.grammar
        table = np.zeros((self.n, len(g.words) + 1))
        np.add.at(table, (g.lexical_symbol, g.lexical_word), g.lexical)
        return table

    @cached_property
    def first(self) -> FloatArray:
        """Weights of the trees below a symbol by their first word [n_symbols, n_words + 1]: the left corners."""
        return self._solver(self._systems[0])(self._words)

    @cached_property
    def last(self) -> FloatArray:
        """The same by their last word: the right corners."""
        return self._solver(self._systems[1])(self._words)

    @cached_property
    def before(self) -> FloatArray:
        """Weights of the trees around a symbol by the word before its span; the last column: it begins the sentence."""
        g = self.grammar
        return self._around(self._systems[0], g.right, g.left, self.last)

    @cached_property
    def after(self) -> FloatArray:
        """The same by the word after its span."""
        g = self.grammar
        return self._around(self._systems[1], g.left, g.right, self.first)

    def _around(self, means: Any, symbol: Any, sibling: Any, edge: FloatArray) -> FloatArray:
        from scipy import sparse

        g = self.grammar
        weights = g.binary * self.outside[g.parent]
        beside = sparse.csr_matrix((weights, (symbol, sibling)), shape=(self.n, self.n))
        source = beside @ edge
        source[g.start, -1] += 1.0
        return self._solver(means.T)(source)

    def lengths(self, most: int) -> FloatArray:
        """Return the weights of the trees below a symbol by their number of words [n_symbols, most + 1]."""
        from scipy import sparse

        g = self.grammar
        solve = self._solver(self._means(self.inside)[2])
        collect = sparse.csr_matrix((g.binary, (g.parent, np.arange(g.binary.size))), shape=(self.n, g.binary.size))
        table = np.zeros((self.n, most + 1))
        if most >= 1:
            table[:, 1] = solve(self._lexical_totals())
        for n in range(2, most + 1):
            pairs = np.einsum("rm,rm->r", table[g.left, 1:n], table[g.right, n - 1 : 0 : -1])
            table[:, n] = solve(collect @ pairs)
        return table
