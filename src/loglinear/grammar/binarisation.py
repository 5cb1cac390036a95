r"""Trees as a binarised grammar sees them, and back: unary chains, markovisation, annotation with ancestors.

A constituent becomes two symbols, so that every span has at most one unary rule that means something:

    top     p NP       over a tag or a constituent of another label; or over
    bottom  b NP       the constituent itself, whose rule is binary

A chain of unary rules S -> VP -> VB is one rule from the top ``S+VP`` to ``VB``. Constituents of more than two children
are cut from the left (``right``) or the right (``left``); what remains remembers the last ``horizontal`` siblings that
were cut off. With ``vertical`` 2 a symbol has its parent's label too, with 3 its grandparent's (Klein and Manning
2003).

With ``annotate_heads`` every symbol of a constituent has the tag of its head word too, so that rules know it. (The word
itself would make charts too large.)

The symbols tell all that is needed to undo this exactly, whatever labels hold: \\ + | ~ ^ @ are escaped in their names.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.features.vocabulary import pack_strings
from loglinear.formats.bracketed import Trees

KINDS = "rpqbit"  # as SymbolKind in native/grammar/trees.hh counts them
_SPECIAL = re.compile(r"([\\+|~^@])")
_PIECE = re.compile(r"((?:\\.|[^\\+|~^@])*)([+|~^@]?)", re.DOTALL)


def escape(label: str) -> str:
    """Return a label as it stands in the name of a symbol."""
    return _SPECIAL.sub(r"\\\1", label)


@dataclass(frozen=True)
class Symbol:
    """What the name of a symbol says."""

    kind: str  # one of KINDS
    chain: tuple[str, ...]  # labels that it stands for; of an intermediate one that of its constituent
    siblings: tuple[str, ...] = ()
    ancestors: tuple[str, ...] = ()
    head: tuple[str, ...] = ()  # the tag of its head word, or nothing

    @classmethod
    def parse(cls, name: str) -> Symbol:
        """Return the parts of a name."""
        if not name or name[0] not in KINDS:
            raise ValueError(f"{name!r} is no symbol of a binarised grammar")
        parts: dict[str, list[str]] = {"+": [], "~": [], "^": [], "@": []}
        place, at = "+", 1
        while at <= len(name) and name[0] != "r":
            match = _PIECE.match(name, at)
            assert match is not None
            text = re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL)
            if place != "~" or text:
                parts[place].append(text)
            if not match[2]:
                break
            place, at = {"|": "~"}.get(match[2], match[2]), match.end()
        return cls(name[0], tuple(parts["+"]), tuple(parts["~"]), tuple(parts["^"]), tuple(parts["@"]))

    @property
    def coarse(self) -> str:
        """The name without siblings, ancestors and heads: a symbol of the coarsest grammar."""
        return self.kind + "+".join(map(escape, self.chain)) + ("|" if self.kind == "i" else "")

    @property
    def shown(self) -> str:
        """The symbol as people read it."""
        if self.kind == "r":
            return "(root)"
        text = "+".join(self.chain)
        if self.kind == "i":
            text += "|" + "~".join(self.siblings)
        return text + "".join("^" + label for label in self.ancestors) + "".join("@" + tag for tag in self.head)


class Symbols:
    """Numbered symbols and what they stand for."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.parsed = [Symbol.parse(name) for name in names]
        labels: dict[str, int] = {}
        chains = [
            [] if s.kind in "ri" else [labels.setdefault(label, len(labels)) for label in s.chain] for s in self.parsed
        ]
        self.labels = tuple(labels)  # of trees, by number
        self.kind = np.array([KINDS.index(s.kind) for s in self.parsed], dtype=np.uint8)
        self.chain_ptr = np.concatenate([[0], np.cumsum([len(c) for c in chains])]).astype(np.int64)
        self.chain = np.array([label for chain in chains for label in chain], dtype=np.int32)
        self.number = {name: k for k, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.names)

    def chain_of(self, symbol: int) -> NDArray[np.int32]:
        """Return the numbers of the labels that a symbol stands for."""
        return self.chain[self.chain_ptr[symbol] : self.chain_ptr[symbol + 1]]

    @cached_property
    def root(self) -> int:
        """The symbol above all trees."""
        return self.number["r"]

    @cached_property
    def tags(self) -> NDArray[np.int32]:
        """The symbols over words."""
        return np.flatnonzero(self.kind == KINDS.index("t")).astype(np.int32)

    def is_stay(self, parent: int, child: int) -> bool:
        """Return whether a unary rule only leads from the top of a constituent to its bottom."""
        p, c = self.parsed[parent], self.parsed[child]
        return p.kind == "p" and c.kind == "b" and len(p.chain) == 1 and p.chain == c.chain

    def made_by(self, parent: int, child: int) -> list[int]:
        """Return the labels of the constituents that a unary rule and its child make over a span, tags excepted."""
        below = [] if self.parsed[child].kind != "b" else self.chain_of(child).tolist()
        if self.parsed[parent].kind == "r":
            return []  # the child is a top with a rule of its own
        return below if self.is_stay(parent, child) else [*self.chain_of(parent).tolist(), *below]


@dataclass(frozen=True)
class Binarisation:
    """How trees become trees of symbols.

    Parameters
    ----------
    direction : "right" (default) or "left": on which side what remains of a constituent is
    horizontal : int of at least 0, siblings that it remembers; None: all of them
    vertical : int of at least 1, labels in a symbol: 1 (default) its own, 2 its parent's too, ...
    annotate_tags : bool, whether tags have their ancestors too; default False
    annotate_heads : bool, whether symbols of constituents have the tag of their head word; default False
    """

    direction: str = "right"
    horizontal: int | None = 1
    vertical: int = 1
    annotate_tags: bool = False
    annotate_heads: bool = False

    def __post_init__(self) -> None:
        if self.direction not in ("right", "left"):
            raise ValueError(f"direction must be 'right' or 'left', not {self.direction!r}")
        for name, least in (("horizontal", 0), ("vertical", 1)):
            value: Any = getattr(self, name)
            if name == "horizontal" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
        if not isinstance(self.annotate_heads, bool):
            raise ValueError(
                f"annotate_heads must be True or False, not {self.annotate_heads!r}: symbols may know the tag of their "
                "head word; with the word itself charts would be too large to be exact"
            )

    def apply(self, trees: Trees) -> Trees:
        """Return the trees of symbols: every node has a word, one child or two, and the root is ``r``."""
        ptr, symbol, word, size, (blob, offsets) = _core.binarise_trees(
            trees.tree_ptr, trees.label, trees.word, trees.size, len(trees.words),
            *pack_strings([escape(label) for label in trees.labels]), self.direction == "right",
            -1 if self.horizontal is None else self.horizontal, self.vertical, self.annotate_tags,
            trees.label[trees.heads()] if self.annotate_heads else None,
        )  # fmt: skip
        raw, bounds = blob.tobytes(), offsets.tolist()
        names = tuple(raw[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(bounds))
        return Trees(ptr, symbol, word, size, names, trees.words)


def unbinarise(trees: Trees, symbols: Symbols | None = None) -> Trees:
    """Return the trees that trees of symbols stand for."""
    symbols = Symbols(trees.labels) if symbols is None else symbols
    ptr, label, word, size = _core.unbinarise_trees(
        trees.tree_ptr, trees.label, trees.word, trees.size, len(trees.words), symbols.kind, symbols.chain_ptr,
        symbols.chain, len(symbols.labels),
    )  # fmt: skip
    return Trees(ptr, label, word, size, symbols.labels, trees.words)
