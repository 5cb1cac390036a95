"""Progress on a terminal: a bar for anything that takes over two seconds; nothing where there is no terminal."""

from __future__ import annotations

import bisect
import math
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.optimise.minimise import Callback, History
from loglinear.optimise.training_log import begin_run, is_logged, log_step
from loglinear.solvers.solver import State

if TYPE_CHECKING:
    from typing_extensions import Self

DELAY = 2.0  # seconds after which progress is shown


def _start_bar(label: str, total: int | None, *columns: Any) -> tuple[Any, Any]:
    """Start a bar on stderr that vanishes at its end; return it with its task."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total, rate="")
    bar.start()
    return bar, task


def _spinner() -> tuple[Any, ...]:
    """Return the columns of a display of unknown length."""
    from rich.progress import SpinnerColumn, TextColumn

    return SpinnerColumn(), TextColumn("{task.description}")


def _check_verbose(verbose: str | int | bool) -> None:
    if verbose not in ("auto", 0, 1, 2, True, False):
        raise ValueError(f"verbose must be 'auto', 0 or 1, not {verbose!r}")


class HeldOut:
    """Scores weights on held-out data, as often as takes at most a tenth of the time of training."""

    SHARE = 0.1

    def __init__(self, score: Callable[[FloatArray], float] | None) -> None:
        self.score, self.last, self._spent = score, math.nan, 0.0

    def __call__(self, state: State, trained: float) -> float | None:
        """Return the score of a step after so many seconds of training; None where it is not due or not known."""
        if self.score is None or self._spent > self.SHARE * trained:
            return None
        began = time.perf_counter()
        self.last = self.score(state.point())
        self._spent += time.perf_counter() - began
        return self.last


def time_left(history: History, tolerance: float | None, max_iterations: int) -> tuple[float, bool]:
    """Return (seconds, whether they are an upper bound) until training has converged or used up its passes.

    The gap falls by a steady factor near the optimum: that of the last half of the time so far, if it fell, gives the
    time to the tolerance. Infinity where nothing is known.
    """
    now, passes = history.time[-1], history.passes[-1]
    at_most = now / passes * (max_iterations - passes) if passes > 0 and max_iterations > 0 else math.inf
    gap = min(history.gap)
    if not tolerance or not math.isfinite(gap) or gap <= 0:
        return at_most, True
    half = min(bisect.bisect_left(history.time, 0.5 * now), len(history.time) - 2)
    before = min(history.gap[: half + 1], default=math.inf)
    if not math.isfinite(before) or before <= gap:
        return at_most, True
    rate = math.log(before / gap) / max(now - history.time[half], 1e-9)
    left = max(math.log(gap / tolerance), 0.0) / rate
    return min(left, at_most), False


class TrainingProgress:
    """A ``minimise`` callback that shows the current step, and writes it to the log of the fit if there is one.

    verbose : "auto" (a bar on a terminal after two seconds), 0 (silent) or 1 (one line per step)
    tolerance, max_iterations : where training ends, for the time left
    score : function from the solver's weights to the score on held-out data; None: there are none
    """

    def __init__(
        self, verbose: str | int | bool, max_iterations: int, label: str = "training", *,
        tolerance: float | None = None, score: Callable[[FloatArray], float] | None = None,
    ) -> None:  # fmt: skip
        _check_verbose(verbose)
        self.verbose, self.label, self.max_iterations, self.tolerance = verbose, label, max_iterations, tolerance
        self._held_out, self._run = HeldOut(score), begin_run()
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> TrainingProgress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, iteration: int, state: State, history: History) -> None:
        """Show this step."""
        bar = self.verbose == "auto" and time.monotonic() - self._start > DELAY and sys.stderr.isatty()
        lines = self.verbose != "auto" and self.verbose
        if not (bar or lines or is_logged()):
            return
        score = self._held_out(state, history.time[-1])
        if bar:
            self._show(iteration, state, history)
        elif lines:
            print(self._line(iteration, state, history, score), file=sys.stderr, flush=True)
        log_step(
            self.label, iteration, run=self._run, passes=state.passes, objective=state.value, gap=history.gap[-1],
            held_out=score,
        )

    def _line(self, iteration: int, state: State, history: History, score: float | None) -> str:
        held_out = "" if score is None else f"held out {score:.5g}  "
        return (
            f"{self.label}: step {iteration:4d}  {history.time[-1]:8.2f}s  objective {state.value:.8g}  "
            f"gap {history.gap[-1]:.2g}  {held_out}{state.note}"
        )

    def _show(self, iteration: int, state: State, history: History) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TextColumn

            self._bar, self._task = _start_bar(self.label, None, TextColumn("{task.description}"), BarColumn(20))
        parts = [f"{self.label}: step {iteration}", f"{history.passes[-1] / max(history.time[-1], 1e-9):.3g} passes/s"]
        parts.append(f"objective {state.value:.6g}")
        gap = min(history.gap)  # the least so far, since estimates go up and down
        if math.isfinite(gap):
            parts.append(f"{100.0 * gap:.2g}% above the optimum")
        if math.isfinite(self._held_out.last):
            parts.append(f"held out {self._held_out.last:.4g}")
        left, at_most = time_left(history, self.tolerance, self.max_iterations)
        done = history.time[-1]
        if math.isfinite(left):
            parts.append(f"{'at most ' * at_most}{_clock(left)} left")
        text = ", ".join(parts) + (f" ({state.note})" if state.note else "")
        # A bound of the time left would draw a bar that hardly moves: it moves to and fro instead.
        total = None if at_most or not math.isfinite(left) else done + left
        self._bar.update(self._task, description=text, total=total, completed=done)


def _clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


class Counting:
    """A report of how many items are done, on a terminal, after two seconds.

    label, total : what the items are called, and how many there are; total None: unknown
    verbose : "auto" (a bar), 0 (silent) or 1 (at most one line per second)
    results_follow : whether results are printed only at the end; if not, no bar is shown where they go to the terminal
    """

    def __init__(
        self, label: str, total: int | None = None, *, verbose: str | int = "auto", results_follow: bool = False
    ) -> None:
        self.label, self.total, self.verbose, self.results_follow = label, total, verbose, results_follow
        self._start = time.monotonic()
        self._next_line = self._start
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int) -> None:
        """Report the number of items that are done."""
        now = time.monotonic()
        if self.verbose == "auto":
            free = self.results_follow or not sys.stdout.isatty()
            if free and now - self._start > DELAY and sys.stderr.isatty():
                self._show(done)
        elif self.verbose and now >= self._next_line:
            self._next_line = now + 1.0
            print(f"{done:,} {self.label}", file=sys.stderr, flush=True)

    def after(self, before: int) -> Callable[[int], None]:
        """Return a report of items that follow ``before`` others."""
        return lambda done: self(before + done)

    def _show(self, done: int) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

            columns: list[Any] = [TextColumn("{task.completed:,} {task.description}"), BarColumn()]
            if self.total is not None:
                columns += [TextColumn("{task.fields[rate]}"), TimeRemainingColumn()]
            self._bar, self._task = _start_bar(self.label, self.total, *columns)
        rate = f"{done / (time.monotonic() - self._start):,.0f}/s"
        self._bar.update(self._task, completed=done, rate=rate)


class Reading(Counting):
    """A report of how many bytes of files are read, as ``read_corpus`` tells them, with rate and time left."""

    def __init__(self, verbose: str | int | bool = "auto") -> None:
        _check_verbose(verbose)
        super().__init__("bytes read", verbose=verbose, results_follow=True)

    def __call__(self, done: int, total: int | None = None) -> None:
        """Report the number of bytes that are read, and of how many."""
        self.total = total
        super().__call__(done)

    def _show(self, done: int) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

            columns = TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
            self._bar, self._task = _start_bar(self.label, self.total, *columns)
        self._bar.update(self._task, completed=done)


class Metering:
    """A report of work that native code counts in a ``_core.WorkMeter``, with rate and time left, after two seconds.

    The display has a thread of its own, which looks at the meter. ``verbose`` is as in Counting.
    """

    def __init__(self, label: str, verbose: str | int | bool = "auto") -> None:
        _check_verbose(verbose)
        self.meter = _core.WorkMeter()
        self._report = Counting(label, verbose=verbose, results_follow=True)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _core.WorkMeter:
        if self._report.verbose == 1 or (self._report.verbose == "auto" and sys.stderr.isatty()):
            self._thread.start()
        return self.meter

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._report.__exit__()

    def _look(self) -> None:
        while not self._stop.wait(0.2):
            if self.meter.total:
                self._report.total = self.meter.total
                self._report(self.meter.done)


class Working:
    """A display of the current stage and the time it takes, for stages of unknown length, after two seconds.

    The display has a thread of its own, so that it runs while native code works. ``verbose`` is as in TrainingProgress.
    """

    def __init__(self, verbose: str | int | bool = "auto", delay: float = DELAY) -> None:
        _check_verbose(verbose)
        self.verbose, self.stage = verbose, ""
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(delay, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self.verbose == "auto" and sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __call__(self, stage: str, *, begins: bool = True) -> None:
        """Show that another stage begins, or with ``begins=False`` how far it has come."""
        if begins:
            log_step(stage)
        with self._lock:
            self.stage = stage
            if self._bar is not None:
                self._bar.update(self._task, description=stage)
        if self.verbose not in ("auto", 0):
            print(stage, file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Remove the display for good."""
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        columns = _spinner()
        with self._lock:
            if not self._timer.finished.is_set():
                self._bar, self._task = _start_bar(self.stage, None, *columns)


class Trials(Working):
    """A display of the trials of tuning: the last one, the best, and how long one takes."""

    def __init__(self, verbose: str | int | bool = "auto", delay: float = DELAY) -> None:
        super().__init__(verbose, delay)
        self.stage, self._told, self._best = "tuning: the first trial", 0, math.inf

    def tell(self, trial: Any) -> None:
        """Take a trial; this is the callback of a search."""
        self._told += 1
        self._best = min(self._best, trial.validation)
        each = trial.seconds / self._told
        loss, best = trial.validation, self._best
        told = f"tuning: trial {self._told}, held-out loss {loss:.6g}, best {best:.6g}, {each:.1f} s each"
        self(told, begins=False)


def both(first: Callback | None, second: Callback | None) -> Callback | None:
    """Return one callback that calls two; either may ask for a stop."""
    if first is None or second is None:
        return first or second

    def call(iteration: int, state: State, history: History) -> bool:
        stop = first(iteration, state, history)
        return bool(second(iteration, state, history)) or bool(stop)

    return call
