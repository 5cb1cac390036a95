"""Stagewise paths against brute force: every step of every method is the best of all features."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from candidate_problems import dense_differences, random_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from loglinear.data.matrix import SparseRows
from loglinear.errors import IncompatibleError
from loglinear.losses.candidate_lists import ExponentialMarginLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import L1
from loglinear.solvers import Owlqn
from loglinear.stagewise import Stagewise, errors_along, fit_base_weights
from loglinear.status import Status

FARTHEST = 10.0  # no weight or margin changes by more in one step


def with_values(data, seed, kind):
    """The same lists with features of other values."""
    rng = np.random.default_rng(seed)
    values = data.rows.values.copy()
    if kind == "real":
        values = rng.normal(size=values.size)
    elif kind == "counts":
        values = rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0, 5.0], size=values.size)
    elif kind == "large":
        values = rng.normal(size=values.size) * 10.0 ** rng.integers(-3, 4, size=values.size)
    return replace(data, rows=SparseRows(data.rows.indptr, data.rows.indices, values, data.n_features))


# ---- the methods, the slow way ---------------------------------------------------------------------------------------
class Brute:
    """Losses of all single steps from margins, with nothing kept from step to step."""

    def __init__(self, data, method, base):
        X = dense_differences(data)
        self.X, self.offset = X[:, data.n_base :], X[:, : data.n_base] @ base
        self.c = data.errors if method.by_errors else np.ones(data.n_pairs)
        self.method = method

    def at(self, w):
        self.q = self.c * np.exp(-(self.offset + self.X @ w))
        self.loss = self.q.sum()
        return self

    def change(self, k, delta):
        return float(self.q @ np.expm1(-delta * self.X[:, k]))

    def optimum(self, k, floor=0.0):
        x = self.X[:, k]

        def slope(d):
            return float(-(self.q * x) @ np.exp(-d * x)) + floor * (np.exp(d) - np.exp(-d))

        far = self.farthest(k)
        if slope(0.0) == 0.0:
            return 0.0
        low, high = (0.0, far) if slope(0.0) < 0 else (-far, 0.0)
        if slope(high) < 0:
            return far
        if slope(low) > 0:
            return -far
        return brentq(slope, low, high, xtol=1e-14, rtol=1e-14)

    def farthest(self, k):
        return FARTHEST / max(np.abs(self.X[:, k]).max(), 1.0)

    def step(self, k):
        return min(self.method.step, self.farthest(k))

    def forward(self):
        """(loss change that ranks each feature, step that each would take)."""
        m, n = self.method, self.X.shape[1]
        if m.method in ("boosting", "fslr"):
            best = [self.optimum(k) for k in range(n)]
            rank = [self.change(k, d) for k, d in enumerate(best)]
            if m.method == "fslr":
                return rank, [np.sign(d) * min(self.step(k), abs(d)) for k, d in enumerate(best)]
            return rank, [m.shrinkage * self.optimum(k, m.smoothing * self.loss) for k in range(n)]
        both = [(self.change(k, self.step(k)), self.change(k, -self.step(k))) for k in range(n)]
        sides = [self.step(k) if up <= down else -self.step(k) for k, (up, down) in enumerate(both)]
        best = [self.optimum(k) for k in range(n)]
        steps = [d if d * s > 0 and abs(d) < abs(s) else s for d, s in zip(best, sides, strict=True)]
        return [min(pair) for pair in both], steps

    def backward(self, w):
        """(rise of the loss per unit, step) of every weight that is not zero."""
        steps = {k: -np.sign(w[k]) * min(self.step(k), abs(w[k])) for k in np.flatnonzero(w)}
        return {k: (self.change(k, s) / abs(s), s) for k, s in steps.items()}


def check_path(data, path, method, every=1):
    """Each step is the best there is."""
    brute, w, alpha = Brute(data, method, path.base), np.zeros(path.n_features), np.nan
    for t in range(path.n_steps):
        k, d = path.feature[t], path.change[t]
        if t % every == 0:
            brute.at(w)
            scale = brute.loss
            assert path.loss[t] == pytest.approx(brute.loss, rel=1e-10)
            assert path.l1[t] == pytest.approx(np.abs(w).sum(), rel=1e-10, abs=1e-12)
            assert path.n_nonzeros[t] == np.count_nonzero(w)
            back = brute.backward(w) if method.method == "blasso" and t else {}
            falls = {j: (alpha - rise) * abs(s) for j, (rise, s) in back.items()}
            if path.backward[t]:
                assert falls[k] > method.threshold - 1e-9 * scale
                assert back[k][0] <= min(rise for rise, _ in back.values()) + 1e-9 * scale
                assert d == pytest.approx(back[k][1], rel=1e-12)
            else:
                best = min(back, key=lambda j: back[j][0], default=None)
                assert best is None or falls[best] <= method.threshold + 1e-9 * scale
                rank, steps = brute.forward()
                assert rank[k] <= min(rank) + 1e-9 * scale
                assert d == pytest.approx(steps[k], rel=1e-6, abs=1e-7)
                rate = -brute.change(k, d) / abs(d)
                if method.method == "blasso":
                    expected = rate if np.isnan(alpha) else min(alpha, rate)
                    assert path.alpha[t + 1] == pytest.approx(expected, rel=1e-6)
        alpha = path.alpha[t + 1]
        w[k] += d
    return w


METHODS = [
    Stagewise("blasso", step=0.5),
    Stagewise("blasso", step=0.05),
    Stagewise("blasso", step=0.3, threshold=0.5),
    Stagewise("f-boosting", step=0.5),
    Stagewise("fslr", step=0.2),
    Stagewise("boosting", smoothing=1e-3),
    Stagewise("boosting", smoothing=1e-2, shrinkage=0.3),
    Stagewise("blasso", step=0.2, by_errors=True),
    Stagewise("boosting", by_errors=True),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.method}-{m.step}-{m.shrinkage}-{m.by_errors}")
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["grams", "counts", "real", "large"]))
@settings(max_examples=12, deadline=None)
def test_every_step_is_the_best_of_all(method, seed, kind):
    data = with_values(random_data(12, seed=seed), seed, kind)
    path = replace(method, max_iterations=40).follow(data)
    check_path(data, path, method)


@pytest.mark.parametrize("name", Stagewise.METHODS)
def test_a_long_path_stays_exact(name):
    """Sums that are kept current for thousands of steps and made anew choose what brute force chooses."""
    data = random_data(60, seed=3)
    method = Stagewise(name, step=0.05, smoothing=1e-3, shrinkage=0.2, max_iterations=5000)
    path = method.follow(data)
    assert path.n_steps == 5000
    w = check_path(data, path, method, every=197)
    np.testing.assert_array_equal(path.weights(path.n_steps)[data.n_base :], w)


@pytest.mark.parametrize("name", Stagewise.METHODS)
def test_equal_features_are_one_and_the_first_is_taken(name):
    data = random_data(20, seed=5)
    twice = SparseRows.from_scipy(_scipy(data)[:, np.repeat(np.arange(data.n_features), 2)])
    doubled = replace(data, rows=twice, space="doubled")
    path = Stagewise(name, step=0.2, max_iterations=200).follow(doubled)
    assert not np.any(path.feature % 2)
    once = Stagewise(name, step=0.2, max_iterations=200).follow(data)
    np.testing.assert_array_equal(path.feature // 2, once.feature)


def _scipy(data):
    from scipy import sparse

    rows = data.rows
    return sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=(data.n_pairs, data.n_features))


# ---- the path --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", Stagewise.METHODS)
@pytest.mark.parametrize("at", [0, 1, 700, 4096, 4500])
def test_resuming_gives_the_same_path(name, at):
    method = Stagewise(name, step=0.1, shrinkage=0.02, max_iterations=4700, separated=0.0)
    data, dev = random_data(40, seed=7), random_data(40, seed=7).take(np.arange(15))
    whole = method.follow(data, dev)
    part = replace(method, max_iterations=at).follow(data, dev)
    assert part.n_steps == at
    again = method.follow(data, dev, path=part)
    for field in ("feature", "change", "backward", "loss", "l1", "alpha", "n_nonzeros", "dev_errors"):
        np.testing.assert_array_equal(getattr(again, field), getattr(whole, field), err_msg=field)


@pytest.mark.parametrize("name", Stagewise.METHODS)
def test_threads_do_not_change_a_bit(name):
    data = random_data(200, seed=8)
    paths = [Stagewise(name, step=0.1, max_iterations=4500, n_threads=n).follow(data) for n in (1, 2, 3)]
    for path in paths[1:]:
        np.testing.assert_array_equal(path.feature, paths[0].feature)
        np.testing.assert_array_equal(path.loss, paths[0].loss)


def test_held_out_errors_are_those_of_the_weights():
    data = random_data(80, seed=9)
    train, dev = data.take(np.arange(50)), data.take(np.arange(50, 80))
    path = Stagewise(step=0.2, max_iterations=300).follow(train, dev)
    for t in range(0, 301, 13):
        assert path.dev_errors[t] == dev.chosen_errors(path.weights(t)).sum()
    assert path.best == int(np.argmin(path.dev_errors))
    np.testing.assert_array_equal(errors_along(path, dev), path.dev_errors)
    blind = Stagewise(step=0.2, max_iterations=100).follow(train)
    assert blind.dev_errors is None
    assert blind.best == 100
    seeing = Stagewise(step=0.2, max_iterations=300).follow(train, dev, path=blind)
    np.testing.assert_array_equal(seeing.dev_errors, path.dev_errors)


def test_patience_ends_a_path_and_leaves_its_steps_as_they_are():
    data = random_data(80, seed=9)
    train, dev = data.take(np.arange(50)), data.take(np.arange(50, 80))
    whole = Stagewise(step=0.2, max_iterations=2000).follow(train, dev)
    path = Stagewise(step=0.2, max_iterations=2000, patience=60).follow(train, dev)
    assert path.n_steps < 2000
    assert path.stopped == "held-out errors fell no more"
    assert path.n_steps - path.best == 60
    np.testing.assert_array_equal(path.dev_errors, whole.dev_errors[: path.n_steps + 1])


def separable(n_lists=30, seed=2):
    """Lists whose references alone have their last feature."""
    data = random_data(n_lists, seed=seed)
    mark = np.zeros((data.n_pairs, 1))
    mark[:, 0] = 1.0
    from scipy import sparse

    return replace(data, rows=SparseRows.from_scipy(sparse.hstack([_scipy(data), mark], format="csr")), space="marked")


@pytest.mark.parametrize("by_errors", [False, True])
@pytest.mark.parametrize("name", Stagewise.METHODS)
def test_a_path_ends_where_the_lists_are_separated_for_good(name, by_errors):
    data = separable()
    oracle = float(data.reference_errors.sum())
    method = Stagewise(name, step=0.5, by_errors=by_errors)
    path = method.follow(data)
    assert path.stopped == Status.SEPARATED
    assert path.n_steps < 200
    assert path.loss[-1] < 1e-6 * data.n_lists
    assert np.abs(path.weights()).max() < 50
    assert data.chosen_errors(path.weights(path.n_steps)).sum() == oracle
    # Further steps change no choice, and the steps so far are those of a path that goes on.
    further = replace(method, separated=0.0, max_iterations=path.n_steps + 300).follow(data)
    np.testing.assert_array_equal(further.feature[: path.n_steps], path.feature)
    np.testing.assert_array_equal(errors_along(further, data)[path.n_steps :], oracle)
    # A path that is continued stays where it ended.
    again = method.follow(data, path=path)
    assert (again.n_steps, again.stopped) == (path.n_steps, Status.SEPARATED)


@pytest.mark.parametrize("name", Stagewise.METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_once_below_the_bound_the_references_stay_first(name, seed):
    """The rule of the native code, with the loosest bound that it allows: the least weight of a pair."""
    data = separable(12, seed)
    method = Stagewise(name, step=0.05, shrinkage=0.1, separated=1.0)
    path = method.follow(data)
    assert path.stopped == Status.SEPARATED
    bound = path.loss + (np.nan_to_num(path.alpha) * path.l1 if name == "blasso" else 0.0)
    assert np.all(bound[:-1] >= 1.0)
    assert bound[-1] < 1.0
    further = replace(method, separated=0.0, max_iterations=path.n_steps + 500).follow(data)
    for t in range(path.n_steps, further.n_steps, 17):
        assert data.margins(further.weights(t)).min() > 0


def test_lists_that_cannot_be_separated_end_no_path():
    data = random_data(60, seed=3)
    for name in Stagewise.METHODS:
        method = Stagewise(name, max_iterations=500)
        path, plain = method.follow(data), replace(method, separated=0.0).follow(data)
        assert path.stopped == plain.stopped != Status.SEPARATED
        np.testing.assert_array_equal(path.change, plain.change)


def test_ctrl_c_keeps_the_path_so_far():
    data = random_data(60, seed=1)
    whole = Stagewise(step=0.01, max_iterations=5000).follow(data)
    path = Stagewise(step=0.01, max_iterations=5000).follow(
        data, report=lambda n, *_: os.kill(os.getpid(), signal.SIGINT) if n == 512 else None
    )
    assert path.stopped == "interrupted"
    assert path.n_steps == 512
    np.testing.assert_array_equal(path.loss, whole.loss[:513])


def test_a_path_goes_on_only_as_it_began():
    data, other = random_data(30, seed=1), random_data(30, seed=2)
    path = Stagewise(step=0.1, max_iterations=10).follow(data)
    with pytest.raises(IncompatibleError, match=r"step was 0\.1, not 0\.2"):
        Stagewise(step=0.2).follow(data, path=path)
    with pytest.raises(IncompatibleError, match="other lists"):
        Stagewise(step=0.1).follow(other, path=path)
    with pytest.raises(IncompatibleError, match="held-out lists"):
        Stagewise(step=0.1).follow(data, other)


def test_points_of_a_path():
    path = Stagewise(step=0.1, max_iterations=200).follow(random_data(30, seed=1))
    at = path.point(l1=3.0)
    assert path.l1[at] >= 3.0 > path.l1[at - 1]
    at = path.point(loss=path.loss[50])
    assert path.loss[at] <= path.loss[50] < path.loss[at - 1]
    assert path.point(l1=1e9) == 200
    with pytest.raises(IndexError, match="0 to 200"):
        path.weights(201)
    with pytest.raises(ValueError, match="an L1 norm or a loss"):
        path.point()


# ---- what it converges to --------------------------------------------------------------------------------------------
def lasso_problem():
    """Lists that no weights separate, without base scores."""
    return random_data(150, seed=11, scores=(), words=(1,))


@pytest.mark.parametrize("strength", [10.0, 3.0, 1.0])
def test_shrinking_steps_approach_the_lasso(strength):
    """At the L1 norm of the lasso's optimum BLasso's loss is that of the optimum, the closer the smaller the step."""
    data = lasso_problem()
    loss = ExponentialMarginLoss(data)
    optimum = minimise(Objective(loss, L1(strength)), Owlqn(), violation_tolerance=1e-9, max_iterations=2000)
    assert optimum.converged
    norm = np.abs(optimum.weights).sum()
    at_optimum = loss.value_and_gradient(optimum.weights, np.empty(data.n_weights))
    gaps, distances = [], []
    for step in (0.2, 0.02, 0.002):
        path = Stagewise(step=step, max_iterations=200_000).follow(data)
        weights = at_norm(path, norm)
        gaps.append((loss.value_and_gradient(weights, np.empty(data.n_weights)) - at_optimum) / at_optimum)
        distances.append(np.abs(weights - optimum.weights).max())
    assert min(gaps) > -1e-9  # nothing of that norm is better
    assert gaps[1] < gaps[0] / 5
    assert gaps[2] < gaps[1] / 5
    assert gaps[2] < 1e-5
    assert distances[2] < 0.01
    assert distances[2] < distances[0]


def at_norm(path, norm):
    """Weights of this L1 norm, between two points of the path."""
    at = path.point(l1=norm)
    before, after = path.weights(at - 1), path.weights(at)
    part = (norm - np.abs(before).sum()) / (np.abs(after).sum() - np.abs(before).sum())
    return before + part * (after - before)


def test_backward_steps_keep_the_norm_below_that_of_f_boosting():
    """Features that overlap are chosen first and given up later, if they can be."""
    data = random_data(150, seed=11, scores=(), skips=2)
    blasso = Stagewise("blasso", step=0.05, max_iterations=3000).follow(data)
    without = Stagewise("f-boosting", step=0.05, max_iterations=3000).follow(data)
    assert blasso.backward.sum() > 50
    assert not without.backward.any()
    for loss in np.quantile(without.loss, [0.02, 0.05, 0.1]):
        assert blasso.l1[blasso.point(loss=loss)] < without.l1[without.point(loss=loss)]


def test_without_backward_steps_blasso_is_f_boosting():
    data = random_data(60, seed=4)
    a = Stagewise("blasso", step=0.1, threshold=np.inf, max_iterations=500).follow(data)
    b = Stagewise("f-boosting", step=0.1, max_iterations=500).follow(data)
    np.testing.assert_array_equal(a.change, b.change)
    np.testing.assert_array_equal(a.feature, b.feature)


def test_the_update_of_equation_16():
    """Of differences +-1, boosting's first step is 1/2 log((C+ + eZ) / (C- + eZ))."""
    data = random_data(50, seed=6)
    path = Stagewise("boosting", smoothing=0.01, max_iterations=1).follow(data)
    column = dense_differences(data)[:, data.n_base + path.feature[0]]
    assert set(np.unique(column)) <= {-1.0, 0.0, 1.0}
    q = np.exp(-(data.base @ path.base))
    up, down, z = q[column == 1].sum(), q[column == -1].sum(), q.sum()
    assert path.change[0] == pytest.approx(0.5 * np.log((up + 0.01 * z) / (down + 0.01 * z)), rel=1e-12)


