"""Progress on a terminal: a bar for anything that takes over two seconds; nothing where there is no terminal."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loglinear import _core
from loglinear.optimise.minimise import Callback, History
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


class TrainingProgress:
    """A ``minimise`` callback that shows the current step.

    verbose : "auto" (a bar on a terminal after two seconds), 0 (silent) or 1 (one line per step)
    """

    def __init__(self, verbose: str | int | bool, max_iterations: int, label: str = "training") -> None:
        _check_verbose(verbose)
        self.verbose, self.label, self.max_iterations = verbose, label, max_iterations
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
        if self.verbose == "auto":
            if time.monotonic() - self._start > DELAY and sys.stderr.isatty():
                self._show(iteration, state, history)
        elif self.verbose:
            print(
                f"{self.label}: step {iteration:4d}  {history.time[-1]:8.2f}s  objective {state.value:.8g}  "
                f"gap {history.gap[-1]:.2g}  {state.note}",
                file=sys.stderr,
                flush=True,
            )

    def _show(self, iteration: int, state: State, history: History) -> None:
        if self._bar is None:
            self._bar, self._task = _start_bar(self.label, None, *_spinner())
        text = f"{self.label}: step {iteration}, objective {state.value:.6g}"
        gap = min(history.gap)  # the least so far, since estimates go up and down
        if math.isfinite(gap):
            text += f", {100.0 * gap:.2g}% above the optimum"
        self._bar.update(self._task, description=text + (f" ({state.note})" if state.note else ""))


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

    def __enter__(self) -> Working:
        if self.verbose == "auto" and sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __call__(self, stage: str) -> None:
        """Show that another stage begins."""
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


def both(first: Callback | None, second: Callback | None) -> Callback | None:
    """Return one callback that calls two; either may ask for a stop."""
    if first is None or second is None:
        return first or second

    def call(iteration: int, state: State, history: History) -> bool:
        stop = first(iteration, state, history)
        return bool(second(iteration, state, history)) or bool(stop)

    return call
