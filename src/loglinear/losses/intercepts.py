"""Intercepts without penalty, solved for exactly by Newton's method while all other weights stay as they are."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from loglinear.arrays import FloatArray

ROUNDING = 1e-14  # relative error of a sum of losses, roughly
STEPS = 50  # about five are needed, more only where steps are cut


class InterceptProblem(Protocol):
    """A loss as a function of what is added to its intercepts [K]."""

    def value_and_slopes(self, shift: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the first derivatives [K]."""

    def curvature(self, shift: FloatArray) -> FloatArray:
        """Return the second derivatives [K, K]."""


@runtime_checkable
class Intercepts(Protocol):
    """A loss whose last weights are intercepts."""

    n_intercepts: int

    def intercept_loss(self, w: FloatArray) -> InterceptProblem:
        """Return the loss as a function of what is added to the intercepts of ``w``."""


def solve_intercepts(problem: InterceptProblem, bias: FloatArray) -> None:
    """Overwrite the intercepts [K], at which ``problem`` has no shift, with those of the least loss."""
    best, steepest = np.inf, np.inf
    shift, step = np.zeros_like(bias), np.zeros_like(bias)
    for _ in range(STEPS):
        value, slopes = problem.value_and_slopes(shift + step)
        steep = np.abs(slopes).max()
        # Near the optimum values agree to rounding while slopes still tell a better point from a worse one.
        if not (value < best or (value <= best + ROUNDING * abs(best) and steep < steepest)):
            if np.abs(step).max() <= 1e-14 * (1.0 + np.abs(bias + shift).max()):
                break
            step *= 0.25
            continue
        shift, best, steepest = shift + step, value, steep
        if steep == 0.0:
            break
        step = intercept_step(problem.curvature(shift), slopes)
    bias += shift


def intercept_step(curvature: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return -B^+ slopes; equal shifts of all classes change nothing."""
    if slopes.size == 1:
        return -slopes / max(float(curvature[0, 0]), 1e-300)
    step: FloatArray = -(np.linalg.pinv(curvature, hermitian=True) @ slopes)
    return step
