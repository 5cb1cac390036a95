"""Improved iterative scaling (IIS), under a ridge or no penalty: a baseline, slower than the gradient solvers.

    sum_m E_m[f_j] exp(m delta_j)  =  count_j - b_j (w_j + delta_j)

E_m[f_j] is how often feature j is expected in events with m active features in all. Where events differ in m the steps
are longer than those of GIS, and as safe (Della Pietra, Della Pietra and Lafferty 1997; with a Gaussian prior, Chen and
Rosenfeld 1999). Everything but the expectations is inherited from gis.py: with more than one m, ``Gis.step`` solves the
equation above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.protocols import Expectations, SplitExpectations
from loglinear.solvers.baselines.gis import Gis


@dataclass(frozen=True)
class Iis(Gis):
    """Improved iterative scaling: each event counts the features it has."""

    name: ClassVar[str] = "iis"
    loss_powers: ClassVar[tuple[type, ...]] = (SplitExpectations,)

    def _totals(self, loss: Expectations) -> FloatArray:
        return np.arange(1.0, loss.features_per_event + 1)

    def _evaluate(self, loss: Expectations, w: FloatArray, out: FloatArray) -> float:
        return cast(SplitExpectations, loss).expectations_by_total(w, out)
