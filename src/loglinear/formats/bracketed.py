"""Bracketed trees as flat arrays: read and written natively, in parallel; stripping that can be undone.

    (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks) (NP (-NONE- *T*))))

Nodes are in pre-order: node v is followed by its descendants, size[v] - 1 of them. A file may have several trees on a
line or a tree over several lines; the outermost bracket may lack a label, as in the Penn Treebank.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.text import Source, decode, is_utf8, name_of, native_errors, read_bytes, without_mark
from loglinear.formats.trees import HEAD_RULES, Tree

EMPTY = "-NONE-"  # the tag of empty elements
TOPS = ("", "TOP", "ROOT")  # labels of a bracket around a whole tree
_FUNCTION = re.compile(r"[-=|]")


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees one after another, in pre-order. Use :meth:`of` or a reader to make them; arrays are checked."""

    tree_ptr: NDArray[np.int64]  # [n_trees + 1]
    label: NDArray[np.int32]  # [n_nodes]
    word: NDArray[np.int32]  # [n_nodes], -1 for a node with children
    size: NDArray[np.int32]  # [n_nodes], nodes of the subtree
    labels: tuple[str, ...]
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        _core.check_trees(self.tree_ptr, self.label, self.word, self.size, len(self.labels), len(self.words))

    def __len__(self) -> int:
        return self.tree_ptr.size - 1

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same trees, whatever the numbers of labels and words."""
        if not isinstance(other, Trees):
            return NotImplemented
        same = np.array_equal(self.tree_ptr, other.tree_ptr) and np.array_equal(self.size, other.size)
        labels = same and np.array_equal(self.node_labels, other.node_labels)
        return bool(labels and self._leaf_words == other._leaf_words)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def node_labels(self) -> NDArray[np.object_]:
        """The label of every node, as text [n_nodes]."""
        return np.array(self.labels, dtype=object)[self.label] if self.label.size else np.empty(0, dtype=object)

    @property
    def _leaf_words(self) -> list[str]:
        return [self.words[w] for w in self.word[self.word >= 0].tolist()]

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether a node is a tag over a word [n_nodes]."""
        return self.word >= 0

    @cached_property
    def _leaves_before(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.is_leaf)])

    @cached_property
    def tree_of(self) -> NDArray[np.int64]:
        """The tree of every node [n_nodes]."""
        return np.repeat(np.arange(len(self)), np.diff(self.tree_ptr))

    @cached_property
    def word_ptr(self) -> NDArray[np.int64]:
        """Where the words of each tree begin and end, among the words of all [n_trees + 1]."""
        return self._leaves_before[self.tree_ptr]

    @cached_property
    def spans(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The first word of every node and the one after its last, counted in its sentence [n_nodes] each."""
        nodes = np.arange(self.label.size)
        first = np.repeat(self.word_ptr[:-1], np.diff(self.tree_ptr))
        begin, end = self._leaves_before[nodes] - first, self._leaves_before[nodes + self.size] - first
        return begin.astype(np.int32), end.astype(np.int32)

    def sentences(self) -> list[list[str]]:
        """Return the words of every tree."""
        words = self._leaf_words
        return [words[a:b] for a, b in itertools.pairwise(self.word_ptr.tolist())]

    def tags(self) -> list[list[str]]:
        """Return the tags of every tree's words."""
        tags = self.node_labels[self.is_leaf].tolist()
        return [tags[a:b] for a, b in itertools.pairwise(self.word_ptr.tolist())]

    def take(self, numbers: NDArray[np.intp] | Iterable[int]) -> Trees:
        """Return the trees with these numbers, from 0."""
        numbers = np.asarray(list(numbers) if not isinstance(numbers, np.ndarray) else numbers, dtype=np.intp)
        lengths = np.diff(self.tree_ptr)[numbers]
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(self.tree_ptr[:-1][numbers] - ptr[:-1], lengths) + np.arange(ptr[-1])
        return Trees(ptr, self.label[at], self.word[at], self.size[at], self.labels, self.words)

    # ---- objects ---------------------------------------------------------------------------------------------------
    def __iter__(self) -> Iterator[Tree]:
        label, word, size = self.node_labels.tolist(), self.word.tolist(), self.size.tolist()
        for a, b in itertools.pairwise(self.tree_ptr.tolist()):
            root = Tree(label[a], self.words[word[a]] if word[a] >= 0 else None)
            stack = [(a + size[a], root)]
            for v in range(a + 1, b):
                while stack[-1][0] == v:
                    stack.pop()
                node = Tree(label[v], self.words[word[v]] if word[v] >= 0 else None)
                stack[-1][1].children.append(node)
                stack.append((v + size[v], node))
            yield root

    @classmethod
    def of(cls, trees: Iterable[Tree]) -> Trees:
        """Return the arrays of trees given as objects."""
        labels: dict[str, int] = {}
        words: dict[str, int] = {}
        label, word, size, ptr = list[int](), list[int](), list[int](), [0]
        for tree in trees:
            stack: list[tuple[Tree, int]] = [(tree, -1)]  # a node to begin, or (node, its number) to end
            while stack:
                node, number = stack.pop()
                if number >= 0:
                    size[number] = len(label) - number
                    continue
                if node.word is not None and node.children:
                    raise ValueError(f"tree {len(ptr)}: {node.label!r} has both a word and children")
                stack.append((node, len(label)))
                label.append(labels.setdefault(node.label, len(labels)))
                word.append(-1 if node.word is None else words.setdefault(node.word, len(words)))
                size.append(1)
                stack += [(child, -1) for child in reversed(node.children)]
            ptr.append(len(label))
        a, b, c = (np.array(column, dtype=np.int32) for column in (label, word, size))
        return cls(np.array(ptr, dtype=np.int64), a, b, c, tuple(labels), tuple(words))

    # ---- heads -----------------------------------------------------------------------------------------------------
    def heads(self) -> NDArray[np.int64]:
        """Return the node of the head word of every node [n_nodes], by the table of the syntactic language model."""
        number = {label: k for k, label in enumerate(self.labels)}
        rules = [HEAD_RULES.get(label, ("r", "")) for label in self.labels]
        wanted = [[number[name] for name in names.split() if name in number] for _, names in rules]
        ptr = np.concatenate([[0], np.cumsum([len(names) for names in wanted])]).astype(np.int64)
        out = np.empty(self.label.size, dtype=np.int64)
        _core.find_heads(
            self.tree_ptr, self.label, self.word, self.size, len(self.labels), len(self.words),
            np.array([side == "l" for side, _ in rules], dtype=np.uint8), ptr,
            np.array([n for names in wanted for n in names], dtype=np.int32),
            np.array([label[:1].isalpha() for label in self.labels], dtype=np.uint8),
            number.get("NP", -1), number.get("POS", -1), out,
        )  # fmt: skip
        return out


# ---- files -----------------------------------------------------------------------------------------------------------
def read_bracketed(source: Source, *, encoding: str = "utf-8", n_threads: int | None = None) -> Trees:
    """Read a file of bracketed trees (plain or compressed, or ``-``) as they stand."""
    return parse_bracketed(read_bytes(source), name_of(source), encoding=encoding, n_threads=n_threads)


def parse_bracketed(
    data: bytes, source: str = "<bytes>", *, encoding: str = "utf-8", n_threads: int | None = None
) -> Trees:
    """Parse bracketed trees; the FormatError names the file, the line and the number of the tree."""
    if not is_utf8(encoding):
        data = decode(data, source, encoding).encode()
    with native_errors(source):
        ptr, label, word, size, labels, words = _core.read_brackets(threads.pool(n_threads), without_mark(data))
    if ptr.size == 1:
        raise FormatError("there are no trees; expected brackets, such as (S (NP (DT the) (NN dog)) ...)", source)
    return Trees(ptr, label, word, size, _strings(*labels), _strings(*words))


def format_bracketed(trees: Trees, n_threads: int | None = None) -> bytes:
    """Return the trees as text, one per line; labels and words with a bracket or a blank in them are refused."""
    from_labels, from_words = _packed(trees.labels), _packed(trees.words)
    try:
        found = _core.write_brackets(
            threads.pool(n_threads), trees.tree_ptr, trees.label, trees.word, trees.size, *from_labels, *from_words
        )
    except ValueError as error:
        raise FormatError(str(error)) from None
    return found.tobytes()


def _strings(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[str, ...]:
    raw = blob.tobytes()
    return tuple(raw[a:b].decode() for a, b in itertools.pairwise(offsets.tolist()))


def _packed(strings: tuple[str, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
    offsets = np.concatenate([[0], np.cumsum([len(e) for e in encoded])]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


# ---- stripping -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Stripped:
    """Trees without empty elements, functions and top brackets, and what puts them back."""

    trees: Trees
    whole: Trees  # labels are those of the file; words of the stripped trees are not used
    kept: NDArray[np.intp]  # nodes of ``whole`` that the stripped trees have

    def undo(self, trees: Trees | None = None) -> Trees:
        """Return the trees as they were, with the words and tags of ``trees``, which must have the same shape."""
        trees = self.trees if trees is None else trees
        if not np.array_equal(trees.size, self.trees.size):
            raise ValueError("what was stripped fits only trees of the same shape")
        number = {word: k for k, word in enumerate(self.whole.words)}
        new = np.array([number.setdefault(word, len(number)) for word in trees.words], dtype=np.int32)
        word = self.whole.word.copy()
        leaves = trees.word >= 0
        word[self.kept[leaves]] = new[trees.word[leaves]]
        return replace(self.whole, word=word, words=tuple(number))


def plain_label(label: str) -> str:
    """Return a label without its functions: NP of NP-SBJ-1; labels that begin with - are whole."""
    return label if label.startswith("-") else _FUNCTION.split(label)[0]


def strip(trees: Trees, source: str = "<trees>") -> Stripped:
    """Leave out empty elements (-NONE-) with what holds nothing else, functions of labels, and top brackets."""
    empty = np.array([label == EMPTY for label in trees.labels], dtype=bool)
    leaf = trees.is_leaf & ~empty[trees.label]
    before = np.concatenate([[0], np.cumsum(leaf)])
    nodes = np.arange(trees.label.size)
    keep = before[nodes + trees.size] > before[nodes]  # a word is left below
    roots = trees.tree_ptr[:-1].copy()
    without = np.flatnonzero(~keep[roots])
    if without.size:
        raise FormatError(f"tree {without[0] + 1} has no words", source)
    top = np.array([label in TOPS for label in trees.labels], dtype=bool)
    upto = np.concatenate([[0], np.cumsum(keep)])
    while True:  # drop top brackets that hold one constituent, from the outside
        bracket = roots[top[trees.label[roots]] & ~trees.is_leaf[roots] & keep[roots]]
        first = np.flatnonzero(keep)[upto[bracket] + 1]
        held = upto[bracket + trees.size[bracket]] - upto[bracket]
        single = upto[first + trees.size[first]] - upto[first] == held - 1
        if not single.any():
            break
        keep[bracket[single]] = False
        upto = np.concatenate([[0], np.cumsum(keep)])
        roots[np.isin(roots, bracket[single])] = first[single]
    kept = np.flatnonzero(keep)
    size = (upto[kept + trees.size[kept]] - upto[kept]).astype(np.int32)
    names: dict[str, int] = {}
    plain = np.array([names.setdefault(plain_label(label), len(names)) for label in trees.labels], dtype=np.int32)
    used, word = np.unique(trees.word[kept][trees.word[kept] >= 0], return_inverse=True)
    words = np.full(kept.size, -1, dtype=np.int32)
    words[trees.word[kept] >= 0] = word
    stripped = Trees(
        upto[trees.tree_ptr], plain[trees.label[kept]], words, size, tuple(names),
        tuple(trees.words[w] for w in used.tolist()),
    )  # fmt: skip
    return Stripped(stripped, trees, kept)