def test_base_scores_are_fitted_first_and_stay():
    data = random_data(80, seed=2, scores=("am", "lm"))
    loss = ExponentialMarginLoss(data)
    base = fit_base_weights(data)
    gradient = np.empty(data.n_weights)
    loss.value_and_gradient(np.concatenate([base, np.zeros(data.n_features)]), gradient)
    assert np.abs(gradient[:2]).max() < 1e-6
    path = Stagewise(max_iterations=30).follow(data)
    np.testing.assert_array_equal(path.weights(30)[:2], base)
    given = Stagewise(max_iterations=30).follow(data, base=np.asarray([0.5, 0.25]))
    np.testing.assert_array_equal(given.base, [0.5, 0.25])
    scaled = replace(data, base=data.base * [1e6, 1e-6])
    np.testing.assert_allclose(fit_base_weights(scaled) * [1e6, 1e-6], base, rtol=1e-6)


# ---- bad input -------------------------------------------------------------------------------------------------------
def test_paths_of_nothing():
    empty = random_data(0)
    path = Stagewise().follow(empty)
    assert path.n_steps == 0
    assert path.stopped == "no step lowers the loss"
    no_pairs = random_data(30, seed=1).take(np.asarray([], dtype=np.intp))
    assert Stagewise().follow(no_pairs).n_steps == 0


