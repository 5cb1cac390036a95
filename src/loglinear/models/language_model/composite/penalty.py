"""Penalties of composite models: each source has one of its own, the unigrams have a small ridge.

    elastic_net, l1, l2, none   strengths by order
    tree-l2, tree-linf          a norm of every feature (c, w) of the source with all features (longer c, w): the parent
                                of a feature has the context without its last symbol

Where every source has strengths by order, they are classes of one penalty, whose strengths hypergradients tune. A tree
norm makes each source a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.models.language_model.penalty import DEFAULTS, TREES, NgramPenalty, TreePenalty, check_growth
from loglinear.models.language_model.settings import L1_RATIO, STRENGTH
from loglinear.models.language_model.tree_training import tuned_settings
from loglinear.optimise.tuning_by_search import Setting
from loglinear.penalties import L2, Blocks, ByClass, TreeL2, TreeLinf
from loglinear.protocols import Penalty
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.kinds import InformationSource, Topic
from loglinear.sources.problem import CompositeProblem
from loglinear.sources.table import NONE, FeatureTable
from loglinear.structure.tree import Tree

# Of topic features, which are few, signed and well observed: a ridge of this strength.
TOPIC_STRENGTH, TOPIC_L1_RATIO = 1.0, 0.1
OwnPenalty = NgramPenalty | TreePenalty


def own_penalty(source: InformationSource, penalty: OwnPenalty) -> OwnPenalty:
    """Return the penalty of a source: the model's, with what the source says otherwise."""
    name = penalty.penalty if source.penalty is None else source.penalty
    signed = source.values is not None or isinstance(source, Topic)
    sign = source.nonnegative if source.nonnegative is not None else penalty.nonnegative and not signed
    shared: dict[str, Any] = {"unigram_strength": penalty.unigram_strength, "nonnegative": sign}
    if name in TREES:
        return _tree(source, name, penalty, shared)
    own = penalty if isinstance(penalty, NgramPenalty) else NgramPenalty(strength=STRENGTH, l1_ratio=L1_RATIO)
    usual = {"strength": (TOPIC_STRENGTH,), "l1_ratio": (TOPIC_L1_RATIO,)} if isinstance(source, Topic) else {}
    given = {
        key: tuple(np.atleast_1d(np.asarray(value, np.float64)).tolist())
        for key, value in (("strength", source.strength), ("l1_ratio", source.l1_ratio)) if value is not None
    }  # fmt: skip
    return replace(own, penalty=name, **{**shared, **usual, **given})


def _tree(source: InformationSource, name: str, penalty: OwnPenalty, shared: dict[str, Any]) -> TreePenalty:
    if source.l1_ratio is not None:
        raise ValueError(f"{source.spec()}: l1_ratio is a setting of elastic_net, not of {name}")
    own = penalty if isinstance(penalty, TreePenalty) and penalty.penalty == name else DEFAULTS[name]
    if isinstance(source, Topic):
        ridge = TOPIC_STRENGTH * (1 - TOPIC_L1_RATIO)
        own = replace(own, strength=TOPIC_STRENGTH * TOPIC_L1_RATIO, l2=ridge)
    if source.strength is not None:
        strengths = np.atleast_1d(np.asarray(source.strength, np.float64))
        if strengths.size != 1:
            raise ValueError(f"{source.spec()}: {name} has one strength for all orders, not {strengths.size}")
        own = replace(own, strength=float(strengths[0]))
    return replace(own, **shared)


