"""When training has converged: its relative gap, proved by a bound or, where no bound is tight, estimated.

The relative gap is (objective - optimum) / objective. Training converges when it is at most ``tolerance``:

1. An estimate costs nothing: the decrease is taken to be exponential in the passes over the data. With the decreases
   d1 and d2 over two windows of w1 and w2 passes, the rate k follows from (d2/w2) / (d1/w1) = exp(-k (w1 + w2) / 2),
   and  d2 / (exp(k w2) - 1)  is what remains. SAFETY times as much is the estimate.
   The larger result of a short and a long window counts.
2. The optimum is bounded from below: by tangents that the solver has in its memory (optimise/bundle.py), which cost a
   part of a pass, the more often the nearer they are; or else, where the estimate comes near the tolerance, by
   minorants at the last point (optimise/certificate.py). These get a share of the passes (SHARE), so that training
   waits little for them.
3. A bound within the tolerance proves it. A bound that is LOOSE times above the estimate would take many more passes
   (pure l1, weights almost without a ridge); there the estimate counts, if the quadratic model of the objective agrees
   with it twice in a row, or once where a working set was solved in between, and is called one: ``is_bound`` is False.
   A model that has seen fewer directions than an earlier one agrees too easily: none gets fewer products than before,
   even where that exceeds the share of the passes.

Steps at which a solver does not know the violation over all weights (coarse phases, working sets) are passed over.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.optimise.bundle import bundle_bound
from loglinear.optimise.certificate import MAX_PRODUCTS, assess

if TYPE_CHECKING:
    from loglinear.optimise.objective import Objective
    from loglinear.solvers.solver import State

SAFETY = 4.0  # the exponential falls short where convergence slows down: for 1/passes^2 by less than a factor of two
WINDOWS = (0.15, 0.4)  # of the passes of a phase: a short one follows fast convergence, a long one bridges pauses
LEAST_WINDOW = 4.0  # passes
SHARE = 0.15  # of the passes so far that bounds may cost ...
FIRST_PRODUCTS = 12  # ... beyond those of a first one
LOOSE = 30.0  # bounds of strongly convex problems are at most about 10 times the truth, those of pure l1 1,000 times
BUNDLE_PAUSE = 2.0  # least passes between two bounds by tangents, each of which costs a part of one ...
HALVING = 3.0  # ... and the passes in which a gap may halve: far from the goal, they wait for so many
PAUSE = 0.05  # of the passes so far between two bounds, and twice that until an estimate is confirmed
LONG_STEP = 8.0  # passes: beside a step of Newton's method a bound costs little
LAST_GAIN = 20.0  # tolerances that such a step may gain and be the last
LONGEST = 0.25  # the longest such pause
NOISE = 1e-14  # relative: smaller decreases are rounding errors
FAR = 0.5  # a relative gap that says nothing: any objective is within 100% of zero
VANISHED = 1e-10  # an objective this much smaller than the first loss is zero: then the gap is relative to that


class Gap(NamedTuple):
    """How far the objective is above its optimum, relative to itself."""

    relative: float = math.inf
    is_bound: bool = False  # whether it is an upper bound; if not, an estimate

    def __str__(self) -> str:
        """Return the percentage that tables show."""
        if not self.relative < FAR:
            return "unknown"
        return f"{'' if self.is_bound else 'about '}{_percent(self.relative)}"


def describe(gap: float, is_bound: bool) -> str:
    """Return "within 0.003% of the optimum", or "about 0.003% above the optimum (estimate)"."""
    if not gap < FAR:
        return "how far from the optimum is not known"
    if is_bound:
        return f"within {_percent(gap)} of the optimum"
    return f"about {_percent(gap)} above the optimum (an estimate)"


def _percent(gap: float) -> str:
    percent = 100.0 * gap
    return f"{percent:.0f}%" if percent >= 1.0 else f"{max(percent, 1e-14):.1g}%"


class Stopping:
    """Follows training and tells its gap: ``look`` after every step, ``finish`` at the end."""

    def __init__(self, objective: Objective, tolerance: float, first_loss: float) -> None:
        self.objective, self.tolerance = objective, tolerance
        self.gap = Gap()
        self.lower = -math.inf  # the best lower bound of the optimum so far
        self._least_scale = VANISHED * abs(first_loss)
        self._passes: list[float] = []
        self._values: list[float] = []
        self._spent = 0.0  # passes that bounds have cost
        self._next = 0.0  # passes before which no further bound is computed ...
        self._wanted = math.inf  # ... and the estimate at which the last bound would have sufficed
        self._latest = math.inf  # passes at which it is computed even if the estimate is above that
        self._phase = 0
        self._partial = False  # whether the steps since the last look were on some of the weights
        self._agreed = False  # whether the last assessment let the estimate count
        self._products = 0  # the most that an assessment of this phase took
        self._next_bundle = 0.0  # passes before which tangents are not looked at again
        self._bundle_is_tight = False  # whether they last were about as near as they need be

    def remember(self, passes: Sequence[float], values: Sequence[float]) -> None:
        """Take note of earlier steps of the same training."""
        self._passes, self._values = list(passes), list(values)

    def look(self, state: State, warm: bool = False) -> Gap:
        """Return the gap after a step; ``warm``: before the first one, from weights that may be optimal already."""
        if not math.isfinite(state.violation) or not math.isfinite(state.value):
            self._partial = True
            return self.gap
        if state.phase != self._phase:
            self._phase, self._agreed, self._products = state.phase, False, 0
            self._next_bundle, self._bundle_is_tight = 0.0, False
            self._passes, self._values = [], []
        self._passes.append(state.passes)
        self._values.append(state.value)
        remaining = SAFETY * self._remaining()
        goal = self.tolerance * self._scale(state.value)
        self.gap = self._gap(state.value, remaining, False)
        if warm or state.violation == 0.0:
            self._assess(state.point(), goal, 0)
        elif self._bundle_suffices(state, goal):
            pass
        elif self._due(state.passes, remaining, goal) and self._estimate_counts(state, remaining, goal):
            return self.gap
        self._partial = False
        bound = self._gap(state.value, state.value - self.lower, True)
        if bound.relative <= self.tolerance:
            self.gap = bound
        elif self.gap.relative <= self.tolerance:  # an estimate that nothing has confirmed yet
            self.gap = Gap(min(bound.relative, math.nextafter(self.tolerance, 1.0)), False)
        return self.gap

    def _bundle_suffices(self, state: State, goal: float) -> bool:
        """Bound the optimum by tangents, if the solver has some; return whether that proves the gap, or soon will."""
        if state.passes >= self._next_bundle:
            lower = bundle_bound(self.objective, state)
            if lower is None:
                self._next_bundle = state.passes + max(LEAST_WINDOW, state.passes)
            else:
                self.lower = max(self.lower, lower)
                above = max(state.value - self.lower, 0.0)
                halvings = math.log2(1.0 + above / max(goal, 1e-300))
                self._next_bundle = state.passes + max(BUNDLE_PAUSE, HALVING * halvings)
                self._bundle_is_tight = above <= SAFETY * goal
        return self._bundle_is_tight

    def _estimate_counts(self, state: State, remaining: float, goal: float) -> bool:
        """Compute a bound; return whether it is so loose that the estimate, which it then sets, counts in its place."""
        decrease = self._assess(state.point(), goal, max(self._budget(state.passes), self._products))
        above = state.value - self.lower
        self._next = state.passes + max(PAUSE * state.passes, 2.0)
        self._wanted = math.inf if above <= goal else remaining * max(goal / above, 1.0 / LOOSE)
        self._latest = (1.0 + LONGEST) * state.passes
        remaining = max(remaining, SAFETY * decrease)
        # Between two looks at all weights a working set was solved: there one look is as good as two.
        before = self._agreed or (self._partial and decrease > 0.0)
        self._agreed = remaining <= goal and above > LOOSE * remaining
        if self._agreed:
            self._next, self._wanted = self._next + PAUSE * state.passes, math.inf
            self.gap = self._gap(state.value, remaining, False)
        return before and self._agreed

    def _due(self, passes: float, remaining: float, goal: float) -> bool:
        """Return whether a bound is worth its passes now: the estimate, or a step of many passes, promises it."""
        if remaining <= goal and passes >= self._next and (remaining <= self._wanted or passes >= self._latest):
            return self._agreed or 2 * self._budget(passes) >= self._products or passes >= self._latest
        if len(self._values) < 2 or self._passes[-1] - self._passes[-2] < LONG_STEP:
            return False
        return 0.0 < self._values[-2] - self._values[-1] <= LAST_GAIN * goal

    def _budget(self, passes: float) -> int:
        """Return how many products with the Hessian a bound may cost now."""
        return int(FIRST_PRODUCTS + SHARE * passes - self._spent)

    def finish(self, weights: FloatArray, value: float, at_limit: bool, state: State | None = None) -> Gap:
        """Return the gap of the weights that training ended with for another reason than its tolerance.

        at_limit : whether the solver found no lower value in floating point
        state : of the solver, if these weights are its last
        """
        remaining = SAFETY * self._remaining()
        if at_limit and not math.isfinite(remaining):  # it took too few passes to tell how it converges
            remaining = SAFETY * NOISE * abs(value)
        lower = None if state is None else bundle_bound(self.objective, state)
        if lower is not None and value - lower <= SAFETY * remaining:
            self.lower = max(self.lower, lower)
            self.gap = self._gap(value, value - self.lower, True)
            return self.gap
        decrease = self._assess(weights, self.tolerance * self._scale(value), FIRST_PRODUCTS)
        bound = value - self.lower
        estimate = max(remaining, SAFETY * decrease)
        loose = bound > LOOSE * estimate
        self.gap = self._gap(value, estimate if loose else bound, not loose and math.isfinite(bound))
        return self.gap

    def _scale(self, value: float) -> float:
        return max(abs(value), self._least_scale, 1e-300)

    def _gap(self, value: float, above: float, is_bound: bool) -> Gap:
        return Gap(max(above, 0.0) / self._scale(value), is_bound)

    def _assess(self, weights: FloatArray, enough: float, max_products: int) -> float:
        """Raise the lower bound; return the decrease that the quadratic model predicts."""
        found = assess(self.objective, weights, enough, min(max(max_products, 0), MAX_PRODUCTS))
        self.lower = max(self.lower, found.lower)
        self._spent += 1.0 + found.products
        self._products = max(self._products, found.products)
        return found.decrease

    def _remaining(self) -> float:
        """Return by how much the objective will still fall if it falls exponentially; inf while that is unknown."""
        elapsed = self._passes[-1] - self._passes[0] if self._passes else 0.0
        return max(self._extrapolated(max(LEAST_WINDOW, share * elapsed)) for share in WINDOWS)

    def _extrapolated(self, width: float) -> float:
        """Return the same from two windows of at least this many passes."""
        passes, values = self._passes, self._values
        if len(values) < 3:
            return math.inf
        second = bisect_right(passes, passes[-1] - width) - 1
        first = bisect_right(passes, passes[second] - width) - 1 if second >= 0 else -1
        if first < 0:
            return math.inf
        d1, w1 = values[first] - values[second], passes[second] - passes[first]
        d2, w2 = values[second] - values[-1], passes[-1] - passes[second]
        noise = NOISE * abs(values[-1])
        # What decreases below rounding errors may add up to, if they fall as 1 / passes:
        unseen = noise * (passes[-1] - passes[0]) / w2
        if d2 <= noise:
            return unseen
        if d1 / w1 <= d2 / w2:
            return math.inf
        rate = 2.0 * math.log((d1 / w1) / (d2 / w2)) / (w1 + w2)
        return max(d2 / float(np.expm1(min(rate * w2, 700.0))), unseen)
