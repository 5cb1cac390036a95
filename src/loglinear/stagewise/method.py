"""Boosting, FSLR, F-Boosting and BLasso on n-best lists (Gao, Suzuki and Yu 2006): each step changes the best weight.

They minimise the exponential loss L(w) = sum over pairs of exp(-margin). The base scores get their weights first and
keep them (base_scores.py); then, with f_k(d) = L(w + d e_k) - L(w), a step changes weight k by d:

    boosting     k = argmin_k min_d f_k(d)         (7)    d = shrinkage * argmin_d f_k(d) + smoothing L (e^d + e^-d)
    fslr         k = argmin_k min_d f_k(d)         (7)    d = step towards the optimum                            (11)
    f-boosting   k = argmin_k min f_k(+-step)     (12)    d = step towards the better side                        (13)
    blasso       the same; but first, if the lasso loss L + alpha |w|_1 falls by it, a step back towards zero     (14)

Where the paper is ambiguous or has a slip, the code does this:

- The reference is not a term of the loss (eq. 6 sums over it too, which adds a constant).
- Eq. 16, boosting's smoothed update, is exact for differences of +-1 only. It minimises f_k(d) + smoothing L (e^d +
  e^-d); a line search on this form, over the sums of each distinct difference, is exact for all values.
- Where the optimum of a forward step is nearer than ``step``, the step ends there; gains are divided by the length
  actually taken. Where not even the best +-step lowers the loss (eq. 12), the path ends.
- A backward step stops at zero. With steps of unequal length the best one has the least rise of the loss per unit of
  |w|: the lasso loss falls for some backward step if and only if that rate is below alpha, and the order is that of
  eq. 14 where lengths are equal. Forward steps set alpha = min(alpha, gain per unit).
- No step changes a weight or a margin by more than 10: this bounds steps towards an optimum at infinity (of features
  that only references have) and all steps on features with large values.
- Where weights can put every reference first, the loss falls to zero and they grow without end. A path ends where the
  loss is below ``separated`` per list and below the least weight of a pair: from there on all margins stay positive
  (native/lists/stagewise.hh), so that no further step changes a choice from the lists. For blasso, whose backward steps
  raise the loss, it is the lasso loss that must be so small.

The step rules are in native/lists/stagewise.hh, which finds each best step without visiting all features. Steps depend
on all earlier ones, so one thread makes them; all threads recompute the sums every 4,096 steps and where the loss has
fallen far, at the same steps whether or not a path was interrupted, so that a continued path has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.interrupts import CtrlC
from loglinear.stagewise.base_scores import base_margins, fit_base_weights
from loglinear.stagewise.path import StagewisePath
from loglinear.status import Status
from loglinear.threads import pool

_REPORT_EVERY = 256  # steps between two reports of progress
_ENDS = {"no descent": Status.NO_DESCENT, "patience": Status.PATIENCE, "separated": Status.SEPARATED}


@dataclass(frozen=True)
class Stagewise:
    """Settings of a stagewise method.

    method : "blasso", "f-boosting", "fslr" or "boosting"
    step : length of a step, epsilon of the first three methods
    threshold : theta of blasso: a backward step must lower the lasso loss by more than this
    smoothing, shrinkage : epsilon of eq. 16 and nu of eq. 9, of boosting
    max_iterations : maximum number of steps
    patience : number of steps without fewer held-out errors after which the path ends; None: never
    by_errors : whether a pair is weighted by how many more errors the candidate has than the reference
    separated : loss per list below which lists that are separated end the path; 0: never
    """

    method: str = "blasso"
    step: float = 0.5
    threshold: float = 0.0
    smoothing: float = 1e-3
    shrinkage: float = 1.0
    max_iterations: int = 20_000
    patience: int | None = None
    by_errors: bool = False
    n_threads: int | None = None
    separated: float = 1e-6

    METHODS: ClassVar[tuple[str, ...]] = ("blasso", "f-boosting", "fslr", "boosting")

    def __post_init__(self) -> None:
        if self.method not in self.METHODS:
            raise ValueError(f"method must be one of {', '.join(self.METHODS)}, not {self.method!r}")
        if not (math.isfinite(self.step) and self.step > 0):
            raise ValueError(f"step must be positive and finite, not {self.step!r}")
        if not self.threshold >= 0:
            raise ValueError(f"threshold must not be negative, not {self.threshold!r}")
        if not (math.isfinite(self.smoothing) and self.smoothing >= 0):
            raise ValueError(f"smoothing must be finite and not negative, not {self.smoothing!r}")
        if not 0 < self.shrinkage <= 1:
            raise ValueError(f"shrinkage must be above 0 and at most 1, not {self.shrinkage!r}")
        if not self.separated >= 0:
            raise ValueError(f"separated must not be negative, not {self.separated!r}")
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations must not be negative, not {self.max_iterations!r}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1, not {self.patience!r}")

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the steps of this method."""
        own = {
            "boosting": ("smoothing", "shrinkage"),
            "blasso": ("step", "threshold"),
        }.get(self.method, ("step",))
        return {name: getattr(self, name) for name in ("method", "by_errors", *own)}

    def follow(
        self,
        data: CandidateLists,
        dev: CandidateLists | None = None,
        *,
        path: StagewisePath | None = None,
        base: FloatArray | None = None,
        report: Callable[[int, float, float], object] | None = None,
    ) -> StagewisePath:
        """Return the path on these lists, with the errors on ``dev`` at each of its points.

        Ctrl-C ends the path between two steps.

        path : path of the same method and lists to continue; None: a new path
        base : weights of base scores; None: fitted
        report : called now and then with the number of steps so far, the loss and the held-out errors (NaN: none)
        """
        if dev is not None:
            data.check_same_space(dev, "the held-out lists")
        fingerprint = data.fingerprint()
        if path is not None:
            path.check_continues(self.settings(), fingerprint)
            base = path.base
        elif base is None:
            base = fit_base_weights(data, by_errors=self.by_errors, n_threads=self.n_threads)
        base = np.ascontiguousarray(base, dtype=np.float64)
        if not np.isfinite(base).all():
            raise ValueError("weights of base scores must be finite")
        if path is not None and (path.dev_errors is None) != (dev is None):
            path = self._with_dev(path, dev)
        native = _Native(self, data, dev, base)
        record = _Record.after(path, native, dev is not None)
        stopped = Status.MAX_STEPS
        with CtrlC() as ctrl_c:
            while record.n < self.max_iterations:
                if ctrl_c.pressed:
                    stopped = Status.INTERRUPTED
                    break
                n, end = native.run(record, min(_REPORT_EVERY, self.max_iterations - record.n), self.patience)
                record.n += n
                if report is not None:
                    errors = float(record.dev_errors[record.n]) if dev is not None else math.nan
                    report(record.n, float(record.loss[record.n]), errors)
                if end != "steps":
                    stopped = _ENDS[end]
                    break
        return record.path(self.settings(), fingerprint, base, data.n_features, stopped, native.state.fresh_at)

    def _with_dev(self, path: StagewisePath, dev: CandidateLists | None) -> StagewisePath:
        """Return the path with the errors on other held-out lists than those it was made with."""
        if dev is None:
            return replace(path, dev_errors=None)
        return replace(path, dev_errors=errors_along(path, dev, n_threads=self.n_threads))


