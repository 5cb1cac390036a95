"""Expectations under grammars: systems of equations against enumeration and against samples."""

import numpy as np
import pytest
from grammars import LOOSE, TIGHT, grammar, spans, trees_by_size, words

from loglinear.errors import LoglinearError
from loglinear.formats.trees import Tree
from loglinear.grammar.expectations import Expectations
from loglinear.grammar.model import Grammar, ordered_unary

# Small mean sizes, so that trees that are too large to be listed have no weight.
SMALL = [("S", ("A", "S"), 0.0004), ("S", ("A",), 0.001), ("S", ("S", "B"), 0.0006), ("S", "a", 0.998),
         ("A", "a", 0.7), ("A", ("B", "A"), 0.001), ("A", "b", 0.299), ("B", "b", 0.998),
         ("B", ("A",), 0.002)]  # fmt: skip
# Not tight: X never ends in all but two cases of a thousand; what ends has few nodes.
NOT_TIGHT = [("S", ("X", "X"), 0.1), ("S", ("A", "S"), 0.01), ("S", "a", 0.89), ("X", ("X", "X"), 0.998),
             ("X", "x", 0.002), ("A", "b", 1.0)]  # fmt: skip


@pytest.fixture(params=[SMALL, NOT_TIGHT], ids=["tight", "not tight"], scope="module")
def case(request):
    most = 11 if request.param is SMALL else 17
    return request.param, Expectations(grammar(request.param)), list(trees_by_size(request.param, "S", most))


def near(a, b):
    return a == pytest.approx(b, rel=1e-10, abs=1e-10)


def test_rules_and_ends_of_derivations(case):
    rules, e, trees = case
    g = e.grammar
    assert near(float(e.inside[g.start]), sum(p for p, _ in trees))
    assert e.is_tight == (rules is SMALL)
    found = {}
    for table, columns in zip(e.rules(), ((g.parent, g.left, g.right), (g.unary_parent, g.unary_child), None)):
        for k, x in enumerate(table):
            if columns is None:
                key = (g.symbols[g.lexical_symbol[k]], g.words[g.lexical_word[k]])
            else:
                key = (g.symbols[columns[0][k]], tuple(g.symbols[c[k]] for c in columns[1:]))
            found[key] = x
    for symbol, right, _ in rules:
        seen = 0.0
        for p, tree in trees:
            seen += p * sum(_rule(node) == (symbol, right) for node, _, _ in spans(tree))
        assert near(found[symbol, right], seen)


def _rule(node):
    return node[0], node[1] if isinstance(node[1], str) else tuple(child[0] for child in node[1])


def test_words_at_edges_and_around_and_lengths(case):
    _, e, trees = case
    g = e.grammar
    V = len(g.words)
    number = {w: k for k, w in enumerate(g.words)}
    n = len(g.symbols)
    first, last, before, after = (np.zeros((n, V + 1)) for _ in range(4))
    lengths = np.zeros((n, 6))
    for p, tree in trees:
        text = [number[w] for w in words(tree)]
        for node, i, j in spans(tree):
            a = g.symbols.index(node[0])
            first[a, text[i]] += p
            last[a, text[j - 1]] += p
            before[a, text[i - 1] if i else V] += p
            after[a, text[j] if j < len(text) else V] += p
            if j - i < 6:
                lengths[a, j - i] += p
    o, i = e.outside[:, None], e.inside[:, None]
    for mine, theirs in (
        (o * e.first, first), (o * e.last, last), (i * e.before, before), (i * e.after, after),
        (o * e.lengths(5), lengths),
    ):  # fmt: skip
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(e.before.sum(axis=1), e.outside, rtol=1e-10)
    np.testing.assert_allclose(e.first.sum(axis=1), e.inside, rtol=1e-10)


