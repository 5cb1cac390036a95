"""Weights without penalty, such as intercepts, solved for exactly by Newton's method while all others stay."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from loglinear.arrays import FloatArray

ROUNDING = 1e-14  # relative error of a sum of losses, roughly
STEPS = 50  # about five are needed, more only where steps are cut


class FreeLoss(Protocol):
    """A loss as a function of what is added to its free weights [n_free]."""

    def value_and_slopes(self, shift: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the first derivatives [n_free]."""

    def curvature(self, shift: FloatArray) -> FloatArray:
        """Return the second derivatives [n_free, n_free]."""


@runtime_checkable
class HasFree(Protocol):
    """A loss that knows which of its weights are free."""

    free: slice  # their places

    def free_loss(self, w: FloatArray) -> FreeLoss:
        """Return the loss as a function of what is added to the free weights of ``w``."""


def solve_free_weights(problem: FreeLoss, free: FloatArray) -> None:
    """Overwrite the free weights [n_free], at which ``problem`` has no shift, with those of the least loss."""
    best, steepest = np.inf, np.inf
    shift, step = np.zeros_like(free), np.zeros_like(free)
    for _ in range(STEPS):
        value, slopes = problem.value_and_slopes(shift + step)
        steep = np.abs(slopes).max()
        # Near the optimum values agree to rounding while slopes still tell a better point from a worse one.
        if not (value < best or (value <= best + ROUNDING * abs(best) and steep < steepest)):
            if np.abs(step).max() <= 1e-14 * (1.0 + np.abs(free + shift).max()):
                break
            step *= 0.25
            continue
        shift, best, steepest = shift + step, value, steep
        if steep == 0.0:
            break
        step = free_step(problem.curvature(shift), slopes)
    free += shift


def free_step(curvature: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return -B^+ slopes; equal shifts of the intercepts of all classes change nothing."""
    if slopes.size == 1:
        return -slopes / max(float(curvature[0, 0]), 1e-300)
    step: FloatArray = -(np.linalg.pinv(curvature, hermitian=True) @ slopes)
    return step
