"""Solvers: one per file; each declares the powers it needs and works on any loss and penalty that have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.errors import IncompatibleError
from loglinear.protocols import Curvature, Orthant, Restrict, Smooth
from loglinear.registry import Registry
from loglinear.solvers.clustered import Clustered
from loglinear.solvers.fista import Fista
from loglinear.solvers.gis import Gis
from loglinear.solvers.iis import Iis
from loglinear.solvers.lbfgs import Lbfgs
from loglinear.solvers.newton import Newton
from loglinear.solvers.owlqn import Owlqn
from loglinear.solvers.solver import Solver
from loglinear.solvers.stochastic import StochasticProximal
from loglinear.solvers.working_set import WorkingSet

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

SOLVERS: Registry[Callable[..., Solver]] = Registry(
    "solver",
    {
        "lbfgs": Lbfgs,
        "owlqn": Owlqn,
        "working_set": WorkingSet,
        "fista": Fista,
        "newton": Newton,
        "stochastic": StochasticProximal,
        "clustered": Clustered,
        "gis": Gis,
        "iis": Iis,
    },
)


def make(name: str, **options: Any) -> Solver:
    """The solver with this name; options are its fields."""
    factory: Any = SOLVERS.factory(name)
    known = {f.name for f in fields(factory)}
    unknown = set(options) - known
    if unknown:
        raise IncompatibleError(
            f"solver {name!r} has no option {', '.join(sorted(unknown))}; it has {', '.join(sorted(known)) or 'none'}"
        )
    return factory(**options)


def choose(objective: Objective) -> tuple[str, str]:
    """(name, reason) of the solver that ``solver="auto"`` takes for this objective."""
    if isinstance(objective.penalty, Smooth):
        if isinstance(objective.loss, Curvature):
            return "newton", "smooth penalty and the loss has second derivatives"
        return "lbfgs", "smooth penalty"
    if isinstance(objective.penalty, Orthant):
        sparse = bool(np.any(np.asarray(getattr(objective.penalty, "l1", 0.0)) > 0.0))  # of any class of weights
        if sparse and isinstance(objective.loss, Restrict) and objective.n_weights > 5000:
            return "working_set", "l1 zeroes most of many weights"
        return "owlqn", "the penalty has corners but is smooth within orthants"
    return "fista", "the penalty has only a proximal map"


__all__ = [
    "SOLVERS",
    "Clustered",
    "Fista",
    "Gis",
    "Iis",
    "Lbfgs",
    "Newton",
    "Owlqn",
    "StochasticProximal",
    "WorkingSet",
    "choose",
    "make",
]
