"""The search for a few settings: against closed forms and grids, its record, its limits, its refusals."""

import numpy as np
import pytest

from loglinear.optimise.objective import Objective
from loglinear.optimise.tuning_by_search import Budget, Setting, tune_path
from loglinear.penalties import ElasticNet, SeparablePenalty
from loglinear.status import Status

RNG = np.random.default_rng(0)
SCALE = np.exp(RNG.normal(0, 1, 60))
TRUTH = RNG.normal(0, 1, 60) * (RNG.random(60) < 0.6)
SEEN, HELD = (TRUTH + RNG.normal(0, 0.7, 60) for _ in range(2))


class Squares:
    """sum of scale (w - a)^2 / 2."""

    n_weights = 60

    def value_and_gradient(self, w, out):
        np.multiply(SCALE, w - SEEN, out=out)
        return 0.5 * float(out @ (w - SEEN))


def validation(w):
    return 0.5 * float(SCALE @ (w - HELD) ** 2)


def objective_at(values):
    return Objective(Squares(), SeparablePenalty(*values))


def exact(l1, l2):
    """The optimum, weight by weight."""
    return np.sign(SEEN) * np.maximum(SCALE * np.abs(SEEN) - l1, 0) / (SCALE + l2)


PRECISE = Budget(gain=1e-13, passes=4000, first_passes=4000, trials=60)


def tuned(settings, **options):
    return tune_path(objective_at, validation, settings, budget=PRECISE, solver="fista", **options)


@pytest.mark.parametrize("begin", [(0.3, 0.3), (5.0, 0.01), (0.01, 8.0)])
def test_the_best_of_two_settings_is_found(begin):
    found = tuned([Setting("l1", begin[0]), Setting("l2", begin[1])], tolerance=1e-6)
    grid = [validation(exact(a, b)) for a in np.geomspace(1e-3, 10, 80) for b in np.geomspace(1e-3, 10, 80)]
    assert found.best.validation <= min(grid) * 1.01
    np.testing.assert_allclose(found.weights, exact(*found.best.strengths), atol=1e-4)
    assert found.status.startswith("converged")
    assert found.best is [t for t in found.history if t.accepted][-1]
    assert (found.penalty.l1, found.penalty.l2) == tuple(found.best.strengths)


def test_what_has_no_step_stays():
    found = tuned([Setting("l1", 0.2), Setting("l2", 0.0, step=0.0)])
    assert all(trial.strengths[1] == 0 for trial in found.history)
    one_by_one = [validation(exact(a, 0.0)) for a in np.geomspace(1e-3, 10, 400)]
    assert found.best.validation <= min(one_by_one) * 1.003


def test_bounds_are_kept():
    found = tuned([Setting("l1", 0.05, bounds=(0.04, 0.06)), Setting("l2", 0.1, bounds=(0.05, 0.2))])
    for trial in found.history:
        np.testing.assert_array_less([0.0399, 0.0499], trial.strengths)
        np.testing.assert_array_less(trial.strengths, [0.0601, 0.2001])


def test_trials_are_limited_and_a_callback_stops():
    few = tune_path(objective_at, validation, [Setting("l1", 4.0), Setting("l2", 4.0)], budget=Budget(trials=3))
    assert len(few.history) == 3
    assert few.status == Status.MAX_TRIALS
    seen = []
    both = [Setting("l1", 4.0), Setting("l2", 4.0)]
    stopped = tuned(both, callback=lambda trial: seen.append(trial) or len(seen) == 2)
    assert stopped.status == "stopped by the callback"
    assert len(seen) == len(stopped.history) == 2


def test_an_interruption_keeps_the_best_so_far():
    calls = []

    def interrupted(w):
        calls.append(w)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return validation(w)

    found = tune_path(objective_at, interrupted, [Setting("l1", 4.0), Setting("l2", 4.0)])
    assert found.status == "interrupted"
    assert len(found.history) == 3
    assert found.best.validation == min(t.validation for t in found.history)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="nothing to tune"):
        tuned([Setting("l1", 1.0, step=0.0)])
    with pytest.raises(ValueError, match="l2 is 0"):
        tuned([Setting("l1", 1.0), Setting("l2", 0.0)])
    with pytest.raises(ValueError, match="tolerance"):
        tuned([Setting("l1", 1.0)], tolerance=-1.0)
    with pytest.raises(ValueError, match="not finite"):
        tune_path(objective_at, lambda w: np.inf, [Setting("l1", 1.0), Setting("l2", 1.0)])


def test_penalties_need_not_be_separable_ones_by_class():
    def at(values):
        return Objective(Squares(), ElasticNet(values[0], l1_ratio=0.5))

    found = tune_path(at, validation, [Setting("strength", 1.0)])
    assert found.penalty.l1 == pytest.approx(0.5 * found.best.strengths[0])
