"""Clustered quasi-Newton (Mathur and Chakrabarti, "Accelerating Newton optimization for log-linear models
through feature redundancy").

    repeat rounds times:
        fine_iterations steps on all weights                          (wait until the "big bang" is over)
        cmap <- sort the weights, cut into d / cluster_factor contiguous blocks of least squared error       (cluster)
        u <- project down                                                                               (project_down)
        coarse steps on the tied objective until the last five gain under 0.01%
        w <- project up: copy                                                                             (project_up)
    fine steps to convergence

This differs from the paper's slides as follows; docs/results/clustered_newton.md has the measurements.
- The shared weights are kept in orthonormal units (structure.Tying), which leave the tied objective as it is but
  condition it better than plain means. The tied penalty is exact.
- Blocks come from high-resolution quantisation and Lloyd sweeps, because exact blocks cost O(d d').
- Round r divides the factor by 2^r ("start with a large clusterFactor and reduce it").
- Squared errors are weighted by the curvature of each weight where the loss has the power Curvature: a rare feature
  may be tied loosely, a frequent one may not.
- The coarse level has a longer memory, since its vectors are short, and hands its last pairs up to the fine level: the
  map is orthonormal, so inner products stay the same.
- Non-smooth penalties use OWL-QN in place of L-BFGS on both levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.protocols import Curvature, Orthant, Separable, Smooth, Tied
from loglinear.solvers.lbfgs import Lbfgs
from loglinear.solvers.owlqn import Owlqn
from loglinear.solvers.solver import State
from loglinear.structure.tying import Tying

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


@dataclass
class ClusteredState(State):
    """The fine state, and during a coarse phase the tied objective and its state."""

    fine: Any = None
    coarse: Any = None
    tied: Objective | None = None
    tying: Tying | None = None
    round: int = 0
    steps: int = 0  # in this phase
    recent: list[float] = field(default_factory=list)

    def best(self) -> tuple[FloatArray, float]:
        """Return in a coarse phase the shared weights copied up, unless the last fine weights are still better."""
        if self.coarse is None or self.tying is None or self.coarse.value >= self.fine.value:
            return self.fine.weights, self.fine.value
        return self.tying.up(self.coarse.weights), self.coarse.value


@dataclass(frozen=True)
class Clustered:
    """Clustered L-BFGS (OWL-QN under l1): optimise shared weights first, then all."""

    cluster_factor: float | str = "auto"
    fine_iterations: int = 5
    rounds: int = 3
    coarse_iterations: int = 200
    coarse_gain: float = 1e-4  # the coarse phase ends when five steps gain less, relative
    importance: str = "auto"  # "curvature": blocks of least curvature-weighted error; "none"; "auto": where it is known
    split_signs: bool = True
    memory: int = 8
    coarse_memory: int = 20  # shared vectors are short, so a longer memory costs little

    name: ClassVar[str] = "clustered"
    loss_powers: ClassVar[tuple[type, ...]] = (Tied,)
    penalty_powers: ClassVar[tuple[type, ...]] = (Separable, Orthant)
    monotone: ClassVar[bool] = True

    def _inner(self, objective: Objective, memory: int) -> Lbfgs | Owlqn:
        return Lbfgs(memory) if isinstance(objective.penalty, Smooth) else Owlqn(memory)

    def init(self, objective: Objective, w0: FloatArray) -> ClusteredState:
        """Return the state of the first fine phase."""
        if self.cluster_factor != "auto" and not (
            isinstance(self.cluster_factor, (int, float)) and self.cluster_factor >= 1
        ):
            raise IncompatibleError(f"cluster_factor must be 'auto' or at least 1, not {self.cluster_factor!r}")
        if self.importance not in ("auto", "none", "curvature"):
            raise IncompatibleError(f"importance must be 'auto', 'none' or 'curvature', not {self.importance!r}")
        fine = self._inner(objective, self.memory).init(objective, w0)
        return ClusteredState(fine.weights, fine.value, fine.violation, fine.passes, note="fine", fine=fine)

    def step(self, objective: Objective, state: ClusteredState) -> None:
        """Take one step of the current phase."""
        if state.coarse is None:
            self._fine_step(objective, state)
        else:
            self._coarse_step(objective, state)

    def _fine_step(self, objective: Objective, state: ClusteredState) -> None:
        before = state.fine.passes
        self._inner(objective, self.memory).step(objective, state.fine)
        self._show(state, state.fine, "fine", before)
        state.violation, state.finished = state.fine.violation, state.fine.finished
        state.weights = state.fine.weights
        state.steps += 1
        if state.round < self.rounds and state.steps >= self.fine_iterations:
            self.project_down(objective, state)

    def project_down(self, objective: Objective, state: ClusteredState) -> None:
        """Cluster the weights and begin the coarse phase at their projection, u = tying.down(w)."""
        tying = self.cluster(objective, state.weights, state.round)
        if tying is None:
            state.round = self.rounds
            return
        state.tying, state.tied = tying, objective.tied(tying)
        state.coarse = self._inner(state.tied, self.coarse_memory).init(state.tied, tying.down(state.weights))
        state.passes += 1
        state.round += 1
        state.steps, state.recent = 0, [state.coarse.value]

    def _coarse_step(self, objective: Objective, state: ClusteredState) -> None:
        assert state.tied is not None
        assert state.tying is not None
        before = state.coarse.passes
        self._inner(state.tied, self.coarse_memory).step(state.tied, state.coarse)
        self._show(state, state.coarse, f"coarse {state.tying.n_groups}", before)
        state.violation = math.inf  # of the tied objective only, so no ground to stop
        state.steps += 1
        state.recent.append(state.coarse.value)
        slow = len(state.recent) > 5 and state.recent[-6] - state.recent[-1] < self.coarse_gain * abs(state.recent[-1])
        if slow or state.coarse.finished or state.steps >= self.coarse_iterations:
            self.project_up(objective, state)

    def project_up(self, objective: Objective, state: ClusteredState) -> None:
        """End the coarse phase: copy the shared weights to all members, w = tying.up(u), and hand up their pairs."""
        assert state.tying is not None
        state.weights = state.tying.up(state.coarse.weights)
        state.fine = self._inner(objective, self.memory).init(objective, state.weights)
        state.fine.memory.lift(objective, state.coarse.memory, state.tying, state.fine.unit)
        self._show(state, state.fine, "projected up", 0)
        state.violation = state.fine.violation
        state.coarse = state.tied = state.tying = None
        state.steps = 0
        state.phase += 1

    @staticmethod
    def _show(state: ClusteredState, inner: Any, note: str, before: int) -> None:
        state.value, state.note = inner.value, note
        state.passes += inner.passes - before

    def cluster(self, objective: Objective, w: FloatArray, round_: int) -> Tying | None:
        """Return groups of weights of similar value; weights without penalty (intercepts) keep groups of their own.

        None where there is nothing to tie.
        """
        n_free = int(getattr(objective.penalty, "n_free", 0))
        n = w.size - n_free
        factor = self._factor(n) / 2.0**round_
        if n < 2 or factor <= 1.0:
            return None
        values = np.ascontiguousarray(w[:n])
        importance = None
        if self.importance == "curvature" and not isinstance(objective.loss, Curvature):
            raise IncompatibleError("importance='curvature' needs the power Curvature, which this loss lacks")
        if self.importance != "none" and isinstance(objective.loss, Curvature):
            diagonal = np.empty(w.size)
            objective.loss.hessian(w).diagonal(diagonal)
            importance = np.maximum(diagonal[:n], 1e-12 * max(float(diagonal.max()), 1e-300))
        groups = np.empty(w.size, dtype=np.int32)
        n_groups = _core.cluster_values(
            objective.pool, values, importance, max(1, int(n / factor)), 4, self.split_signs, groups[:n]
        )
        groups[n:] = np.arange(n_groups, n_groups + n_free)
        return Tying(groups, n_groups + n_free, objective.n_threads)

    def _factor(self, n: int) -> float:
        if self.cluster_factor != "auto":
            return float(self.cluster_factor)
        return float(np.clip(n / 2000.0, 2.0, 20.0))