@pytest.mark.parametrize("name", Stagewise.METHODS)
def test_large_values_take_small_steps(name):
    data = random_data(20, seed=3)
    large = replace(data, rows=SparseRows(data.rows.indptr, data.rows.indices, data.rows.values * 1e4, data.n_features))
    method = Stagewise(name, max_iterations=60)
    path = method.follow(large)
    assert np.isfinite(path.loss).all()
    assert path.loss[-1] < path.loss[0]
    check_path(large, path, method)


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"method": "adaboost"}, "one of blasso, f-boosting, fslr, boosting"),
        ({"step": 0.0}, "step must be positive"),
        ({"step": np.nan}, "step must be positive"),
        ({"threshold": -1.0}, "threshold must not be negative"),
        ({"smoothing": -1.0}, "smoothing must be finite"),
        ({"shrinkage": 1.5}, "shrinkage must be above 0"),
        ({"max_iterations": -1}, "max_iterations must not be negative"),
        ({"patience": 0}, "patience must be at least 1"),
    ],
)
def test_settings_that_make_no_sense(settings_, words):
    with pytest.raises(ValueError, match=words):
        Stagewise(**settings_)


def test_weights_of_base_scores_that_overflow_are_refused():
    data = random_data(30, seed=1)
    with pytest.raises(ValueError, match="overflows"):
        Stagewise().follow(data, base=np.asarray([-1e6]))
    with pytest.raises(ValueError, match="must be finite"):
        Stagewise().follow(data, base=np.asarray([np.nan]))
    with pytest.raises(ValueError, match="2 weights for 1 base scores"):
        Stagewise().follow(data, base=np.zeros(2))