def test_fragments(case):
    _, e, trees = case

    def count(match):
        return sum(p * sum(match(node) for node, _, _ in spans(tree)) for p, tree in trees)

    leaf = Tree("S", None, [Tree("A"), Tree("S")])
    assert near(e.fragment(leaf), count(lambda t: _rule(t) == ("S", ("A", "S"))))
    deep = Tree("S", None, [Tree("A", "b"), Tree("S", None, [Tree("A"), Tree("S", "a")])])

    def is_deep(t):
        if _rule(t) != ("S", ("A", "S")) or t[1][0] != ("A", "b"):
            return False
        inner = t[1][1]
        return _rule(inner) == ("S", ("A", "S")) and inner[1][1] == ("S", "a")

    assert near(e.fragment(deep), count(is_deep))
    assert near(
        e.fragment(leaf, first="b", last="a"),
        count(lambda t: _rule(t) == ("S", ("A", "S")) and words(t)[0] == "b" and words(t)[-1] == "a"),
    )
    assert near(e.fragment(Tree("S"), first="b"), count(lambda t: t[0] == "S" and words(t)[0] == "b"))


@pytest.mark.parametrize("rules", [TIGHT, LOOSE], ids=["small", "recursive"])
def test_a_million_samples_agree_within_their_errors(rules):
    g = grammar(rules)
    e = Expectations(g)
    assert e.is_tight
    n = 1_000_000  # as many as the smaller error bars need
    trees = g.sample(n, np.random.default_rng(3))
    for a in range(len(g.symbols)):
        per_tree = np.bincount(trees.tree_of[trees.label == a], minlength=n)
        error = per_tree.std() / np.sqrt(n)
        assert abs(per_tree.mean() - e.outside[a] * e.inside[a]) < 5 * error
    leaf = trees.is_leaf
    for w in range(len(g.words)):
        per_tree = np.bincount(trees.tree_of[leaf & (trees.word == w)], minlength=n)
        expected = e.rules()[2][g.lexical_word == w].sum()
        assert abs(per_tree.mean() - expected) < 5 * per_tree.std() / np.sqrt(n)


def test_samples_do_not_depend_on_threads():
    g = grammar(TIGHT)
    one, two = (g.sample(3000, np.random.default_rng(1), n_threads=k) for k in (1, 2))
    assert np.array_equal(one.label, two.label)
    assert np.array_equal(one.word, two.word)


def test_a_critical_grammar_is_tight_but_has_no_expectations():
    e = Expectations(Grammar.from_rules([("S", ("S", "S"), 0.5), ("S", "a", 0.5)], "S"))
    assert e.is_tight
    with pytest.raises(LoglinearError, match="infinite: the mean size of its trees diverges"):
        _ = e.outside


def test_cyclic_unary_rules_have_expectations_but_no_order():
    g = Grammar.from_rules([("S", ("A",), 0.5), ("S", "s", 0.5), ("A", ("S",), 0.5), ("A", "a", 0.5)], "S")
    e = Expectations(g)
    assert e.outside[0] == pytest.approx(1 / (1 - 0.25))
    with pytest.raises(ValueError, match=r"unary rules form a cycle: S -> A -> S; collapse chains"):
        ordered_unary(g.unary_parent, g.unary_child, g.symbols)


def test_a_sampled_tree_without_end_is_an_error():
    g = Grammar.from_rules([("S", ("S", "S"), 0.9), ("S", "a", 0.1)], "S")
    with pytest.raises(LoglinearError, match="more than 1000 nodes: the grammar hardly ends"):
        g.sample(100, np.random.default_rng(0), max_nodes=1000)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([("S", ("S", "S"), 0.5), ("S", "a", 0.4)], "the rules of 'S' sum to 0.9, not 1"),
        ([("S", ("A", "A"), 1.0), ("B", "a", 1.0)], "the symbol 'A' has no rules"),
        ([("S", ("S", "S", "S"), 1.0)], "must have one or two symbols, or a word"),
        ([("S", ("S",), 1.0)], "no rule with a word"),
        ([("S", "a", -1.0), ("S", "b", 2.0)], "probabilities must be numbers of at least 0"),
    ],
)
def test_rules_that_are_no_grammar_are_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        Grammar.from_rules(rules, "S")
