"""The protocol of solvers: frozen settings with two functions, ``init`` and ``step``, and a state that they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from loglinear.arrays import FloatArray
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


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
        """Return the weights that ``value`` belongs to, in double precision."""
        return self.weights

    def best(self) -> tuple[FloatArray, float]:
        """Return (weights, objective) to end with; solvers in other coordinates translate them here."""
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
