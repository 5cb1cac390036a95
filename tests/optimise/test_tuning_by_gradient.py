"""Strengths by a validation loss: derivatives against differences, and what the search finds."""

import numpy as np
import pytest
from ngrams import reference_trie
from problems import dense_data, text_matrix

from loglinear import penalties, solvers
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.data.sentences import Sentences
from loglinear.errors import IncompatibleError
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.optimise.tuning_by_gradient import Budget, tune_strengths

TIGHT = Budget(gain=1e-16, passes=20_000, first_passes=20_000, residual=1e-11, products=2000)


def text_losses(n_classes=4):
    """(training, validation): halves of the texts."""
    X, y = text_matrix(n_classes)
    order = np.random.default_rng(0).permutation(y.size)
    halves = np.sort(order[: y.size // 2]), np.sort(order[y.size // 2 :])
    return [MultinomialLoss(MulticlassData(SparseRows.from_scipy(X[h].tocsr()), y[h], n_classes)) for h in halves]


def dense_losses(n_classes=3):
    data = dense_data(n=300, n_classes=n_classes)
    return [MultinomialLoss(data.take(np.arange(a, b))) for a, b in ((0, 100), (100, 300))]


def classes_of(loss, n=3):
    return np.random.default_rng(3).integers(0, n, size=loss.n_weights - loss.n_columns)


PENALTIES = {
    "l2": lambda loss, free: penalties.make("l2", 0.7, n_free=free),
    "l1": lambda loss, free: penalties.make("l1", 0.4, n_free=free),
    "elastic net": lambda loss, free: penalties.make("elastic_net", 0.9, l1_ratio=0.3, n_free=free),
    "ridge by class": lambda loss, free: penalties.ByClass(classes_of(loss), 0.0, [0.2, 1.0, 3.0], n_free=free),
    "by class": lambda loss, free: penalties.ByClass(
        classes_of(loss), [0.0, 0.3, 0.1], [0.2, 0.0, 0.5], [False, True, False], n_free=free
    ),
}


def validation_at(losses, penalty, start):
    objective = Objective(losses[0], penalty)
    solver = solvers.make("newton", forcing=1e-4) if choose_solver(objective)[0].name == "newton" else solvers.Owlqn(20)
    result = minimise(objective, solver, start, violation_tolerance=1e-11, max_iterations=20_000)
    return losses[1].value_and_gradient(result.weights, np.empty(losses[0].n_weights))


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("make", [text_losses, dense_losses])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_slopes_against_differences(make, n_classes, name):
    losses = make(n_classes)
    penalty = PENALTIES[name](losses[0], losses[0].n_columns)
    found = tune_strengths(losses[0], penalty, losses[1], max_rounds=0, budget=TIGHT)
    slopes, h = found.history[0].slopes, 1e-4
    assert found.status == "max_rounds reached"
    for k in np.flatnonzero(penalty.strengths):
        sides = []
        for sign in (1, -1):
            strengths = penalty.strengths
            strengths[k] *= np.exp(sign * h)
            sides.append(validation_at(losses, penalty.with_strengths(strengths), found.weights))
        numeric = (sides[0] - sides[1]) / (2 * h)
        assert slopes[k] == pytest.approx(numeric, rel=2e-3, abs=2e-4 * np.abs(slopes).max() + 1e-6)
    assert not np.any(slopes[penalty.strengths == 0])


def test_value_is_corrected_for_loose_training():
    losses = text_losses()
    penalty = PENALTIES["ridge by class"](losses[0], 4)
    exact = validation_at(losses, penalty, None)
    loose = Budget(gain=1e-3, residual=1e-4, products=500)
    trial = tune_strengths(losses[0], penalty, losses[1], max_rounds=0, budget=loose, solver="lbfgs").history[0]
    assert abs(trial.validation - exact) > 1e-6 * exact
    assert abs(trial.expected - exact) < 0.2 * abs(trial.validation - exact)


@pytest.mark.parametrize("start", [0.02, 30.0])
def test_one_strength_is_that_of_a_grid(start):
    losses = text_losses()
    tuned = tune_strengths(losses[0], penalties.make("l2", start, n_free=4), losses[1], tolerance=1e-7)
    grid = [validation_at(losses, penalties.make("l2", s, n_free=4), None) for s in np.geomspace(0.02, 300, 60)]
    assert tuned.best.validation <= min(grid) * (1 + 1e-4)
    assert "converged" in tuned.status
    assert len(tuned.history) <= 15


@pytest.mark.parametrize("name", ["elastic net", "by class", "ridge by class"])
def test_tuning_gains_and_returns_what_it_reports(name):
    losses = text_losses()
    penalty = PENALTIES[name](losses[0], 4)
    seen = []
    tuned = tune_strengths(losses[0], penalty, losses[1], callback=seen.append)
    assert seen == tuned.history
    accepted = [t.expected for t in tuned.history if t.accepted]
    assert np.all(np.diff(accepted) < 0)
    assert tuned.best.validation < 0.98 * tuned.history[0].validation
    np.testing.assert_array_equal(tuned.penalty.strengths, tuned.best.strengths)
    assert np.all((tuned.penalty.strengths == 0) == (penalty.strengths == 0))
    value = losses[1].value_and_gradient(tuned.weights, np.empty(tuned.weights.size))
    assert value == tuned.best.validation
    assert tuned.best.n_active == np.count_nonzero(tuned.weights)
    assert np.all(np.diff([t.seconds for t in tuned.history]) > 0)


class ValueOnly:
    """A validation loss without second derivatives."""

    def __init__(self, loss):
        self.loss, self.n_weights = loss, loss.n_weights

    def value_and_gradient(self, w, out):
        return self.loss.value_and_gradient(w, out)


def test_validation_loss_needs_no_curvature():
    losses = text_losses()
    penalty = PENALTIES["by class"](losses[0], 4)
    full = tune_strengths(losses[0], penalty, losses[1])
    plain = tune_strengths(losses[0], penalty, ValueOnly(losses[1]))
    assert plain.best.validation == pytest.approx(full.best.validation, rel=0.03)  # not convex: two ways down


def test_bounds_hold():
    losses = text_losses()
    penalty = penalties.make("l2", 100.0, n_free=4)
    tuned = tune_strengths(losses[0], penalty, losses[1], bounds=(80.0, 200.0))
    assert tuned.penalty.l2 == pytest.approx(80.0)
    assert min(t.strengths[1] for t in tuned.history) >= 80.0 * (1 - 1e-12)


def test_fixed_strengths_stay():
    training, validation = dense_losses()
    penalty = penalties.ByClass(classes_of(training), 0.1, [0.2, 1.0, 3.0], n_free=training.n_columns)
    tuned = tune_strengths(training, penalty, validation, fixed=[1, 5], max_rounds=4)
    moved = tuned.penalty.strengths != penalty.strengths
    assert not moved[1]
    assert not moved[5]
    assert moved.any()
    with pytest.raises(ValueError, match="nothing to tune"):
        tune_strengths(training, penalty, validation, fixed=range(6))


def test_stops_by_callback_and_ctrl_c():
    losses = text_losses()
    penalty = PENALTIES["by class"](losses[0], 4)
    count = []
    tuned = tune_strengths(losses[0], penalty, losses[1], callback=lambda t: count.append(t) or len(count) == 2)
    assert (tuned.status, len(tuned.history)) == ("stopped by the callback", 2)

    def interrupt(trial):
        count.append(trial)
        if len(count) == 3:
            raise KeyboardInterrupt

    count = []
    tuned = tune_strengths(losses[0], penalty, losses[1], callback=interrupt)
    assert (tuned.status, len(tuned.history)) == ("interrupted", 3)
    np.testing.assert_array_equal(tuned.penalty.strengths, tuned.best.strengths)


def test_strengths_that_zero_everything_are_reported():
    losses = text_losses()
    tuned = tune_strengths(losses[0], penalties.make("l1", 1e5, n_free=4), losses[1])
    assert "are all weights zero? Begin with smaller ones" in tuned.status
    assert len(tuned.history) == 1


def test_refusals():
    train, validation = text_losses()
    good = penalties.make("l2", n_free=4)
    with pytest.raises(IncompatibleError, match="needs the power Curvature, which ValueOnly lacks"):
        tune_strengths(ValueOnly(train), good, validation)
    with pytest.raises(IncompatibleError, match="needs the power Tunable, which object lacks"):
        tune_strengths(train, object(), validation)
    with pytest.raises(ValueError, match="same features and classes"):
        tune_strengths(train, good, dense_losses()[1])
    with pytest.raises(ValueError, match="nothing to tune"):
        tune_strengths(train, penalties.make("none"), validation)
    with pytest.raises(ValueError, match="bounds must be positive"):
        tune_strengths(train, good, validation, bounds=(0.0, 1.0))


def test_fista_goes_on_from_trial_to_trial():
    """Every trial after an accepted one begins with its vectors, and tunes as well as beginning anew does."""
    rng = np.random.default_rng(2)
    train, held_out = (
        [(1 + rng.zipf(1.4, size=n) % 14).tolist() for n in rng.integers(1, 9, size=k)] for k in (300, 80)
    )
    training = NgramMaxentLoss(reference_trie(train, 3, 15))
    orders = np.repeat(np.arange(3), np.diff(training.trie.entry_start))
    penalty = penalties.ByClass(orders, [0.0, 0.3, 0.3], [0.01, 0.2, 0.2], [False, True, True])
    words, lengths = np.concatenate(held_out).astype(np.uint32), [len(s) for s in held_out]
    validation = training.on(Sentences(15, words, np.concatenate([[0], np.cumsum(lengths)])))
    runs = [
        tune_strengths(training, penalty, validation, fixed=[0, 3], solver=solvers.Fista(in_sweep=in_sweep))
        for in_sweep in (False, True)
    ]
    assert all(len(run.history) > 2 for run in runs)
    assert runs[1].best.expected == pytest.approx(runs[0].best.expected, rel=3e-3)
    assert runs[1].best.expected < runs[1].history[0].expected
