"""A small treebank, and all trees of a sentence under a parser by enumeration."""

import itertools

import numpy as np

from loglinear import Parser
from loglinear.formats.bracketed import Trees, parse_bracketed
from loglinear.grammar.binarisation import unbinarise
from loglinear.models.parser.explain import _weights_of

TREEBANK = b"""
(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))
(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (DT a) (NN dog)) (PP (IN with) (NP (NN glasses))))))
(S (NP (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN cat)))))
(S (NP (DT a) (NN dog)) (VP (VBZ barks)))
(S (VP (VB see) (NP (DT the) (JJ big) (NN dog))))
(FRAG (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (NN cat)))))
(S (VP (VB see)))
(S (NP (NP (NN dog))) (VP (VBZ sees) (S (VP (VB see)))))
"""
TREES = parse_bracketed(TREEBANK)
SENTENCES = [["the", "dog", "sees", "a", "cat"], ["see", "dog", "with", "new", "cat"], ["see"], ["cat", "sees"]]


def parser(estimator="m-estimation", seed=0, **settings):
    """Return a parser of the treebank with random weights."""
    settings = {"min_word_count": 1, "max_iterations": 2, "verbose": 0, "n_threads": 2, "pruning": None, **settings}
    model = Parser(estimator, **settings)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(TREES)
    if estimator != "pcfg":
        weights = np.random.default_rng(seed).normal(size=model.features_.n_weights) * 0.5
        model._learn(model.features_, weights)
    return model


def derivations(model, words):
    """Return [(score, tree of symbols, parts)] of every derivation of a sentence."""
    rules, grammar = model.grammar_.rules, model.grammar_
    inputs = model.encode([words])
    numbers = inputs.sentences.words.tolist()
    table = {}

    def part(rule, i, k, j):
        score = sum(model.weights_[w] for w in _weights_of(model.features_, inputs.sentences, rule, i, k, j))
        return score + (grammar.log_probability[rule] if rule >= 0 and model.has_base else 0.0)

    def below(symbol, i, j):
        key = (symbol, i, j)
        if key not in table:
            table[key] = list(make(symbol, i, j))
        return table[key]

    def make(symbol, i, j):
        tag = int(rules.tag_number[symbol])
        if tag >= 0 and j == i + 1:
            a, b = grammar.word_ptr[numbers[i] : numbers[i] + 2]
            for place in range(a, b):
                if grammar.word_tag[place] == tag:
                    base = grammar.word_log_probability[place] if model.has_base else 0.0
                    yield part(-1 - tag, i, i, j) + base, (symbol, i)
        for r in np.flatnonzero(rules.parent == symbol).tolist():
            for k in range(i + 1, j):
                pairs = itertools.product(below(int(rules.left[r]), i, k), below(int(rules.right[r]), k, j))
                score = None
                for (s, x), (t, y) in pairs:
                    score = part(r, i, k, j) if score is None else score
                    yield score + s + t, (symbol, x, y)
        for u in np.flatnonzero(rules.unary_parent == symbol).tolist():
            found = below(int(rules.unary_child[u]), i, j)
            if found:
                score = part(rules.n_binary + u, i, i, j)
                yield from ((score + s, (symbol, x)) for s, x in found)

    found = sorted(below(rules.symbols.root, 0, len(words)), key=lambda pair: -pair[0])
    return [(score, str(tree)) for (score, _), tree in zip(found, _plain(rules, words, [t for _, t in found]))]


def _plain(rules, words, trees):
    """Return trees of symbols, as nested tuples, as trees of labels."""
    if not trees:
        return []
    symbol, word, size, ptr = [], [], [], [0]

    def write(node):
        at = len(symbol)
        symbol.append(node[0])
        leaf = isinstance(node[1], int)
        word.append(node[1] if leaf else -1)
        size.append(0)
        for child in () if leaf else node[1:]:
            write(child)
        size[at] = len(symbol) - at

    for tree in trees:
        write(tree)
        ptr.append(len(symbol))
    arrays = (np.array(x, dtype=np.int32) for x in (symbol, word, size))
    return unbinarise(Trees(np.array(ptr, dtype=np.int64), *arrays, rules.symbols.names, tuple(words)), rules.symbols)


def constituents(text):
    """Return [(begin, end, label)] of the constituents of a tree, tags excepted."""
    trees = parse_bracketed(text.encode())
    begin, end = trees.spans
    rows = zip(begin.tolist(), end.tolist(), trees.node_labels.tolist(), trees.is_leaf.tolist())
    return [(i, j, label) for i, j, label, leaf in rows if not leaf]