def errors_along(path: StagewisePath, lists: CandidateLists, *, n_threads: int | None = None) -> FloatArray:
    """Return the errors of the candidates chosen from these lists, at every point of a path: [n_steps + 1]."""
    if (lists.n_base, lists.n_features) != (path.base.size, path.n_features):
        raise ValueError("the lists have other base scores or features than the path; encode them with its features")
    followed = _core.FollowedLists(list_arrays(lists, path.base))
    out = np.empty(path.n_steps + 1)
    followed.follow(pool(n_threads), np.zeros(path.n_features), path.feature, path.change, out)
    return out


def list_arrays(lists: CandidateLists, base: FloatArray) -> _core.ListArrays:
    """Return encoded lists as native code takes them."""
    return _core.ListArrays(
        lists.rows.native, lists.columns.native, base_margins(lists, base), lists.list_ptr, lists.place,
        lists.reference, lists.errors, lists.reference_errors,
    )  # fmt: skip


class _Native:
    """The native state of a method on some lists."""

    def __init__(self, method: Stagewise, data: CandidateLists, dev: CandidateLists | None, base: FloatArray) -> None:
        self.pool = pool(method.n_threads)
        self.state = _core.Stagewise(
            self.pool, data.rows.native, data.columns.native, base_margins(data, base),
            data.errors if method.by_errors else None, method.method, method.step, method.threshold,
            method.smoothing, method.shrinkage, _separated_loss(method, data),
        )  # fmt: skip
        self.has_dev = dev is not None
        if dev is not None:
            self.state.hold_out(list_arrays(dev, base))

    def go_to(self, path: StagewisePath | None, n_features: int) -> None:
        """Restore the state after the last step of a path by replaying steps since the sums were last recomputed."""
        if path is None:
            self.state.start(self.pool, np.zeros(n_features), 0, np.nan, np.inf, 0)
            return
        from_ = path.fresh_at
        fewest, at = (np.inf, 0) if path.dev_errors is None else (path.dev_errors[path.best], path.best)
        self.state.start(self.pool, path.features_at(from_), from_, path.alpha[-1], fewest, at)
        self.state.replay(self.pool, path.feature[from_:], path.change[from_:])

    def run(self, record: _Record, n_steps: int, patience: int | None) -> tuple[int, str]:
        record.reserve(record.n + n_steps)
        steps, points = slice(record.n, record.n + n_steps), slice(record.n + 1, record.n + n_steps + 1)
        return self.state.run(
            self.pool, patience or 0, record.feature[steps], record.change[steps], record.loss[points],
            record.l1[points], record.alpha[points], record.backward[steps], record.n_nonzeros[points],
            record.dev_errors[points] if self.has_dev else np.empty(0),
        )  # fmt: skip


