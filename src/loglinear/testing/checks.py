"""Numerical checks of losses, penalties and solvers; each raises AssertionError with the numbers that disagree."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.protocols import Curvature, Loss, Metric, OwnMetric, Penalty, Restrict, Smooth, Stochastic
from loglinear.solvers.solver import Solver


def check_loss(loss: Loss, *, scale: float = 1.0, seed: int = 0, n_directions: int = 8) -> None:
    """Check a loss: gradient and Hessian against central differences at random, zero and extreme weights; convexity;
    that parts add up and a restricted loss agrees, where the loss has those powers.
    """
    rng = np.random.default_rng(seed)
    n = loss.n_weights
    random, extreme = rng.normal(size=n) * scale, rng.normal(size=n) * 50 * scale
    for name, w in (("random", random), ("zero", np.zeros(n)), ("extreme", extreme)):
        gradient, scratch = np.empty(n), np.empty(n)
        value = loss.value_and_gradient(w, gradient)
        assert np.isfinite(value), f"the value is not finite at {name} weights"
        assert np.all(np.isfinite(gradient)), f"the gradient is not finite at {name} weights"
        for _ in range(n_directions):
            v = rng.normal(size=n) / np.sqrt(n)
            h = 1e-5
            up, down = loss.value_and_gradient(w + h * v, scratch), loss.value_and_gradient(w - h * v, scratch)
            _close(gradient @ v, (up - down) / (2 * h), f"gradient at {name} weights", 1e-6, 1e-8 * max(abs(value), 1))
        if isinstance(loss, Curvature):
            _check_hessian(loss, w, rng, name)
    _check_convex(loss, rng, scale)
    if isinstance(loss, Stochastic):
        _check_parts(loss, rng, scale)
    if isinstance(loss, Restrict):
        _check_restriction(loss, rng, scale)


def _close(ours: float, reference: float, what: str, relative: float, absolute: float) -> None:
    error = abs(ours - reference)
    bound = relative * max(abs(ours), abs(reference)) + absolute
    assert error <= bound, f"{what}: {ours!r} but {reference!r} numerically"


def _check_hessian(loss: Any, w: FloatArray, rng: np.random.Generator, name: str) -> None:
    n = w.size
    hessian = loss.hessian(w)
    product, up, down = np.empty(n), np.empty(n), np.empty(n)
    for _ in range(3):
        v = rng.normal(size=n) / np.sqrt(n)
        hessian.product(v, product)
        loss.value_and_gradient(w + 1e-5 * v, up)
        loss.value_and_gradient(w - 1e-5 * v, down)
        reference = (up - down) / 2e-5
        error = np.max(np.abs(product - reference), initial=0.0)
        bound = 1e-5 * np.max(np.abs(reference), initial=0.0) + 1e-5 * max(float(np.abs(up).max(initial=0.0)), 1e-3)
        assert error <= bound, f"Hessian product at {name} weights is off by {error}"
    if n <= 200:
        diagonal = np.empty(n)
        hessian.diagonal(diagonal)
        for j in range(n):
            unit = np.zeros(n)
            unit[j] = 1.0
            hessian.product(unit, product)
            _close(diagonal[j], product[j], f"Hessian diagonal [{j}] at {name} weights", 1e-9, 1e-12)


def _check_convex(loss: Loss, rng: np.random.Generator, scale: float) -> None:
    a, b = rng.normal(size=(2, loss.n_weights)) * scale
    scratch = np.empty(loss.n_weights)
    values = [loss.value_and_gradient(x, scratch) for x in (a, b, 0.5 * (a + b))]
    assert values[2] <= 0.5 * (values[0] + values[1]) + 1e-9 * abs(values[0]), "the loss is not convex"


def _check_parts(loss: Any, rng: np.random.Generator, scale: float) -> None:
    w = rng.normal(size=loss.n_weights) * scale
    whole, part = np.empty(w.size), np.empty(w.size)
    value = loss.value_and_gradient(w, whole)
    total, gradient = 0.0, np.zeros(w.size)
    for piece in loss.partition(3, rng):
        total += piece.value_and_gradient(w, part)
        gradient += part
    _close(total, value, "sum of the parts' values", 1e-10, 1e-12)
    assert np.allclose(gradient, whole, rtol=1e-9, atol=1e-9), "the parts' gradients do not add up"


def _check_restriction(loss: Any, rng: np.random.Generator, scale: float) -> None:
    active = rng.random(loss.n_weights) < 0.3
    small, kept = loss.restrict(active)
    assert set(np.flatnonzero(active)) <= set(kept.tolist()), "restriction dropped an active weight"
    w = np.zeros(loss.n_weights)
    w[kept] = rng.normal(size=kept.size) * scale
    full, part = np.empty(w.size), np.empty(kept.size)
    _close(small.value_and_gradient(w[kept], part), loss.value_and_gradient(w, full), "restricted value", 1e-10, 1e-12)
    assert np.allclose(part, full[kept], rtol=1e-9, atol=1e-9), "restricted gradient differs"


def _steps(penalty: Penalty, n: int, rng: np.random.Generator) -> list[Any]:
    """Return steps that the prox takes: one number, and one per weight; or only those along its own metric."""
    one: list[Any] = [float(rng.uniform(0.1, 3.0))]
    if not isinstance(penalty, Metric):
        return one
    if isinstance(penalty, OwnMetric):
        return [_own_steps(penalty, n, float(rng.uniform(0.3, 10.0)))]
    return [*one, rng.uniform(0.1, 3.0, size=n)]


def _own_steps(penalty: Any, n: int, extra: float) -> FloatArray:
    """Return steps with 1 / step + ridge = L d for some large L, for a penalty with the powers Metric and OwnMetric."""
    d, ridge = np.ones(n), np.zeros(n)  # where any step will do, d stays as it is
    penalty.own_metric(d)
    penalty.add_curvature_diagonal(d, ridge)
    return 1.0 / ((float(np.max(ridge / d)) + extra) * d - ridge)


def check_penalty(penalty: Penalty, n: int = 6, *, seed: int = 0, cases: int = 20) -> None:
    """Check a penalty on ``n`` weights: its prox by the three-point inequality against random points (also with one
    step per weight, given the power Metric), the violation at the prox, and gradient and Hessian of a Smooth penalty.
    """
    rng = np.random.default_rng(seed)
    own = isinstance(penalty, Metric) and isinstance(penalty, OwnMetric)
    small: Any = _own_steps(penalty, n, 1e12) if own else 1e-12
    for _ in range(cases):
        z = rng.normal(size=n) * 3
        for step in _steps(penalty, n, rng):
            x = np.empty(n)
            penalty.prox(z, step, x)
            best = float(np.sum((x - z) ** 2 / (2 * step))) + penalty.value(x)
            for spread in (1e-3, 0.1, 1.0):
                y = np.empty(n)
                penalty.prox(x + rng.normal(size=n) * spread, small, y)  # a feasible point near x
                other = float(np.sum((y - z) ** 2 / (2 * step))) + penalty.value(y)
                gap = float(np.sum((y - x) ** 2 / (2 * step)))
                assert best + gap <= other + 1e-9 * max(abs(other), 1), f"prox is not optimal: {best} + {gap} > {other}"
            # x solves min penalty + (x - z)^2 / (2 step): with that quadratic as loss it must be optimal.
            violation = penalty.violation(x, (x - z) / step)
            assert violation <= 1e-8, f"violation {violation} at the prox"
        if isinstance(penalty, Smooth):
            w, v = rng.normal(size=(2, n))
            gradient = np.zeros(n)
            value = penalty.add_gradient(w, gradient)
            _close(value, penalty.value(w), "value of the smooth penalty", 1e-12, 1e-12)
            numeric = (penalty.value(w + 1e-6 * v) - penalty.value(w - 1e-6 * v)) / 2e-6
            _close(gradient @ v, numeric, "gradient of the penalty", 1e-6, 1e-8)
            product = np.zeros(n)
            penalty.add_hessian_vector(w, v, product)
            diagonal = np.zeros(n)
            penalty.add_curvature_diagonal(w, diagonal)
            up, down = np.zeros(n), np.zeros(n)
            penalty.add_gradient(w + 1e-5 * v, up)
            penalty.add_gradient(w - 1e-5 * v, down)
            assert np.allclose(product, (up - down) / 2e-5, atol=1e-6), "Hessian of the penalty"
    g = rng.normal(size=n)
    top = penalty.max_strength(g)
    assert top >= 0


def check_solver(solver: Solver, objective: Objective, reference: FloatArray, *, tolerance: float = 1e-6) -> None:
    """Check that a solver reaches the value of ``reference`` and a violation below ``tolerance``, and reports both."""
    result = minimise(objective, solver, violation_tolerance=1e-9, max_iterations=20000)
    gradient = np.empty(objective.n_weights)
    best = objective.value_and_loss_gradient(reference, gradient)
    value = objective.value_and_loss_gradient(result.weights, gradient)
    ceiling = best + tolerance * max(abs(best), 1e-12)
    assert value <= ceiling, f"{solver.name}: {value} is above {best} ({result.status})"
    violation = objective.violation(result.weights, gradient)
    _close(violation, result.violation, "violation reported", 1e-3, 1e-9 * objective.gradient_scale())
    bound = tolerance * objective.gradient_scale()
    assert violation <= bound, f"{solver.name}: violation {violation} > {bound} ({result.status})"
