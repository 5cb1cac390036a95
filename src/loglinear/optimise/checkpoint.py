"""Checkpoints of training: weights on disk, so that a killed run goes on where it was.

The policy is the same for all models. A checkpoint names the problem that is being trained (``open_checkpoint``), so
that weights of another one are refused rather than resumed. ``minimise`` saves it every 30 seconds and when it ends.
The command that trained deletes it when the model itself is saved, unless training can go on (``discard``).

A checkpoint is a file of named arrays, with a checksum, written to a temporary name and renamed, so there is always a
whole one. It holds the weights, not the memory of the solver: the objective is convex, so the resumed run ends at the
same optimum.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import ModelFileError
from loglinear.formats import named_arrays
from loglinear.formats.text import atomic_write
from loglinear.status import Status


@dataclass
class Checkpoint:
    """A file of weights.

    path : where the weights are saved
    every : least number of seconds between two saves while training runs
    problem : name of what is being trained; a file with another name is refused
    """

    path: str | os.PathLike[str]
    every: float = 30.0
    problem: str = ""
    _last: float = field(default_factory=time.monotonic)

    def load(self, n_weights: int) -> tuple[FloatArray, int] | None:
        """Return (weights, iteration), or None where there is no checkpoint yet."""
        path = Path(self.path)
        if not path.exists():
            return None
        try:
            found, arrays = named_arrays.read(path)
            weights, iteration = arrays["weights"], int(found["iteration"])
        except (KeyError, ValueError) as error:  # ModelFileError is a ValueError
            raise ModelFileError(f"{path}: not a checkpoint ({error}); remove it to start again") from error
        if found.get("problem", "") != self.problem or weights.shape != (n_weights,):
            raise ModelFileError(
                f"{path}: a checkpoint of another problem ({found.get('problem')!r}, {weights.size} weights; "
                f"this one is {self.problem!r} with {n_weights}); remove it or name another file"
            )
        whole = named_arrays.CHECKSUM not in found or named_arrays.digest(found, arrays) == found[named_arrays.CHECKSUM]
        if not whole or weights.dtype != np.float64 or not np.all(np.isfinite(weights)):
            raise ModelFileError(f"{path}: the checkpoint's weights are damaged; remove it to start again")
        return weights, iteration

    def due(self) -> bool:
        """Return whether the last save is long enough ago."""
        return time.monotonic() - self._last >= self.every

    def save(self, weights: FloatArray, value: float, iteration: int) -> None:
        """Save now, atomically."""
        strings = {"kind": "checkpoint", "problem": self.problem, "iteration": str(iteration), "value": repr(value)}
        with atomic_write(self.path) as file:
            named_arrays.write(file, strings, {"weights": weights})
        self._last = time.monotonic()


class Fingerprinted(Protocol):
    """Training data with a fingerprint, by which it is recognised."""

    def fingerprint(self) -> str:
        """Return a hash of the content."""


def open_checkpoint(path: str | os.PathLike[str] | None, data: Fingerprinted, *settings: object) -> Checkpoint | None:
    """Return the checkpoint of a problem, named by its settings and its data, or None if there is no path."""
    if path is None:
        return None
    return Checkpoint(path, problem=" ".join([*map(str, settings), "data", data.fingerprint()]))


def discard(path: str | os.PathLike[str] | None, status: str) -> None:
    """Delete a checkpoint whose model is saved, unless training can go on: interrupted, or at max_iterations."""
    if path is not None and status not in (Status.INTERRUPTED, Status.MAX_ITERATIONS):
        Path(path).unlink(missing_ok=True)
