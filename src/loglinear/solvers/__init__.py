"""Solvers: one per file; each declares the powers it needs and works on any loss and penalty that have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from loglinear.errors import IncompatibleError
from loglinear.registry import Registry
from loglinear.solvers.baselines.gis import Gis
from loglinear.solvers.baselines.iis import Iis
from loglinear.solvers.clustered import Clustered
from loglinear.solvers.fista import Fista
from loglinear.solvers.lbfgs import Lbfgs
from loglinear.solvers.newton import Newton
from loglinear.solvers.owlqn import Owlqn
from loglinear.solvers.solver import Solver
from loglinear.solvers.stochastic import StochasticProximal
from loglinear.solvers.working_set import WorkingSet

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
    """Return the solver with this name in SOLVERS; options are its fields."""
    factory: Any = SOLVERS[name]
    known = {f.name for f in fields(factory)}
    unknown = set(options) - known
    if unknown:
        raise IncompatibleError(
            f"solver {name!r} has no option {', '.join(sorted(unknown))}; it has {', '.join(sorted(known)) or 'none'}"
        )
    return factory(**options)


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
    "make",
]
