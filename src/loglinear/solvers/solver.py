"""The protocol of solvers: frozen settings with two functions, ``init`` and ``step``, and a state that they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


class Tangents(NamedTuple):
    """The last points of a path and the gradients of the objective there, as a solver has them: k + 1 of them."""

    values: Sequence[float]  # [k + 1] the objective, oldest first
    weights: FloatArray  # the last point
    gradient: FloatArray  # there, times unit
    steps: Sequence[NDArray[Any]]  # [k] between one point and the next, divided by unit
    changes: Sequence[NDArray[Any]]  # [k] of the gradient, times unit
    unit: FloatArray | None  # one number per weight, or None: ones


@dataclass
class State:
    """The part of a state that all solvers have; a solver adds fields of its own by subclassing."""

    weights: FloatArray
    value: float  # the objective at ``weights``
    violation: float  # inf where the solver does not know it (coarse phases)
    passes: float = 0.0
    note: str = ""  # phase or remark, shown in the history
    phase: int = 0  # steps before and after it changes tell nothing of each other's convergence
    finished: Status | None = None  # why the solver can do no better

    def point(self) -> FloatArray:
        """Return the weights that ``value`` belongs to, [n_weights] in double precision."""
        return self.weights

    def tangents(self) -> Tangents | None:
        """Return the last points with their gradients, where the solver keeps them in double precision."""
        return None

    def under(self, before: Objective, objective: Objective) -> bool:
        """Go on from the last point under another penalty of the same loss; return False where the solver cannot."""
        return False

    def best(self) -> tuple[FloatArray, float]:
        """Return (weights [n_weights], objective) to end with; solvers in other coordinates translate them here."""
        return self.weights, self.value


class Solver(Protocol):
    """Frozen settings and two functions; everything that changes is in the state."""

    @property
    def name(self) -> str:
        """Return the name in the registry."""

    @property
    def loss_powers(self) -> tuple[type, ...]:
        """Return the protocols that the loss must have."""

    @property
    def penalty_powers(self) -> tuple[type, ...]:
        """Return the protocols that the penalty must have."""

    @property
    def monotone(self) -> bool:
        """Return whether the last weights are always the best; if not, ``minimise`` keeps the best."""

    def init(self, objective: Objective, w0: FloatArray) -> Any:
        """Return the state at ``w0``, feasible weights that the solver may overwrite."""

    def step(self, objective: Objective, state: Any) -> None:
        """Improve the state by one step."""
