"""Solvers x problems: the same optimum from each, certified by violation."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import dense_data, sparse_data, text_matrix

from loglinear import penalties, solvers
from loglinear.data.matrix import SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.errors import IncompatibleError
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.representer import RepresenterObjective
from loglinear.testing import check_solver

DATA = {
    "dense3": lambda: dense_data(),
    "dense2": lambda: dense_data(n_classes=2, weights=True),
    "text2": lambda: sparse_data(2),
    "text4": lambda: sparse_data(4, weights=True),
}
PENALTIES = {
    "l2": {"name": "l2", "strength": 1.0},
    "weak l2": {"name": "l2", "strength": 0.05},
    "l1": {"name": "l1", "strength": 0.8},
    "elastic net": {"name": "elastic_net", "strength": 1.0, "l1_ratio": 0.5},
    "nonnegative l2": {"name": "l2", "strength": 1.0, "nonnegative": True},
    "nonnegative l1": {"name": "l1", "strength": 0.5, "nonnegative": True},
}
SMOOTH = {
    "lbfgs": solvers.Lbfgs(),
    "lbfgs metric": solvers.Lbfgs(metric="curvature"),
    "lbfgs single": solvers.Lbfgs(metric="curvature", single_precision=True),
    "newton": solvers.Newton(),
    "clustered": solvers.Clustered(cluster_factor=4),
    "clustered auto": solvers.Clustered(importance="curvature"),
}
ANY = {
    "owlqn": solvers.Owlqn(),
    "owlqn metric": solvers.Owlqn(metric="curvature"),
    "owlqn single": solvers.Owlqn(metric="curvature", single_precision=True),
    "owlqn single plain": solvers.Owlqn(single_precision=True),
    "fista": solvers.Fista(),
    "fista plain": solvers.Fista(metric="none"),
    "stochastic": solvers.StochasticProximal(n_parts=8),
    "working_set": solvers.WorkingSet(first_size=20),
    "clustered": solvers.Clustered(cluster_factor=4),
}
_reference = {}


def problem(data, penalty):
    loss = MultinomialLoss(DATA[data]())
    objective = Objective(loss, penalties.make(**PENALTIES[penalty], n_free=loss.n_columns))
    if (data, penalty) not in _reference:
        strict = solvers.Newton(forcing=1e-3) if penalty.endswith("l2") and "non" not in penalty else solvers.Fista()
        result = minimise(objective, strict, violation_tolerance=1e-10, max_iterations=50_000)
        assert result.violation <= 1e-7 * objective.gradient_scale(), (data, penalty, result.status)
        _reference[data, penalty] = result.weights
    return objective, _reference[data, penalty]


def cases():
    for data in DATA:
        for penalty in PENALTIES:
            smooth = penalty in ("l2", "weak l2")
            for name, solver in ({**ANY, **SMOOTH} if smooth else ANY).items():
                if "clustered" in name and data == "dense3":
                    continue  # dense multinomial losses cannot be tied, and say so
                if name in ("fista plain", "stochastic") and (penalty == "weak l2" or data == "text4"):
                    continue  # first-order steps: right in the end, but slow for a unit test
                yield pytest.param(data, penalty, solver, id=f"{data}-{penalty}-{name}")


@pytest.mark.parametrize(("data", "penalty", "solver"), list(cases()))
def test_same_optimum(data, penalty, solver):
    check_solver(solver, *problem(data, penalty))


@pytest.mark.parametrize("seed", [4, 10, 21, 102])
def test_owlqn_goes_on_without_its_pairs_where_they_give_no_decrease(seed):
    loss = MultinomialLoss(sparse_data(4, weights=True, seed=seed))
    objective = Objective(loss, penalties.make("l1", 0.8, n_free=4))
    result = minimise(objective, solvers.Owlqn(metric="curvature"), tolerance=1e-9, max_iterations=20000)
    assert result.converged, result.status


@pytest.mark.parametrize("data", ["text2", "text4"])
def test_representer_takes_the_same_steps(data):
    loss = MultinomialLoss(DATA[data]())
    penalty = penalties.make("l2", 0.5, n_free=loss.n_columns)
    plain = minimise(Objective(loss, penalty), solvers.Lbfgs(), violation_tolerance=1e-7)
    other = RepresenterObjective(loss, penalty)
    result = minimise(other, solvers.Lbfgs(), violation_tolerance=1e-7)
    early = slice(0, 15)
    np.testing.assert_allclose(result.history.objective[early], plain.history.objective[early], rtol=1e-9)
    np.testing.assert_allclose(result.history.violation[early], plain.history.violation[early], rtol=1e-6)
    np.testing.assert_allclose(other.weights(result.weights), plain.weights, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_duplicated_features_split_the_ridge_weights(n_classes):
    """With every feature copied, the optimum at strength s has on both copies half the weights of that at s/2."""
    X, y = text_matrix(n_classes)
    out = []
    for matrix, strength in ((sp.hstack([X, X]).tocsr(), 1.0), (X, 0.5)):
        loss = MultinomialLoss(MulticlassData(SparseRows.from_scipy(matrix), y, n_classes))
        objective = Objective(loss, penalties.make("l2", strength, n_free=loss.n_columns))
        result = minimise(objective, solvers.Newton(), violation_tolerance=1e-10)
        out.append(loss.split(result.weights)[0].reshape(matrix.shape[1], -1))
    doubled, single = out
    np.testing.assert_allclose(doubled[: X.shape[1]], doubled[X.shape[1] :], atol=1e-7)
    np.testing.assert_allclose(doubled[: X.shape[1]], single / 2, atol=1e-7)


def test_missing_power_is_named():
    objective, _ = problem("dense3", "l1")
    with pytest.raises(IncompatibleError, match="solver 'lbfgs' needs the power Smooth, which L1 lacks"):
        minimise(objective, solvers.Lbfgs())


def test_unknown_solver_and_option():
    with pytest.raises(IncompatibleError, match="did you mean 'newton'"):
        solvers.make("newtn")
    with pytest.raises(IncompatibleError, match="solver 'lbfgs' has no option memery; it has memory, metric, single"):
        solvers.make("lbfgs", memery=3)


def test_stochastic_is_reproducible():
    objective, _ = problem("text2", "l1")
    seeded = [solvers.StochasticProximal(random_state=seed) for seed in (1, 1, 2)]
    runs = [minimise(objective, solver, max_iterations=15).value for solver in seeded]
    assert runs[0] == runs[1] != runs[2]
