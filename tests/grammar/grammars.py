"""Small grammars, and all of their trees by enumeration."""

import itertools

from loglinear.grammar.model import Grammar

TIGHT = [
    ("S", ("A", "S"), 0.25), ("S", ("A",), 0.15), ("S", ("S", "B"), 0.1), ("S", "a", 0.5), ("A", "a", 0.5),
    ("A", ("B", "A"), 0.2), ("A", "b", 0.3), ("B", "b", 0.7), ("B", ("C",), 0.3), ("C", "c", 1.0),
]  # fmt: skip
LOOSE = [("S", ("S", "T"), 0.35), ("S", ("T", "T"), 0.2), ("S", "a", 0.45), ("T", ("S",), 0.6), ("T", "b", 0.4)]


def trees_by_size(rules, start, most):
    """Yield (probability, tree) of every tree of up to ``most`` nodes; a tree is (symbol, children or word)."""
    productions = {}
    for symbol, right, p in rules:
        productions.setdefault(symbol, []).append((right, p))
    table = {}

    def trees(symbol, size):
        key = (symbol, size)
        if key not in table:
            table[key] = list(make(symbol, size))
        return table[key]

    def make(symbol, size):
        for right, p in productions[symbol]:
            if isinstance(right, str):
                if size == 1:
                    yield p, (symbol, right)
            elif len(right) == 1:
                if size > 1:
                    yield from ((p * q, (symbol, (t,))) for q, t in trees(right[0], size - 1))
            else:
                for left in range(1, size - 1):
                    pairs = itertools.product(trees(right[0], left), trees(right[1], size - 1 - left))
                    yield from ((p * q * r, (symbol, (s, t))) for (q, s), (r, t) in pairs)

    for size in range(1, most + 1):
        yield from trees(start, size)


def words(tree):
    return [tree[1]] if isinstance(tree[1], str) else [w for child in tree[1] for w in words(child)]


def nodes(tree):
    yield tree
    if not isinstance(tree[1], str):
        for child in tree[1]:
            yield from nodes(child)


def spans(tree, begin=0):
    """Yield (node, begin, end) of every node."""
    end = begin + len(words(tree))
    yield tree, begin, end
    if not isinstance(tree[1], str):
        for child in tree[1]:
            yield from spans(child, begin)
            begin += len(words(child))


def grammar(rules):
    return Grammar.from_rules(rules, "S")
