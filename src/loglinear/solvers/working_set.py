"""Working sets for penalties that zero most weights: OWL-QN on the few weights that matter.

    repeat:  gradient over all weights; take the nonzero ones and those that violate optimality most
             solve the objective restricted to them, to a fraction of the violation
    until no weight outside the set violates optimality

Exact: training ends only at a look at *all* weights (optimise/stopping.py). Under l1 on text a thousand weights of
a million survive; everything but a handful of evaluations then runs on a problem a thousand times smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.protocols import Orthant, Restrict, Separable
from loglinear.solvers.owlqn import Owlqn
from loglinear.solvers.solver import State

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


@dataclass
class WorkingSetState(State):
    """The full weights and pseudo-gradient, and the restricted problem under way."""

    pseudo: FloatArray = field(default_factory=lambda: np.empty(0))
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    inner: Any = None
    restricted: Objective | None = None
    share: float = 1.0  # of a pass over the data that one evaluation of it costs
    goal: float = 0.0  # violation at which the restricted problem counts as solved
    size: int = 0  # of the next set


@dataclass(frozen=True)
class WorkingSet:
    """OWL-QN on a growing set of weights: l1 and elastic net with few survivors; exact zeros."""

    first_size: int = 1000  # weights in the first set
    growth: float = 2.0  # the next set holds this many times the non-zero weights
    precision: float = 0.1  # each set is solved to this fraction of the violation over all weights
    memory: int = 10

    name: ClassVar[str] = "working_set"
    loss_powers: ClassVar[tuple[type, ...]] = (Restrict,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Orthant, Separable)
    monotone: ClassVar[bool] = True

    def init(self, objective: Objective, w0: FloatArray) -> WorkingSetState:
        """Return the state at ``w0`` after a gradient over all weights."""
        state = WorkingSetState(w0, 0.0, 0.0, pseudo=np.empty_like(w0), size=self.first_size)
        self._look_at_all(objective, state)
        return state

    def _look_at_all(self, objective: Objective, state: WorkingSetState) -> None:
        gradient = np.empty_like(state.weights)
        state.value = objective.value_and_smooth_gradient(state.weights, gradient)
        cast(Orthant, objective.penalty).pseudo_gradient(state.weights, gradient, state.pseudo)
        state.violation = _core.max_abs(objective.pool, state.pseudo)
        state.passes += 1
        state.note = "all weights"

    def step(self, objective: Objective, state: WorkingSetState) -> None:
        """Take one OWL-QN step on the working set; when the set is solved, compute the gradient over all weights."""
        if state.inner is None:
            self._choose(objective, state)
        assert state.restricted is not None
        before = state.inner.passes
        Owlqn(self.memory).step(state.restricted, state.inner)
        state.weights[state.kept] = state.inner.weights
        state.passes += state.share * (state.inner.passes - before)
        state.value, state.violation = state.inner.value, np.inf  # the violation over all weights is not known here
        state.note = f"{state.kept.size} weights"
        if state.inner.violation <= state.goal or state.inner.finished:
            finished = state.inner.finished
            old_value, old_set = state.value, state.kept.size
            state.inner = state.restricted = None
            self._look_at_all(objective, state)
            if finished and state.value >= old_value and old_set == state.weights.size:
                state.finished = finished

    def _choose(self, objective: Objective, state: WorkingSetState) -> None:
        n = state.weights.size
        survivors = int(np.count_nonzero(state.weights))
        state.size = min(n, max(state.size, int(self.growth * survivors)))
        active = state.weights != 0
        room = state.size - survivors
        if state.size >= n:
            active[:] = True
        elif room > 0:
            excess = np.where(active, 0.0, np.abs(state.pseudo))
            worst = np.argpartition(-excess, room)[:room]
            active[worst[excess[worst] > 0]] = True
        state.restricted, state.kept = objective.restrict(active)
        state.inner = Owlqn(self.memory).init(state.restricted, state.weights[state.kept].copy())
        state.share = cast(Restrict, state.restricted.loss).work() / cast(Restrict, objective.loss).work()
        state.passes += state.share
        state.goal = self.precision * state.violation
