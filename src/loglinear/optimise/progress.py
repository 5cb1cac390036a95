"""Progress on a terminal: a bar for anything that takes over two seconds; nothing where there is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from loglinear.optimise.minimise import Callback, History
from loglinear.solvers.solver import State


class TrainingProgress:
    """A ``minimise`` callback. verbose: "auto" = bar on a terminal after two seconds; 0 = silent; 1 = a line a step."""

    def __init__(self, verbose: str | int | bool, max_iterations: int, label: str = "training") -> None:
        if verbose not in ("auto", 0, 1, 2, True, False):
            raise ValueError(f"verbose must be 'auto', 0 or 1, not {verbose!r}")
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
            if time.monotonic() - self._start > 2.0 and sys.stderr.isatty():
                self._show(iteration, state)
        elif self.verbose:
            print(
                f"{self.label}: step {iteration:4d}  {history.time[-1]:8.2f}s  objective {state.value:.8g}  "
                f"violation {state.violation:.3g}  {state.note}",
                file=sys.stderr,
                flush=True,
            )

    def _show(self, iteration: int, state: State) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        if self._bar is None:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self.label, total=None)
            self._bar.start()
        text = f"{self.label}: step {iteration}, objective {state.value:.6g}, violation {state.violation:.2g}"
        self._bar.update(self._task, description=text + (f" ({state.note})" if state.note else ""))


class Counting:
    """Things done one after another: how many so far, on a terminal, after two seconds.

    Nothing is shown where the terminal gets the results themselves meanwhile, unless ``results_follow`` all of it.
    verbose: "auto" = a bar; 0 = silent; 1 = a line a second at most.
    """

    def __init__(
        self, label: str, total: int | None = None, *, verbose: str | int = "auto", results_follow: bool = False
    ) -> None:
        self.label, self.total, self.verbose, self.results_follow = label, total, verbose, results_follow
        self._start = time.monotonic()
        self._next_line = self._start
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int) -> None:
        """So many are done."""
        now = time.monotonic()
        if self.verbose == "auto":
            free = self.results_follow or not sys.stdout.isatty()
            if free and now - self._start > 2.0 and sys.stderr.isatty():
                self._show(done)
        elif self.verbose and now >= self._next_line:
            self._next_line = now + 1.0
            print(f"{done:,} {self.label}", file=sys.stderr, flush=True)

    def after(self, before: int) -> Callable[[int], None]:
        """A report of things of which others were done before."""
        return lambda done: self(before + done)

    def _show(self, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        if self._bar is None:
            columns = (TextColumn("{task.completed:,} {task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self.label, total=self.total)
            self._bar.start()
        self._bar.update(self._task, completed=done)


class Working:
    """Stages of unknown length: the present one and the time it takes, on a terminal, after two seconds.

    The display has a thread of its own, so that it runs while native code works. verbose: as of TrainingProgress.
    """

    def __init__(self, verbose: str | int | bool = "auto", delay: float = 2.0) -> None:
        if verbose not in ("auto", 0, 1, 2, True, False):
            raise ValueError(f"verbose must be 'auto', 0 or 1, not {verbose!r}")
        self.verbose, self.stage = verbose, ""
        self._bar: Any = None
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
        """Another stage begins."""
        with self._lock:
            self.stage = stage
            if self._bar is not None:
                self._bar.update(0, description=stage)
        if self.verbose not in ("auto", 0):
            print(stage, file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Take the display away, for good."""
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with self._lock:
            if self._timer.finished.is_set():
                return
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self.stage, total=None)
            self._bar.start()


def both(first: Callback | None, second: Callback | None) -> Callback | None:
    """One callback that calls two; either may ask for a stop."""
    if first is None or second is None:
        return first or second

    def call(iteration: int, state: State, history: History) -> bool:
        stop = first(iteration, state, history)
        return bool(second(iteration, state, history)) or bool(stop)

    return call
