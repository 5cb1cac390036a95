"""Penalties: what keeps the weights small, few or alike. They never know what their weights mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from loglinear.errors import IncompatibleError
from loglinear.penalties.blocks import Blocks
from loglinear.penalties.by_class import ByClass, SmoothByClass
from loglinear.penalties.elastic_net import ElasticNet
from loglinear.penalties.l1 import L1
from loglinear.penalties.l2 import L2
from loglinear.penalties.none import NoPenalty
from loglinear.penalties.separable import SeparablePenalty, SmoothSeparable
from loglinear.penalties.tree_l2 import TreeL2
from loglinear.penalties.tree_linf import TreeLinf
from loglinear.protocols import Penalty
from loglinear.registry import Registry

PENALTIES: Registry[Callable[..., Penalty]] = Registry(
    "penalty",
    {"none": NoPenalty, "l1": L1, "l2": L2, "elastic_net": ElasticNet, "tree_l2": TreeL2, "tree_linf": TreeLinf},
)


def make(
    name: str | None,
    strength: Any = 1.0,
    *,
    nonnegative: Any = False,
    l1_ratio: Any = 0.5,
    classes: Any = None,
    **options: Any,
) -> Any:
    """Return the penalty with this name in PENALTIES; None is "none".

    A penalty says by its classmethod ``from_settings`` which settings of a model it takes. One without it, registered
    by a user, is called with the strength and the options (``n_free``, ``n_threads``) alone.

    strength : what the penalty is multiplied by
    nonnegative : whether weights are kept at or above zero
    l1_ratio : share of l1 in an elastic net; other penalties ignore it
    classes : the class number of every penalised weight; the three above may then be lists with one entry per class
    options : keywords of the penalty, such as ``n_free``, ``n_threads`` and, for penalties of trees, ``tree``
    """
    name = "none" if name is None else name.replace("-", "_")
    factory: Any = PENALTIES[name]
    if classes is not None:
        return _by_class(name, classes, strength, l1_ratio, nonnegative, **options)
    if hasattr(factory, "from_settings"):
        return factory.from_settings(strength, nonnegative=nonnegative, l1_ratio=l1_ratio, **options)
    if nonnegative:
        raise IncompatibleError(f"{name} has no sign constraint: leave nonnegative out")
    return factory(strength, **options)


def _by_class(name: str, classes: Any, strength: Any, l1_ratio: Any, nonnegative: Any, **options: Any) -> ByClass:
    """Return the penalty with strengths by class of weight: a sum of l1 and l2, as its class says."""
    if not hasattr(PENALTIES[name], "l1_and_l2") or options.pop("scale", None) is not None:
        able = [known for known in PENALTIES if hasattr(PENALTIES[known], "l1_and_l2")]
        raise IncompatibleError(f"classes of weights go with {', '.join(able)}, without scale")
    l1, l2 = cast(type[SeparablePenalty], PENALTIES[name]).l1_and_l2(np.asarray(strength, float), l1_ratio)
    return ByClass(classes, l1, l2, nonnegative, **options)


__all__ = [
    "L1",
    "L2",
    "PENALTIES",
    "Blocks",
    "ByClass",
    "ElasticNet",
    "NoPenalty",
    "SeparablePenalty",
    "SmoothByClass",
    "SmoothSeparable",
    "TreeL2",
    "TreeLinf",
    "make",
]
