"""Solve H x = r on the active set of a solution, by conjugate residuals preconditioned by the diagonal.

H is the Hessian of the smooth part of the objective (loss and ridge), restricted to the weights that do not rest in a
corner of the penalty. Vectors keep their full length, with zeros outside the set, so any Hessian product works.

H may be singular (features that depend on each other, under l1 alone), and r may have a part r0 where H is flat. Then
conjugate gradients diverge; conjugate residuals (Stiefel 1955; MINRES for such matrices) still make the residual least
and are done when r0 is all that is left of it. An iterate is x = q(H) r with a polynomial q, so x then holds
q(0) r0, which is taken out: the pseudo-inverse. q(0) follows from the step lengths.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.protocols import Curvature, Metric, Orthant, Tunable

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective


def solve_active(
    objective: Objective,
    w: FloatArray,
    right: FloatArray,
    x: FloatArray,
    *,
    tolerance: float = 1e-2,
    max_products: int = 50,
) -> tuple[int, FloatArray]:
    """Improve ``x``, the starting point, in place; return (number of products, diagonal of H).

    Stops when the residual, or its part in the range of H, is below ``tolerance`` times ``right``, in the norm of the
    preconditioner. ``right`` is overwritten.
    """
    pool, penalty, tunable = objective.pool, cast(Orthant, objective.penalty), cast(Tunable, objective.penalty)
    hessian = cast(Curvature, objective.loss).hessian(w)
    diagonal = np.empty_like(w)
    hessian.diagonal(diagonal)
    cast(Metric, objective.penalty).add_curvature_diagonal(w, diagonal)
    np.maximum(diagonal, 1e-10 * max(float(diagonal.max(initial=0.0)), 1e-300), out=diagonal)

    def multiply(v: FloatArray, out: FloatArray) -> None:
        hessian.product(v, out)
        penalty.add_smooth_gradient(v, out)
        tunable.hold(w, out)

    residual, z, Hz = right, np.empty_like(w), np.empty_like(w)
    tunable.hold(w, residual)
    tunable.hold(w, x)
    np.divide(residual, diagonal, out=z)
    goal = tolerance**2 * _core.dot(pool, residual, z)
    products = 0
    if _core.max_abs(pool, x) > 0.0:
        multiply(x, Hz)
        products += 1
        _core.combine(pool, 1.0, residual, -1.0, Hz, residual)
        np.divide(residual, diagonal, out=z)
    multiply(z, Hz)
    products += 1
    d, Hd, zHz = z.copy(), Hz.copy(), _core.dot(pool, z, Hz)
    at_zero, d_at_zero = 0.0, 1.0  # the polynomials of x and d at zero
    while zHz > goal and products < max_products:
        np.divide(Hd, diagonal, out=z)
        length = _core.dot(pool, Hd, z)
        if not (length > 0.0 and math.isfinite(length)):
            break
        alpha = zHz / length
        _core.combine(pool, 1.0, x, alpha, d, x)
        _core.combine(pool, 1.0, residual, -alpha, Hd, residual)
        np.divide(residual, diagonal, out=z)
        multiply(z, Hz)
        products += 1
        before, zHz = zHz, _core.dot(pool, z, Hz)
        beta = zHz / before
        at_zero += alpha * d_at_zero
        d_at_zero = 1.0 + beta * d_at_zero
        _core.combine(pool, 1.0, z, beta, d, d)
        _core.combine(pool, 1.0, Hz, beta, Hd, Hd)
    if zHz <= goal < _core.dot(pool, residual, z):
        _core.combine(pool, 1.0, x, -at_zero, z, x)
    return products, diagonal
