"""One loop for all solvers: it checks powers, takes steps, records them, stops, saves checkpoints and obeys Ctrl-C.

Training stops when the objective is within ``tolerance`` (relative) of its optimum (optimise/stopping.py), when it fell
by less than ``decrease_tolerance`` (relative) over the last five steps, when the solver can do no better in floating
point, after ``max_iterations`` passes over the data, or on Ctrl-C, which returns the best weights so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from loglinear.arrays import FloatArray, new_copy, new_like, new_zeros
from loglinear.errors import IncompatibleError
from loglinear.interrupts import CtrlC
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.objective import Objective
from loglinear.optimise.stopping import Gap, Stopping
from loglinear.solvers.solver import Solver, State
from loglinear.status import Status


@dataclass
class History:
    """One entry per step, the start included."""

    time: list[float] = field(default_factory=list)  # seconds since the start, without callbacks and checkpoints
    objective: list[float] = field(default_factory=list)
    violation: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)  # relative, as it was known at that step: an estimate at first
    passes: list[float] = field(default_factory=list)  # over the data
    note: list[str] = field(default_factory=list)

    def record(self, seconds: float, state: State, gap: float = math.inf) -> None:
        """Append an entry for the state."""
        self.time.append(seconds)
        self.objective.append(state.value)
        self.violation.append(state.violation)
        self.gap.append(gap)
        self.passes.append(state.passes)
        self.note.append(state.note)

    def without_last(self) -> History:
        """Return a copy without the last entry."""
        return History(**{name: entries[:-1] for name, entries in vars(self).items()})


@dataclass(frozen=True)
class Result:
    """Where training ended and why."""

    weights: FloatArray
    value: float
    violation: float
    gap: float  # how far the value is above the optimum, relative to it: inf where that is not known ...
    gap_is_bound: bool  # ... an upper bound, or an estimate
    converged: bool  # whether the gap is within the tolerance
    status: Status
    n_iterations: int  # passes over the data, those of a resumed run included
    history: History
    solver: str
    state: State | None = field(default=None, repr=False, compare=False)  # of the solver, where it was to be kept


Callback = Callable[[int, State, History], "bool | None"]


def check_powers(objective: Objective, solver: Solver) -> None:
    """Raise IncompatibleError, naming the power, for a loss or penalty that lacks one that the solver needs."""
    for piece, powers in ((objective.loss, solver.loss_powers), (objective.penalty, solver.penalty_powers)):
        for power in powers:
            if not isinstance(piece, power):
                raise IncompatibleError(
                    f"solver {solver.name!r} needs the power {power.__name__}, which {type(piece).__name__} lacks; "
                    "use solver='auto' or see docs/architecture.md for the powers of each solver"
                )


def minimise(
    objective: Objective,
    solver: Solver,
    w0: FloatArray | None = None,
    *,
    tolerance: float | None = 1e-4,
    violation_tolerance: float = 0.0,
    decrease_tolerance: float = 0.0,
    max_iterations: int = 1000,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    go_on: Result | None = None,
    keep_state: bool = False,
) -> Result:
    """Minimise the objective.

    w0 : weights to start from, projected onto those that the penalty allows; None: zeros
    tolerance : relative gap at which training has converged; None: the gap is of no interest, and not computed
    violation_tolerance : in place of the gap, the violation of optimality relative to the largest gradient of the loss
        at zero: for solvers that are compared at the limits of floating point; 0: the gap decides
    decrease_tolerance : relative decrease over five steps below which training stops; 0: never
    max_iterations : maximum number of passes over the data
    callback : called as ``callback(iteration, state, history)`` after every step; it may return True to stop
    checkpoint : file to resume from and to save the weights to; None: none
    go_on : a result whose state was kept, of the same objective and solver: training goes on as if it had not stopped
    keep_state : keep the solver's state in the result
    """
    check_powers(objective, solver)
    if not (tolerance is None or tolerance >= 0) or not decrease_tolerance >= 0 or not violation_tolerance >= 0:
        raise ValueError("tolerances must not be negative")
    if max_iterations < 0:
        raise ValueError(f"max_iterations must not be negative, not {max_iterations}")
    if violation_tolerance:
        tolerance = None
    start = time.perf_counter()
    history, warm = History(), False
    if go_on is None:
        w0, first = _start(objective, w0, checkpoint)
        warm = objective.largest(w0) > 0.0
        state: State = solver.init(objective, w0)
        stopping = None if tolerance is None else _stopping(objective, tolerance, state, warm)
        max_passes = float(max_iterations - first)
    else:
        if go_on.state is None or go_on.solver != solver.name:
            raise ValueError("training goes on only from a result of the same solver whose state was kept")
        state, first, history = go_on.state, 0, go_on.history.without_last()
        start -= go_on.history.time[-1]
        stopping = None if tolerance is None else Stopping(objective, tolerance, go_on.history.objective[0])
        if stopping is not None:
            stopping.remember(history.passes, history.objective)
        max_passes = state.passes + max_iterations
    target = violation_tolerance * objective.gradient_scale() if violation_tolerance else -1.0
    stop = _Rules(tolerance, target, decrease_tolerance, max_passes)
    gap = Gap() if stopping is None else stopping.look(state, warm)
    paused = 0.0
    history.record(time.perf_counter() - start, state, gap.relative)
    best, best_value, best_violation = state.weights, state.value, state.violation
    iteration = 0
    with CtrlC() as ctrl_c:
        while not (status := stop.reason(state, gap, history)):
            solver.step(objective, state)
            iteration += 1
            if not math.isfinite(state.value):
                history.record(time.perf_counter() - start - paused, state)
                status = Status.DIVERGED
                break
            if not solver.monotone and state.value <= best_value:
                best, best_value, best_violation = new_copy(state.weights), state.value, state.violation
            if stopping is not None and not ctrl_c.pressed:
                gap = stopping.look(state)
            history.record(time.perf_counter() - start - paused, state, gap.relative)
            if ctrl_c.pressed:
                status = Status.INTERRUPTED
                break
            mark = time.perf_counter()
            if checkpoint is not None and checkpoint.due():
                weights, value = state.best() if solver.monotone else (best, best_value)
                checkpoint.save(weights, value, first + math.ceil(state.passes))
            if callback is not None and callback(iteration, state, history):
                status = Status.STOPPED
                break
            paused += time.perf_counter() - mark
    if solver.monotone or status is Status.CONVERGED:
        best, best_value = state.best()
        best_violation = state.violation
    if keep_state:  # which may overwrite its weights when training goes on
        best = new_copy(best)
    passes = first + math.ceil(state.passes)
    if checkpoint is not None:
        with CtrlC() as ctrl_c:  # which waits for the save
            checkpoint.save(best, best_value, passes)
        status = Status.INTERRUPTED if ctrl_c.pressed else status
    if not math.isfinite(best_violation) and math.isfinite(best_value):  # stopped where the solver did not know it
        gradient = new_like(best)
        objective.loss.value_and_gradient(best, gradient)
        best_violation = objective.violation(best, gradient)
    if stopping is not None and status is not Status.CONVERGED and math.isfinite(best_value):
        last = state if solver.monotone and best is state.weights else None
        gap = stopping.finish(best, best_value, status is Status.NO_DECREASE, last)
    history.gap[-1] = gap.relative
    converged = stop.reached(gap, best_violation)
    return Result(
        best, best_value, best_violation, gap.relative, gap.is_bound, converged, status, passes, history, solver.name,
        state if keep_state else None,
    )


def _stopping(objective: Objective, tolerance: float, state: State, warm: bool) -> Stopping:
    """Return what follows training from its first state on; ``warm``: from weights that are not zero."""
    if not warm:
        return Stopping(objective, tolerance, state.value)
    plain, weights = objective.plain(state.point())
    return Stopping(objective, tolerance, state.value - plain.penalty_value(weights))


def _start(
    objective: Objective, w0: FloatArray | None, checkpoint: Checkpoint | None
) -> tuple[FloatArray, int]:
    """Return (feasible weights to start from, the passes that an interrupted run has taken)."""
    first = 0
    if checkpoint is not None and (saved := checkpoint.load(objective.n_weights)) is not None:
        w0, first = saved
    w0 = new_zeros(objective.n_weights) if w0 is None else new_copy(np.asarray(w0), np.float64)
    if w0.size != objective.n_weights:
        raise ValueError(f"{w0.size} starting weights for an objective of {objective.n_weights}")
    if not np.all(np.isfinite(w0)):
        raise ValueError("starting weights must be finite")
    objective.make_feasible(w0)
    return w0, first


class _Rules(NamedTuple):
    """The reasons to stop."""

    tolerance: float | None
    violation: float  # at which training stops; negative: never
    decrease: float  # relative, over five steps
    max_passes: float

    def reason(self, state: State, gap: Gap, history: History) -> Status | None:
        """Return why to stop now, or None to go on."""
        if self.reached(gap, state.violation):
            return Status.CONVERGED
        if state.finished is not None:
            return state.finished
        values = history.objective
        # A refused step does not count: a trust region that begins too large refuses many.
        if self.decrease and len(values) > 5 and math.isfinite(state.violation) and state.value < values[-2]:
            gain = values[-6] - state.value
            if gain <= self.decrease * max(abs(state.value), 1e-300):
                return Status.SMALL_DECREASE
        return Status.MAX_ITERATIONS if state.passes >= self.max_passes else None

    def reached(self, gap: Gap, violation: float) -> bool:
        """Return whether training has converged."""
        return (self.tolerance is not None and gap.relative <= self.tolerance) or violation <= self.violation
