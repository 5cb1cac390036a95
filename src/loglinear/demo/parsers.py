"""Parsers: abstract syntax trees of statements, from their tokens alone.

Every Python carries trees: those of its own sources. A statement on one line is a sentence, its tokens are the words,
and its expressions are the constituents.
"""

from __future__ import annotations

import ast
import io
import keyword
import sysconfig
import time
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from loglinear.demo.code_lines import TEST_MODULES, TRAIN_MODULES
from loglinear.demo.docstrings import Corpus
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.formats.bracketed import Trees
from loglinear.formats.trees import Tree
from loglinear.models import Parser

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert, ast.Raise, ast.Delete)
_TREES = {False: (1000, 300), True: (120, 40)}  # to train and to test on; quick or not
_LENGTHS = range(3, 21)  # tokens
_BRACKETS = {"(": "-LRB-", ")": "-RRB-"}
# Estimator and strength; M-estimation takes the mean over trees where a random field takes the sum.
RUNS = {"crf": 1.0, "m-estimation": 1.0, "pcfg": 1.0}


def run(corpus: Corpus) -> list[Section]:
    """Return the section on parsers."""
    train, test = (
        Trees.of(statements(names, n)) for names, n in zip((TRAIN_MODULES, TEST_MODULES), _TREES[corpus.quick])
    )
    rows = []
    for estimator, strength in RUNS.items():
        model = Parser(estimator, strength=strength, max_iterations=40, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(train)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a statement without a tree counts as wrong
            found = model.evaluate(test)
        seconds = time.perf_counter() - start
        figures = (found["precision"], found["recall"], found["f1"], found["exact_match"])
        rows.append((estimator, *figures, model.fit_seconds_, len(test) / seconds))
    columns = ("estimator", "precision", "recall", "F1", "whole trees right", "seconds", "statements/second")
    about = (
        f"Statements of the standard library: {len(train):,} to train on, {len(test):,} of other modules to test on. "
        "The words are tokens, the constituents are the expressions of the abstract syntax tree."
    )
    best, counted = max(rows, key=lambda row: row[3]), next(row for row in rows if row[0] == "pcfg")
    finding = (
        f"How a line of Python is put together: F1 of constituents {best[3]:.1%} by {best[0]}, {counted[3]:.1%} by the "
        "grammar alone, which is only counted. Trees of code leave little to learn beyond the grammar."
    )
    return [Section("How is a line of Python put together?", [finding, about], tables=[Table(columns, rows)])]


def statements(modules: str, n: int) -> Iterator[Tree]:
    """Yield the trees of up to n different statements."""
    root, seen = Path(sysconfig.get_path("stdlib")), set[str]()
    for name in modules.split():
        try:
            source = (root / f"{name}.py").read_text(encoding="utf-8")
            tree = ast.parse(source)
        except (OSError, SyntaxError, ValueError):
            continue
        lines = source.splitlines()
        for node in ast.walk(tree):
            if not isinstance(node, _STATEMENTS) or node.lineno != node.end_lineno:
                continue
            text = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            if text in seen or not text.isascii() or not lines[node.lineno - 1].isascii():
                continue
            seen.add(text)
            found = _tree(node, text)
            if found is not None:
                yield found
                if len(seen) >= n:
                    return


def _tree(node: ast.stmt, text: str) -> Tree | None:
    """Return the tree of a statement; None where its tokens are few, many or not all of its text."""
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    except (tokenize.TokenError, SyntaxError):
        return None
    if len(tokens) not in _LENGTHS or any(isinstance(part, ast.JoinedStr) for part in ast.walk(node)):
        return None
    if any(len(t.string.split()) != 1 for t in tokens):  # a text with blanks is no word
        return None
    begins, ends = [t.start[1] for t in tokens], [t.end[1] for t in tokens]
    spans: list[tuple[int, int, int, str]] = []
    for part in ast.walk(node):
        if isinstance(part, (ast.expr, ast.keyword)) and part.end_col_offset is not None:
            a, b = part.col_offset - node.col_offset, part.end_col_offset - node.col_offset
            if a in begins and b in ends:
                spans.append((begins.index(a), -ends.index(b) - 1, len(spans), type(part).__name__))
    root = Tree(type(node).__name__)
    stack = [(len(tokens), root)]
    spans.sort()
    for place, token in enumerate(tokens):
        while spans and spans[0][0] == place:
            _, end, _, label = spans.pop(0)
            while stack[-1][0] <= place:
                stack.pop()
            child = Tree(label)
            stack[-1][1].children.append(child)
            stack.append((-end, child))
        while stack[-1][0] <= place:
            stack.pop()
        stack[-1][1].children.append(Tree(_tag(token), _escaped(token.string)))
    return root


def _tag(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.OP or keyword.iskeyword(token.string):
        return "op:" + _escaped(token.string)
    return {tokenize.NAME: "name", tokenize.NUMBER: "number", tokenize.STRING: "text"}.get(token.type, "other")


def _escaped(word: str) -> str:
    for bracket, name in _BRACKETS.items():
        word = word.replace(bracket, name)
    return word
