"""Checkpoints of training: weights on disk, so that a killed run goes on where it was.

A checkpoint is a safetensors file written to a temporary name and renamed, so there is always a whole one. It holds
the weights, not the memory of the solver: the objective is convex, so the resumed run ends at the same optimum.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.errors import ModelFileError
from loglinear.formats.text import atomic_write


@dataclass
class Checkpoint:
    """Save to ``path`` at most every ``every`` seconds. ``problem`` names what is being trained; a file of another
    problem is refused rather than resumed.
    """

    path: str | os.PathLike[str]
    every: float = 30.0
    problem: str = ""
    _last: float = field(default_factory=time.monotonic)

    def load(self, n_weights: int) -> tuple[FloatArray, int] | None:
        """(weights, iteration), or None where there is no checkpoint yet."""
        from safetensors import SafetensorError, safe_open

        path = Path(self.path)
        if not path.exists():
            return None
        try:
            with safe_open(str(path), framework="np") as file:
                metadata = file.metadata() or {}
                weights = file.get_tensor("weights")
                iteration = int(metadata["iteration"])
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise ModelFileError(f"{path}: not a checkpoint ({error}); remove it to start anew") from error
        if metadata.get("problem", "") != self.problem or weights.shape != (n_weights,):
            raise ModelFileError(
                f"{path}: a checkpoint of another problem ({metadata.get('problem')!r}, {weights.size} weights; "
                f"this one is {self.problem!r} with {n_weights}); remove it or name another file"
            )
        if weights.dtype != np.float64 or not np.all(np.isfinite(weights)):
            raise ModelFileError(f"{path}: the checkpoint's weights are damaged; remove it to start anew")
        return weights, iteration

    def due(self) -> bool:
        """Whether the last save is long enough ago."""
        return time.monotonic() - self._last >= self.every

    def save(self, weights: FloatArray, value: float, iteration: int) -> None:
        """Save now, atomically."""
        from safetensors.numpy import save

        metadata = {"kind": "checkpoint", "problem": self.problem, "iteration": str(iteration), "value": repr(value)}
        with atomic_write(self.path) as file:
            file.write(save({"weights": weights}, metadata=metadata))
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the file, when the model itself is safe."""
        Path(self.path).unlink(missing_ok=True)
