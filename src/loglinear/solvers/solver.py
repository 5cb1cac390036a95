"""What every solver is: frozen settings with two functions, and a state that they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from loglinear.arrays import FloatArray
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


@dataclass
class State:
    """What every solver carries from step to step; solvers add their own fields by subclassing."""

    weights: FloatArray
    value: float  # the objective at ``weights``
    violation: float  # inf where the solver does not know it (coarse phases)
    evaluations: int = 0
    note: str = ""  # phase or remark, shown in the history
    finished: Status | None = None  # why the solver can do no better

    def best(self) -> tuple[FloatArray, float]:
        """(weights, objective) to end with; solvers that work in other coordinates for a while translate here."""
        return self.weights, self.value


class Solver(Protocol):
    """Settings and two functions; all that changes lives in the state."""

    @property
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def loss_powers(self) -> tuple[type, ...]:
        """Protocols the loss must have."""

    @property
    def penalty_powers(self) -> tuple[type, ...]:
        """Protocols the penalty must have."""

    @property
    def monotone(self) -> bool:
        """Whether the last weights are the best; where they need not be, ``minimise`` keeps the best itself."""

    def init(self, objective: Objective, w0: FloatArray) -> Any:
        """Return the state at ``w0``, feasible weights that the solver may overwrite."""

    def step(self, objective: Objective, state: Any) -> None:
        """Change the state for the better, once."""
