"""One loop for all solvers: it checks powers, takes steps, records them, stops, saves checkpoints and obeys Ctrl-C.

Training stops when the violation of optimality falls below ``tolerance`` times the largest gradient of the loss at
zero, when the objective fell by less than ``decrease_tolerance`` (relative) over the last five steps, when the solver
can do no better in floating point, at ``max_iterations``, or on Ctrl-C, which returns the best weights so far.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import IncompatibleError
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.objective import Objective
from loglinear.solvers.solver import Solver, State
from loglinear.status import Status


@dataclass
class History:
    """One entry per step, the start included."""

    time: list[float] = field(default_factory=list)  # seconds since the start, without callbacks and checkpoints
    objective: list[float] = field(default_factory=list)
    violation: list[float] = field(default_factory=list)
    evaluations: list[int] = field(default_factory=list)
    note: list[str] = field(default_factory=list)

    def record(self, seconds: float, state: State) -> None:
        """Append an entry for the state."""
        self.time.append(seconds)
        self.objective.append(state.value)
        self.violation.append(state.violation)
        self.evaluations.append(state.evaluations)
        self.note.append(state.note)


@dataclass(frozen=True)
class Result:
    """Where training ended and why."""

    weights: FloatArray
    value: float
    violation: float
    converged: bool
    status: Status
    n_iterations: int
    history: History
    solver: str


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


class CtrlC:
    """A context in which the first Ctrl-C asks for a stop between steps, and the second one interrupts at once."""

    def __enter__(self) -> CtrlC:
        self.pressed = False
        self._old: Any = None
        if threading.current_thread() is threading.main_thread():
            old = signal.getsignal(signal.SIGINT)
            if old is signal.default_int_handler:
                self._old = old
                signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *exc: object) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)


def minimise(
    objective: Objective,
    solver: Solver,
    w0: FloatArray | None = None,
    *,
    tolerance: float = 1e-4,
    decrease_tolerance: float = 0.0,
    max_iterations: int = 1000,
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Minimise the objective.

    w0 : weights to start from, projected onto those that the penalty allows; None: zeros
    tolerance : violation at which training has converged, relative to the largest gradient of the loss at zero
    decrease_tolerance : relative decrease over five steps below which training stops; 0: never
    max_iterations : maximum number of solver steps
    callback : called as ``callback(iteration, state, history)`` after every step; it may return True to stop
    checkpoint : file to resume from and to save the weights to; None: none
    """
    check_powers(objective, solver)
    if not tolerance >= 0 or not decrease_tolerance >= 0:
        raise ValueError("tolerances must not be negative")
    if max_iterations < 0:
        raise ValueError(f"max_iterations must not be negative, not {max_iterations}")
    start = time.perf_counter()
    first = 0
    if checkpoint is not None and (saved := checkpoint.load(objective.n_weights)) is not None:
        w0, first = saved
    w0 = np.zeros(objective.n_weights) if w0 is None else np.array(w0, dtype=np.float64).ravel()
    if w0.size != objective.n_weights:
        raise ValueError(f"{w0.size} starting weights for an objective of {objective.n_weights}")
    if not np.all(np.isfinite(w0)):
        raise ValueError("starting weights must be finite")

    target = tolerance * objective.gradient_scale()
    history = History()
    objective.make_feasible(w0)
    state = solver.init(objective, w0)
    paused = 0.0
    history.record(time.perf_counter() - start, state)
    best, best_value, best_violation = state.weights, state.value, state.violation
    iteration = first
    with CtrlC() as ctrl_c:
        while not (status := _reason(state, history, target, decrease_tolerance, iteration, max_iterations)):
            solver.step(objective, state)
            iteration += 1
            history.record(time.perf_counter() - start - paused, state)
            if not math.isfinite(state.value):
                status = Status.DIVERGED
                break
            if not solver.monotone and state.value <= best_value:
                best, best_value, best_violation = state.weights.copy(), state.value, state.violation
            if ctrl_c.pressed:
                status = Status.INTERRUPTED
                break
            mark = time.perf_counter()
            if checkpoint is not None and checkpoint.due():
                weights, value = state.best() if solver.monotone else (best, best_value)
                checkpoint.save(weights, value, iteration)
            if callback is not None and callback(iteration, state, history):
                status = Status.STOPPED
                break
            paused += time.perf_counter() - mark
    if solver.monotone or status is Status.CONVERGED:
        best, best_value = state.best()
        best_violation = state.violation
    if checkpoint is not None:
        checkpoint.save(best, best_value, iteration)
    if not math.isfinite(best_violation) and math.isfinite(best_value):  # stopped where the solver did not know it
        gradient = np.empty_like(best)
        objective.loss.value_and_gradient(best, gradient)
        best_violation = objective.violation(best, gradient)
    converged = best_violation <= target
    return Result(best, best_value, best_violation, converged, status, iteration, history, solver.name)


def _reason(
    state: State, history: History, target: float, decrease_tolerance: float, iteration: int, max_iterations: int
) -> Status | None:
    """Return why to stop now, or None to go on."""
    if state.violation <= target:
        return Status.CONVERGED
    if state.finished is not None:
        return state.finished
    values = history.objective
    # A refused step does not count: a trust region that begins too large refuses many.
    if decrease_tolerance and len(values) > 5 and math.isfinite(state.violation) and state.value < values[-2]:
        gain = values[-6] - state.value
        if gain <= decrease_tolerance * max(abs(state.value), 1e-300):
            return Status.SMALL_DECREASE
    if iteration >= max_iterations:
        return Status.MAX_ITERATIONS
    return None
