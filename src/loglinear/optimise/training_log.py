"""A log of training for programs: one JSON object per step, written and flushed as soon as the step is taken.

    {"stage": "training", "run": 1, "step": 12, "seconds": 0.81, "passes": 14, "objective": 51.3, "gap": 0.002,
     "held_out": 0.93}

``stage`` names what is under way, and ``run`` counts the trainings of a fit, of which tuning has several. ``seconds``
are those since the fit began. Entries that are not known at a step are null. A fit opens the log for all that trains
within it (``logging_to``), so that no solver, path or search need hand it on.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from loglinear.formats.json_text import json_text


class TrainingLog:
    """An open log file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.n_runs = os.fspath(path), 0
        self._start = time.monotonic()
        self._file: Any = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  closed by ``close``

    def close(self) -> None:
        """End the log."""
        if self._file is not None:
            self._file.close()

    def write(self, entry: dict[str, Any]) -> None:
        """Write an entry; a full disk ends the log with a warning, and training goes on."""
        if self._file is None:
            return
        try:
            self._file.write(json_text(entry) + "\n")
            self._file.flush()
        except OSError as error:
            warnings.warn(f"{self.path}: cannot be written: {error.strerror}; the log ends here", stacklevel=2)
            self._file = None

    def seconds(self) -> float:
        """Return the time since the fit began."""
        return round(time.monotonic() - self._start, 4)


_CURRENT: ContextVar[TrainingLog | None] = ContextVar("training log", default=None)


@contextmanager
def logging_to(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Write the steps of all training within the block to a file; None: to the file of an outer block, if any."""
    if path is None:
        yield
        return
    log = TrainingLog(path)
    before = _CURRENT.set(log)
    try:
        yield
    finally:
        _CURRENT.reset(before)
        log.close()


def is_logged() -> bool:
    """Return whether steps are written to a log."""
    return _CURRENT.get() is not None


def begin_run() -> int:
    """Return the number of a training that begins."""
    log = _CURRENT.get()
    if log is None:
        return 0
    log.n_runs += 1
    return log.n_runs


def log_step(
    stage: str, step: int | None = None, *, run: int | None = None, passes: float | None = None,
    objective: float | None = None, gap: float | None = None, held_out: float | None = None,
) -> None:  # fmt: skip
    """Write what is known of a step to the log, if there is one; without a step, that a stage begins."""
    log = _CURRENT.get()
    if log is not None:
        log.write(
            {
                "stage": stage, "run": run or log.n_runs, "step": step, "seconds": log.seconds(), "passes": passes,
                "objective": objective, "gap": gap, "held_out": held_out,
            }
        )  # fmt: skip


def log_trial(number: int, trial: Any) -> None:
    """Write a trial of tuning to the log, if there is one; its ``held_out`` is minus the sum of the held-out losses."""
    log_step(
        "tuning", number, passes=trial.iterations, objective=trial.objective, held_out=-trial.validation
    )
