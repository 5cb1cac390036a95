"""Penalties: what keeps the weights small, few or alike. They never know what their weights mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loglinear.errors import IncompatibleError
from loglinear.penalties.blocks import Blocks
from loglinear.penalties.by_class import ByClass, SmoothByClass
from loglinear.penalties.elastic_net import ElasticNet
from loglinear.penalties.l1 import L1
from loglinear.penalties.l2 import L2, NonnegativeL2
from loglinear.penalties.none import NonnegativePenalty, NoPenalty
from loglinear.penalties.separable import SeparablePenalty, SmoothSeparable
from loglinear.penalties.tree_l2 import TreeL2
from loglinear.penalties.tree_linf import TreeLinf
from loglinear.protocols import Penalty
from loglinear.registry import Registry

PENALTIES: Registry[Callable[..., Penalty]] = Registry(
    "penalty",
    {"none": NoPenalty, "l1": L1, "l2": L2, "elastic_net": ElasticNet, "tree_l2": TreeL2, "tree_linf": TreeLinf},
)
_OF_TREES = ("tree_l2", "tree_linf")
_NONNEGATIVE = {"none": NonnegativePenalty, "l2": NonnegativeL2}


def make(
    name: str,
    strength: Any = 1.0,
    *,
    nonnegative: Any = False,
    l1_ratio: Any = 0.5,
    classes: Any = None,
    **options: Any,
) -> Any:
    """The penalty with this name; ``l1_ratio`` is for elastic_net only, and those of trees need ``tree``.

    With ``classes``, the class number of every penalised weight, ``strength``, ``l1_ratio`` and ``nonnegative`` may be
    lists with one entry per class.
    """
    name = name.replace("-", "_")
    factory = PENALTIES.factory(name)
    if classes is not None:
        return _by_class(name, classes, strength, l1_ratio, nonnegative, **options)
    if name in _OF_TREES:
        return _of_tree(name, strength, nonnegative, **options)
    if nonnegative and name in _NONNEGATIVE:
        return _NONNEGATIVE[name](strength, **options)
    if name == "elastic_net":
        options["l1_ratio"] = l1_ratio
    if nonnegative:
        options["nonnegative"] = True
    return factory(strength, **options)


def _of_tree(name: str, strength: float, nonnegative: bool, tree: Any = None, **options: Any) -> Penalty:
    if tree is None:
        raise IncompatibleError(f"{name} needs tree=, a loglinear.structure.Tree over its weights")
    return PENALTIES.factory(name)(tree, strength, nonnegative=nonnegative, **options)


def _by_class(name: str, classes: Any, strength: Any, l1_ratio: Any, nonnegative: Any, **options: Any) -> ByClass:
    """Any of the four is an elastic net with a given share of l1."""
    shares = {"none": 0.0, "l1": 1.0, "l2": 0.0, "elastic_net": l1_ratio}
    if name not in shares or options.pop("scale", None) is not None:
        raise IncompatibleError(f"classes of weights go with {', '.join(shares)}, without scale")
    share = np.asarray(shares[name], dtype=np.float64)
    if not np.all((share >= 0) & (share <= 1)):
        raise ValueError(f"l1_ratio must be between 0 and 1, not {l1_ratio!r}")
    strength = np.asarray(0.0 if name == "none" else strength, dtype=np.float64)
    return ByClass(classes, strength * share, strength * (1.0 - share), nonnegative, **options)


__all__ = [
    "L1",
    "L2",
    "PENALTIES",
    "Blocks",
    "ByClass",
    "ElasticNet",
    "NoPenalty",
    "NonnegativeL2",
    "NonnegativePenalty",
    "SeparablePenalty",
    "SmoothByClass",
    "SmoothSeparable",
    "TreeL2",
    "TreeLinf",
    "make",
]
