"""A parser and sentences together: everything that is read off their charts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.memory import parse_memory
from loglinear.formats.bracketed import Trees
from loglinear.grammar.binarisation import unbinarise
from loglinear.grammar.features import Sentences
from loglinear.grammar.lexicon import flatten
from loglinear.grammar.rules import RuleTable
from loglinear.threads import pool

ANY = -2  # a bracket with any label, as native/grammar/rules.hh counts it


@dataclass(frozen=True, eq=False)
class ParserInputs:
    """Sentences as a parser reads them: their words as text and as numbers."""

    tokens: list[str]
    sentences: Sentences

    @property
    def ptr(self) -> NDArray[np.int64]:
        """Where the words of each sentence begin."""
        return self.sentences.ptr


def words_of(X: Any) -> list[list[str]]:
    """Return sentences as lists of words: of trees, of lists of words, or of text with blanks between words."""
    if isinstance(X, Trees):
        return X.sentences()
    if isinstance(X, str):
        raise TypeError("a list of sentences is needed, not one string")
    out = []
    for number, sentence in enumerate(X, start=1):
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        if not words:
            raise ValueError(f"sentence {number} has no words")
        if bad := next((w for w in words if not isinstance(w, str)), None):
            raise TypeError(f"sentence {number} has a word that is {type(bad).__name__}, not text")
        out.append(words)
    return out


class Constrained:
    """Given brackets and tags as native functions take them."""

    def __init__(self, rules: RuleTable, ptr: NDArray[np.int64], brackets: Any = None, tags: Any = None) -> None:
        given: tuple[Any, Any, Any, Any] = (None, None, None, None)
        if brackets is not None:
            given = _brackets(rules, brackets, ptr.size - 1)
        number = None if tags is None else _tags(rules, tags, ptr)
        self.native = _core.TreeConstraints(*given, number, rules.hidden, *rules.made)


def _brackets(rules: RuleTable, brackets: Any, n: int) -> tuple[Any, Any, Any, Any]:
    if len(brackets) != n:
        raise ValueError(f"brackets of {len(brackets)} sentences for {n}")
    number = {label: k for k, label in enumerate(rules.symbols.labels)}
    rows, counts = list[tuple[int, int, int]](), [0]
    for place, given in enumerate(brackets, start=1):
        for bracket in given or ():
            begin, end, *label = bracket
            name = label[0] if label else None
            if name is not None and name not in number:
                raise ValueError(f"sentence {place}: the label {name!r} of a bracket never occurred in training")
            rows.append((int(begin), int(end), ANY if name is None else number[name]))
        counts.append(len(rows))
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    begin, end, label = (np.ascontiguousarray(table[:, k]) for k in range(3))
    return np.array(counts, dtype=np.int64), begin, end, label


def _tags(rules: RuleTable, tags: Any, ptr: NDArray[np.int64]) -> NDArray[np.int32]:
    number = {rules.symbols.parsed[s].chain[0]: k for k, s in enumerate(rules.tag_symbol.tolist())}
    if len(number) < rules.n_tags:
        raise ValueError("tags cannot be given to a parser whose tags are annotated with their ancestors")
    out = np.full(int(ptr[-1]), -1, dtype=np.int32)
    if len(tags) != ptr.size - 1:
        raise ValueError(f"tags of {len(tags)} sentences for {ptr.size - 1}")
    for place, (row, (a, b)) in enumerate(zip(tags, itertools.pairwise(ptr.tolist())), start=1):
        if row is None:
            continue
        if len(row) != b - a:
            raise ValueError(f"sentence {place}: {len(row)} tags for {b - a} words")
        for t, tag in enumerate(row):
            if tag is not None and tag not in number:
                raise ValueError(f"sentence {place}: the tag {tag!r} never occurred in training")
            out[a + t] = -1 if tag is None else number[tag]
    return out


def check_memory(rules: RuleTable, ptr: NDArray[np.int64], max_memory: Any, n_threads: int | None) -> None:
    """Raise ValueError for a sentence whose charts may not fit: inside and outside sums and maxima, on every thread."""
    lengths = np.diff(ptr)
    if lengths.size == 0:
        return
    longest, limit = int(lengths.max()), parse_memory(max_memory)
    need = 3 * rules.native.chart_bytes(longest) * pool(n_threads).size
    if need > limit:
        raise ValueError(
            f"sentence {int(lengths.argmax()) + 1} has {longest:,} words, whose charts may need {need / 2**30:.1f} "
            f"GB; max_memory allows {limit / 2**30:.1f}. Raise it, use fewer threads or split the sentence"
        )


class Charts:
    """Charts of sentences under a model; they are made anew for every question."""

    def __init__(self, parser: Any, inputs: ParserInputs, brackets: Any = None, tags: Any = None) -> None:
        self.parser, self.inputs = parser, inputs
        self.rules: RuleTable = parser.grammar_.rules
        check_memory(self.rules, inputs.ptr, parser.max_memory, parser.n_threads)
        self._masks, self.cost = parser._masks_for(inputs.sentences)
        self._constraints = Constrained(self.rules, inputs.ptr, brackets, tags).native
        self._given = brackets is not None or tags is not None

    def _arguments(self, *, labels: bool = False) -> tuple[Any, Any, Any, Any, Any]:
        constraints = self._constraints if labels or self._given else None
        parser, sentences = self.parser, self.inputs.sentences
        return pool(parser.n_threads), parser._native, sentences.native, self._masks, constraints

    # ---- trees -------------------------------------------------------------------------------------------------------
    def best(self) -> tuple[Trees, FloatArray]:
        """Return the best trees and their scores, -inf where there is none; the tree is then flat."""
        found = _core.best_trees(*self._arguments())
        return self._plain(found), found[4]

    def recall(self, cost: float) -> tuple[Trees, FloatArray]:
        """Return the trees of greatest expected recall, less ``cost`` for every constituent, and what they gain."""
        labels = self.rules.symbols.labels
        found = _core.recall_trees(*self._arguments(labels=True), len(labels), float(cost))
        tags = [self.rules.symbols.parsed[s].chain[0] for s in self.rules.tag_symbol.tolist()]
        return self._whole(found, (*labels, *tags), lambda trees: trees), found[4]

    def nbest(self, k: int) -> tuple[Trees, FloatArray, NDArray[np.int64]]:
        """Return the k best trees of all sentences, their scores, and where those of each sentence begin."""
        found = _core.nbest_trees(*self._arguments(), k)
        return self._plain(found, lists=True), found[4], found[5]

    def samples(self, n: int, seed: int) -> tuple[Trees, NDArray[np.int64]]:
        """Return trees drawn from p(tree | sentence), and where those of each sentence begin."""
        found = _core.sample_trees(*self._arguments(), n, seed)
        return self._plain(found, lists=True), found[5]

    def log_normalisers(self) -> FloatArray:
        """Return log Z of every sentence."""
        out = np.empty(len(self.inputs.sentences))
        _core.tree_log_normalisers(*self._arguments(), out)
        return out

    def marginals(self, threshold: float) -> tuple[Any, ...]:
        """Return (pointers, begin, end, label, probability) of constituents and tags."""
        return _core.tree_marginals(*self._arguments(labels=True), len(self.rules.symbols.labels), threshold)

    def _plain(self, found: Any, *, lists: bool = False) -> Trees:
        symbols = self.rules.symbols
        return self._whole(found, symbols.names, lambda trees: unbinarise(trees, symbols), lists=lists)

    def _whole(self, found: Any, names: Sequence[str], convert: Any, *, lists: bool = False) -> Trees:
        """Return decoded trees with their words; a flat tree where there is none."""
        ptr, symbol, place, size, _, list_ptr = found
        sentence = np.repeat(np.arange(list_ptr.size - 1), np.diff(list_ptr)) if lists else np.arange(ptr.size - 1)
        nodes = np.diff(ptr)
        word = np.where(place >= 0, place + np.repeat(self.inputs.ptr[sentence], nodes), -1).astype(np.int32)
        made = np.flatnonzero(nodes)
        kept = np.concatenate([[0], np.cumsum(nodes[made])]).astype(np.int64)
        trees = convert(Trees(kept, symbol, word, size, tuple(names), tuple(self.inputs.tokens)))
        return trees if made.size == nodes.size else self._with_flat(trees, made, nodes.size)

    def _with_flat(self, trees: Trees, made: NDArray[np.intp], n: int) -> Trees:
        """Return the trees of all sentences, flat ones where there is none."""
        objects: list[Any] = [None] * n
        for place, tree in zip(made.tolist(), trees):
            objects[place] = tree
        bounds = self.inputs.ptr.tolist()
        for place in np.setdiff1d(np.arange(n), made).tolist():
            objects[place] = self.parser._flat_tree(self.inputs.tokens[bounds[place] : bounds[place + 1]])
        return Trees.of(objects)


def read_inputs(lexicon: Any, X: Any) -> ParserInputs:
    """Return sentences as numbers."""
    if isinstance(X, ParserInputs):
        return X
    tokens, ptr = flatten(words_of(X))
    return ParserInputs(tokens, Sentences(ptr, lexicon.numbers(tokens), lexicon))