@dataclass(frozen=True)
class SourcePenalties:
    """The penalties of all sources over the weights of a problem."""

    features: Sequence[SourceFeatures]
    problem: CompositeProblem
    own: Sequence[OwnPenalty]
    n_threads: int | None = None

    @property
    def n_trees(self) -> int:
        """Return the number of sources under tree norms."""
        return sum(isinstance(one, TreePenalty) for one in self.own)

    def make(self) -> ByClass | Blocks:
        """Return the penalty of all weights: classes by source and order, or a block for each source."""
        return self._blocks() if self.n_trees else self.by_class()

    def by_class(self) -> ByClass:
        """Return one penalty with classes by source and order."""
        classes, strengths, signs = [np.zeros(self.problem.n_words, np.uint8)], [self._unigrams()], [False]
        for one, own in zip(self.features, self.own):
            assert isinstance(own, NgramPenalty)
            classes.append((one.table.depth_of_entries() + (len(strengths) - 1)).astype(np.uint8))
            strengths += [own.of_order(d + 1) for d in range(1, one.table.depth + 1)]
            signs += [own.nonnegative] * one.table.depth
        l1, l2 = np.array(strengths).T
        return ByClass(np.concatenate(classes), l1, l2, np.array(signs), n_threads=self.n_threads)

    def _unigrams(self) -> tuple[float, float]:
        return 0.0, self.own[0].unigram_strength

    def _blocks(self) -> Blocks:
        blocks: list[tuple[int, Penalty]] = [
            (self.problem.n_words, L2(self.own[0].unigram_strength, n_threads=self.n_threads))
        ]
        for one, own, offset in zip(self.features, self.own, self.problem.offsets):
            n = one.table.n_entries
            if n:
                blocks.append((n, self._block(one.table, own, self.problem.observed[offset : offset + n])))
        return Blocks(blocks, n_threads=self.n_threads)

    def _block(self, table: FeatureTable, own: OwnPenalty, observed: FloatArray) -> Penalty:
        if isinstance(own, NgramPenalty):
            l1, l2 = np.array([own.of_order(d + 1) for d in range(1, table.depth + 1)]).T
            classes = table.depth_of_entries() - np.uint8(1)
            return ByClass(classes, l1, l2, np.full(l1.size, own.nonnegative), n_threads=self.n_threads)
        check_growth(own, table.depth + 1)
        make: Any = TreeLinf if own.penalty == "tree-linf" else partial(TreeL2, plain=own.group_norm == "plain")
        made: Penalty = make(
            tree_of(table), own.strength, scale=np.maximum(np.abs(observed), 0.5) + own.l2, l2=own.l2,
            nonnegative=own.nonnegative, depth_growth=own.depth_growth, feature_decay=own.feature_decay,
            n_threads=self.n_threads,
        )  # fmt: skip
        return made

    # ---- what is tuned under trees ----------------------------------------------------------------------------------
    def settings(self, tuned: Sequence[str]) -> list[Setting]:
        """Return (strength, depth growth, l2) of every source under a tree norm, with first steps for those tuned."""
        out = []
        for one, own in zip(self.features, self.own):
            names = [name for name in tuned if name != "depth_growth" or one.table.depth > 1]
            assert isinstance(own, TreePenalty)
            out += tuned_settings(own, tuple(names), one.table.depth + 1)
        return out

    def with_values(self, values: FloatArray) -> SourcePenalties:
        """Return the same with other values of these settings."""
        rows = np.reshape(values, (len(self.own), 3))
        own = [one.with_values(row) for one, row in zip(self.own, rows) if isinstance(one, TreePenalty)]
        return replace(self, own=own)

    # ---- what they are ----------------------------------------------------------------------------------------------
    def rows(self, by_class: ByClass | None = None) -> list[dict[str, Any]]:
        """Return the strengths by source and order; ``by_class`` has those that were tuned."""
        out: list[dict[str, Any]] = [{"ngrams": "unigrams", "order": 1, "l1": 0.0, "l2": self._unigrams()[1]}]
        for one, own in zip(self.features, self.own):
            for n in range(2, one.table.depth + 2):
                row: dict[str, Any] = {"ngrams": f"{one.source.name}, order {n}", "order": n}
                if isinstance(own, TreePenalty):
                    row |= {"group": own.strength * own.depth_growth ** (n - 2), "l2": own.l2}
                else:
                    row |= dict(zip(("l1", "l2"), own.of_order(n)))
                out.append(row)
        if by_class is not None:
            for row, a, b in zip(out, by_class.l1, by_class.l2):
                row |= {"l1": float(a), "l2": float(b)}
        return out


def tree_of(table: FeatureTable) -> Tree:
    """Return the forest of a source's features: the parent of (c, w) has c without its last symbol."""
    parent = table.entry_parent.astype(np.int64)
    return Tree(np.where(parent == NONE, -1, parent).astype(np.int32))