def _separated_loss(method: Stagewise, data: CandidateLists) -> float:
    """Return the loss below which the references stay first; 0 where there is nothing to separate."""
    weights = data.errors[data.errors > 0] if method.by_errors else np.ones(data.n_pairs)
    return min(method.separated * data.n_lists, float(weights.min())) if weights.size else 0.0


class _Record:
    """Growing arrays of a path."""

    def __init__(self, has_dev: bool) -> None:
        self.n, self.has_dev = 0, has_dev
        self.feature = np.empty(0, dtype=np.int32)
        self.change = np.empty(0)
        self.backward = np.empty(0, dtype=np.uint8)
        self.loss, self.l1, self.alpha, self.dev_errors = (np.empty(1) for _ in range(4))
        self.n_nonzeros = np.empty(1, dtype=np.int64)

    @classmethod
    def after(cls, path: StagewisePath | None, native: _Native, has_dev: bool) -> _Record:
        """Return the record of a path so far, and restore the native state at its end."""
        record = cls(has_dev)
        if path is None:
            native.go_to(None, native.state.n_features)
            record.loss[0], record.l1[0], record.alpha[0] = native.state.loss, 0.0, np.nan
            record.n_nonzeros[0] = 0
            record.dev_errors[0] = native.state.held_out_errors
            return record
        native.go_to(path, path.n_features)
        record.n = path.n_steps
        record.feature, record.change = path.feature.copy(), path.change.copy()
        record.backward = path.backward.astype(np.uint8)
        record.loss, record.l1, record.alpha = path.loss.copy(), path.l1.copy(), path.alpha.copy()
        record.n_nonzeros = path.n_nonzeros.copy()
        record.dev_errors = np.empty(path.n_steps + 1) if path.dev_errors is None else path.dev_errors.copy()
        return record

    def reserve(self, n_steps: int) -> None:
        if n_steps <= self.feature.size:
            return
        size = max(n_steps, 2 * self.feature.size)
        for name in ("feature", "change", "backward"):
            setattr(self, name, _grown(getattr(self, name), size))
        for name in ("loss", "l1", "alpha", "n_nonzeros", "dev_errors"):
            setattr(self, name, _grown(getattr(self, name), size + 1))

    def path(
        self, settings: dict[str, Any], lists: str, base: FloatArray, n_features: int, stopped: Status, fresh_at: int
    ) -> StagewisePath:
        n = self.n
        return StagewisePath(
            settings=settings, lists=lists, base=base, n_features=n_features, feature=self.feature[:n].copy(),
            change=self.change[:n].copy(), backward=self.backward[:n].astype(bool), loss=self.loss[: n + 1].copy(),
            l1=self.l1[: n + 1].copy(), n_nonzeros=self.n_nonzeros[: n + 1].copy(), alpha=self.alpha[: n + 1].copy(),
            dev_errors=self.dev_errors[: n + 1].copy() if self.has_dev else None, stopped=stopped, fresh_at=fresh_at,
        )


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    out = np.empty(size, dtype=array.dtype)
    out[: array.size] = array
    return out
