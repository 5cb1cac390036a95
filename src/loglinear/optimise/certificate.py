"""How far an objective is above its optimum: lower bounds of the optimum, by duality.

An affine minorant of the loss, loss(u) >= c + h.u for all u, bounds the optimum of loss + penalty from below:

    optimum  >=  c + min over u of ( h.u + penalty(u) )  =  c - penalty*(-h),        penalty* the conjugate.

Three minorants are used, all of them at the weights w where training stands, g the gradient of the loss there:

    tangent     h = g,             c = loss(w) - g.w
    shrunk      h = s g,           c = s (loss(w) - g.w) + (1 - s) floor,   0 <= s <= 1, floor <= loss everywhere
    Newton's    h = g + H p,       c = loss(w) - h.w - k(r)/2 p.H p,        for any step p of spread r < 1.

A penalty with a ridge b turns the tangent into the bound |least subgradient|^2 / (2 b). For l1 the conjugate is finite
only where |h| <= strength: the shrunk minorant is the usual dual point, residuals scaled until they are feasible. What
exceeds |h| <= strength costs at most (excess / strength) * objective(w), because the penalty of the optimum is at most
objective(w) - floor; the larger of the two bounds counts.

Newton's minorant makes the bound tight where the ridge is far below the curvature of the loss. The loss must be a sum
of log-partition functions, or of exponentials, of scores that are linear in the weights (power Spread). Its model
distribution q at w, changed to q (1 + x) with x the centred scores of p, has the moments that give h; the price is its
Kullback-Leibler divergence from q, the mean of (1 + x) log(1 + x) - x <= k(r)/2 x^2 for |x| <= r, whose sum over
examples is k(r)/2 p.H p with

    k(r) = 2 ((1 - r) log(1 - r) + r) / r^2.

(Bach 2010 bounds the gap by Newton's decrement through the self-concordance of the logistic loss; this is the same
argument on the side of the dual, without a smallest eigenvalue.) p solves (H + b) p = -least subgradient on the active
set by a few conjugate-gradient steps. Where the loss has no Hessian, differences of gradients stand for products: they
mix model distributions of w and of points so close that terms of second order stay below SLACK; r and k allow for
them.

Bounds hold up to rounding errors of the sums involved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray, new, new_copy, new_like, new_zeros
from loglinear.protocols import Curvature, Dual, FreeWeights, Metric, Orthant, Scaled, Smooth, Split, Spread

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective

MAX_PRODUCTS = 64  # conjugate-gradient steps of one certificate; ill-conditioned problems need more
LARGEST_SPREAD = 0.5  # of the step of Newton's minorant; k(0.5) = 1.23
SLACK = 1e-3  # relative size of second-order terms that differences of gradients leave
MANY_WEIGHTS = 5_000_000  # from here on no vectors are spent on bounds, which are loose for n-gram models anyway
BEYOND = 10.0  # how many times farther than the largest weight the optimum may have its free weights ...
CORRECTIONS = 3  # ... and how often their gradient, which counts for that distance, is corrected towards zero
NEGLIGIBLE = 1e-13  # part of the objective
ENDLESS = 1e100  # squared length of a step that tells of a loss without curvature: no minorant helps there
TIGHT = 4.0  # a bound this many times the decrease of the quadratic model is tight enough


class Assessment(NamedTuple):
    """What minorants and the quadratic model at some weights say of the optimum."""

    lower: float = -math.inf  # a lower bound of the optimum
    decrease: float = 0.0  # by how much the objective falls according to the model, where there is one
    products: int = 0  # with the Hessian that this took


def assess(objective: Objective, w: FloatArray, enough: float = 0.0, max_products: int = MAX_PRODUCTS) -> Assessment:
    """Bound the optimum from below, and estimate how far it is, from the loss around ``w``.

    enough : distance from objective(w) at which the bound is good enough, and only made tight if that is cheap
    max_products : maximum number of products with the Hessian
    """
    objective, w = objective.plain(w)
    if not objective.can_be_bounded or not isinstance(objective.penalty, Dual) or w.size >= MANY_WEIGHTS:
        return Assessment()
    if isinstance(objective.loss, FreeWeights):
        w = new_copy(w)
        objective.loss.solve_free(w)
    return _Minorants(objective, w).assess(enough, max_products)


class _Minorants:
    """The loss at ``w`` and the best bound so far."""

    def __init__(self, objective: Objective, w: FloatArray) -> None:
        self.objective, self.w = objective, w
        self.gradient = new_like(w)
        self.loss_value = objective.loss.value_and_gradient(w, self.gradient)
        self.value = self.loss_value + objective.penalty.value(w)
        self.floor = objective.loss.floor if isinstance(objective.loss, Spread) else -math.inf
        self.reach = BEYOND * (1.0 + float(np.abs(w).max(initial=0.0)))
        self.decrease, self.products = 0.0, 0
        self.along = 0.0  # decrease of the quadratic model along the conjugate-gradient steps

    def assess(self, enough: float, max_products: int) -> Assessment:
        """Return the best bound within the budget, and the decrease that the model predicts."""
        best = self._tangent()
        best = max(best, self.floor)  # a penalty is never negative
        able = isinstance(self.objective.loss, Spread) and isinstance(self.objective.penalty, Orthant)
        if not able or self.value - best <= NEGLIGIBLE * abs(self.value):
            return Assessment(best)
        for h, constant in self._newton(max_products):
            best = max(best, self._of(constant, h)[0])
            if self.value - best <= min(enough, TIGHT * self.along):
                break
        return Assessment(best, self.decrease, self.products)

    def _tangent(self) -> float:
        """Return the bound of the tangent; a ridge may count as part of the loss."""
        constant = self.loss_value - self.objective.dot(self.gradient, self.w)
        best, feasible = self._of(constant, self.gradient)
        penalty = self.objective.penalty
        if not feasible and isinstance(penalty, Split) and isinstance(penalty.rest, Dual):
            h = new_copy(self.gradient)
            smooth = self.loss_value + penalty.add_smooth_gradient(self.w, h)
            best = max(best, self._of(smooth - self.objective.dot(h, self.w), h, penalty.rest)[0])
        return best

    def _of(self, constant: float, h: FloatArray, penalty: Dual | None = None) -> tuple[float, bool]:
        """Return (the bound of one minorant, whether its conjugate is finite)."""
        penalty = penalty or cast(Dual, self.objective.penalty)
        budget = self.value - self.floor
        ridge, ratio, free = penalty.dual(h, 1.0)
        constant -= self.reach * free
        if ratio <= 1.0:
            return constant - ridge, ratio < 1.0
        bound = constant - ridge - (ratio - 1.0) * budget if math.isfinite(budget) else -math.inf
        if math.isfinite(self.floor) and math.isfinite(ratio):
            shrink = 1.0 / ratio
            shrunk = shrink * constant + (1.0 - shrink) * self.floor - penalty.dual(h, shrink)[0]
            bound = max(bound, shrunk)
        return bound, False

    def _newton(self, max_products: int) -> Iterator[tuple[FloatArray, float]]:
        """Yield (h, c) of Newton's minorant after more and more conjugate-gradient steps."""
        objective, loss = self.objective, cast(Spread, self.objective.loss)
        product = _products(objective, self.w, self.gradient)
        ridge = new_zeros(self.w.size)
        cast(Metric, objective.penalty).add_curvature_diagonal(self.w, ridge)
        inverse = _preconditioner(objective, self.w, ridge)
        np.divide(1.0, inverse, out=inverse)
        least, active = _least_subgradient(objective, self.w, self.gradient)
        step, change = new_zeros(self.w.size), new_zeros(self.w.size)  # p and H p
        self.decrease = alone = _alone(objective, self.w, least, inverse)
        residual = np.negative(least, out=least)
        residual *= active
        z = np.multiply(inverse, residual, out=new_like(residual))
        direction, curved = new_copy(z), new_like(z)
        rz = objective.dot(residual, z)
        slack, along_path = 0.0, [0.0]
        for products in range(1, max_products + 1):
            if not 0.0 < rz < ENDLESS:
                return
            along, spread = product(direction)
            self.products = products
            np.multiply(ridge, direction, out=curved)
            curved += along
            curved *= active
            curvature = objective.dot(direction, curved)
            if not curvature > 0.0:  # flat: no penalty, and probabilities of 0 and 1
                return
            alpha = rz / curvature
            along_path.append(along_path[-1] + 0.5 * alpha * rz)
            self.along = along_path[-1]
            # The second half of the steps tells what is still missing where conjugate gradients have not converged.
            self.decrease = max(alone, along_path[-1] + 2.0 * (along_path[-1] - along_path[products // 2]))
            step += alpha * direction
            change += alpha * along
            slack += SLACK * alpha * spread
            if products & (products - 1) == 0 or products == max_products:  # after 1, 2, 4, 8, ...
                yield self._newton_minorant(step, change, loss.spread(step) + slack, product)
            residual -= alpha * curved
            np.multiply(inverse, residual, out=z)
            rz, before = objective.dot(residual, z), rz
            direction *= rz / before
            direction += z

    def _newton_minorant(
        self, step: FloatArray, change: FloatArray, spread: float, product: Product
    ) -> tuple[FloatArray, float]:
        """Return (h, c) for this step, shortened until its spread is small enough."""
        loss, objective = self.objective.loss, self.objective
        for _ in range(CORRECTIONS if isinstance(loss, FreeWeights) else 0):  # their gradient must vanish in h
            residual = self.gradient + change
            own = np.zeros_like(step)
            cast(FreeWeights, loss).correct_free(self.w, residual, own)
            free = cast(Dual, objective.penalty).dual(residual, 1.0)[2]
            if not own.any() or self.reach * free <= NEGLIGIBLE * self.value:
                break
            step, change = step + own, change + product(own)[0]
            spread += cast(Spread, loss).spread(own)
        short = min(1.0, LARGEST_SPREAD / spread) if spread > 0.0 else 1.0
        h = np.multiply(short, change, out=new_like(change))
        h += self.gradient
        curvature = (1.0 + SLACK) * max(objective.dot(step, change), 0.0)
        price = 0.5 * divergence_factor(short * spread) * short**2 * curvature
        return h, self.loss_value - objective.dot(h, self.w) - price


Product = Callable[[FloatArray], tuple[FloatArray, float]]


def _products(objective: Objective, w: FloatArray, gradient: FloatArray) -> Product:
    """Return v -> (H v, its spread where H v is a difference of gradients, else 0)."""
    loss = objective.loss
    if isinstance(loss, Curvature):
        hessian = loss.hessian(w)

        def exact(v: FloatArray) -> tuple[FloatArray, float]:
            out = new_like(v)
            hessian.product(v, out)
            return out, 0.0

        return exact

    def difference(v: FloatArray) -> tuple[FloatArray, float]:
        spread = cast(Spread, loss).spread(v)
        length = 0.1 * SLACK / spread if spread > 0.0 else 1.0
        out = new_like(v)
        moved = np.multiply(length, v, out=new_like(v))
        moved += w
        loss.value_and_gradient(moved, out)
        out -= gradient
        out /= length
        return out, spread

    return difference


def _preconditioner(objective: Objective, w: FloatArray, ridge: FloatArray) -> FloatArray:
    """Return a positive diagonal like that of the Hessian of the whole."""
    diagonal = new(w.size)
    diagonal[:] = 1.0
    if isinstance(objective.loss, Curvature):
        objective.loss.hessian(w).diagonal(diagonal)
    elif isinstance(objective.loss, Scaled):
        objective.loss.curvature_estimate(diagonal)
        diagonal *= 0.2  # most probabilities are near 0 or 1 at the end of training
    diagonal += ridge
    return np.maximum(diagonal, 1e-8 * max(float(diagonal.max(initial=0.0)), 1e-300), out=diagonal)


def _least_subgradient(
    objective: Objective, w: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return (the least subgradient of the whole, whether each weight may move without leaving a corner uphill)."""
    penalty = cast(Orthant, objective.penalty)
    smooth, least = new_copy(gradient), new_like(w)
    penalty.add_smooth_gradient(w, smooth)
    penalty.pseudo_gradient(w, smooth, least)
    if isinstance(penalty, Smooth):
        return least, np.ones(w.size, dtype=bool)
    return least, (w != 0.0) | (least != 0.0)


def divergence_factor(spread: float) -> float:
    """Return k(r): (1 + x) log(1 + x) - x <= k(r)/2 x^2 for all |x| <= r < 1."""
    if spread >= 1.0:
        return math.inf
    if spread < 1e-3:  # 1 + r/3 + ...: the formula cancels
        return 1.0 + spread
    return 2.0 * ((1.0 - spread) * math.log1p(-spread) + spread) / spread**2


def _alone(objective: Objective, w: FloatArray, least: FloatArray, inverse: FloatArray) -> float:
    """Return by how much the quadratic model falls if each weight moves alone, without changing its sign: the sum."""
    move = np.abs(least, out=new_like(least))
    move *= inverse
    if not isinstance(objective.penalty, Smooth):
        crossing = (np.sign(least) == np.sign(w)) & (move > np.abs(w))
        move[crossing] = np.abs(w[crossing])
    with np.errstate(over="ignore"):  # where the loss has no curvature left, a weight may move without end
        return float(np.sum(move * (np.abs(least) - 0.5 * move / inverse)))
