"""Contenders. Each has a name and a ladder of ever tighter settings: functions that fit a problem.

Each fit runs in a process of its own, so that its peak memory can be measured:
    python -m benchmarks.classify.contenders PROBLEM.npz CONTENDER RUNG
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.classify.problems import Problem
from benchmarks.processes import megabytes

SKLEARN = {"l2": {}, "l1": {"l1_ratio": 1.0}}


def sklearn(solver, **options):
    def fit(problem: Problem):
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1 / problem.strength, solver=solver, **SKLEARN[problem.penalty], **options)
        start = time.perf_counter()
        model.fit(problem.X, problem.y)
        return time.perf_counter() - start, model.coef_, model.intercept_, model.classes_, int(np.max(model.n_iter_))

    return fit


def liblinear(tolerance):
    def fit(problem: Problem):
        from liblinear.liblinearutil import train

        classes, y = np.unique(problem.y, return_inverse=True)
        kind = {"l2": 0, "l1": 6}[problem.penalty]
        start = time.perf_counter()
        model = train(y.astype(float), problem.X, f"-s {kind} -c {1 / problem.strength} -e {tolerance} -B 1 -q")
        seconds = time.perf_counter() - start
        order = np.argsort(model.get_labels())
        d = problem.X.shape[1]
        flat = np.ctypeslib.as_array(model.w, shape=((d + 1) * (1 if len(classes) == 2 else len(classes)),)).copy()
        W = flat.reshape(d + 1, -1)
        W = W[:, order] if len(classes) > 2 else W * (1 if model.get_labels()[0] == 1 else -1)
        return seconds, W[:d].T, W[d], classes, 0

    return fit


def ours(tolerance, **options):
    def fit(problem: Problem):
        from loglinear import MaxentClassifier

        model = MaxentClassifier(
            problem.penalty, problem.strength, tolerance=tolerance, max_iterations=5000, n_threads=2, **options
        )
        start = time.perf_counter()
        model.fit(problem.X, problem.y)
        return time.perf_counter() - start, model.coef_, model.intercept_, model.classes_, model.n_iter_

    return fit


RUNGS = (1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7)
CONTENDERS = {
    "loglinear auto": [ours(t) for t in RUNGS],
    "loglinear lbfgs": [ours(t, solver="lbfgs", solver_options={"metric": "none"}) for t in RUNGS],
    "loglinear newton": [ours(t, solver="newton") for t in RUNGS],
    "loglinear owlqn": [ours(t, solver="owlqn") for t in RUNGS],
    "scikit-learn lbfgs": [sklearn("lbfgs", tol=t, max_iter=20000) for t in (1e-3, 1e-4, 1e-5, 1e-6)],
    "scikit-learn newton-cg": [sklearn("newton-cg", tol=t, max_iter=1000) for t in (1e-2, 1e-4, 1e-6)],
    "scikit-learn saga": [sklearn("saga", tol=1e-6, max_iter=n, random_state=0) for n in (30, 100, 300, 1000)],
    "liblinear (one-vs-rest)": [liblinear(t) for t in (0.01, 0.0001)],
}
FITS_PENALTY = {
    "l1": {"loglinear auto", "loglinear owlqn", "scikit-learn saga", "liblinear (one-vs-rest)"},
    "l2": set(CONTENDERS) - {"loglinear owlqn"},
}


def objective(problem: Problem, coef: np.ndarray, intercept: np.ndarray) -> float:
    """Return the objective at any contender's weights, computed by one function for all."""
    from loglinear import penalties
    from loglinear.data.matrix import DenseRows, SparseRows
    from loglinear.data.multiclass import MulticlassData
    from loglinear.losses.multinomial import MultinomialLoss

    classes, y = np.unique(problem.y, return_inverse=True)
    rows = DenseRows(problem.X) if isinstance(problem.X, np.ndarray) else SparseRows.from_scipy(problem.X)
    loss = MultinomialLoss(MulticlassData(rows, y, classes.size))
    w = np.concatenate([np.ascontiguousarray(coef.T).ravel(), intercept])
    penalty = penalties.make(problem.penalty, problem.strength, n_free=loss.n_columns)
    return loss.value_and_gradient(w, np.empty_like(w)) + penalty.value(w)


def main() -> None:
    problem = Problem.load(Path(sys.argv[1]))
    fit = CONTENDERS[sys.argv[2]][int(sys.argv[3])]
    import sklearn.linear_model  # noqa: F401  (its import is nobody's training time or memory)

    before = megabytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, coef, intercept, classes, steps = fit(problem)
    peak = megabytes()
    scores = problem.X_test @ coef.T + intercept
    predicted = classes[(scores[:, 0] > 0).astype(int) if coef.shape[0] == 1 else scores.argmax(axis=1)]
    print(
        json.dumps(
            {
                "seconds": seconds,
                "objective": objective(problem, coef, intercept),
                "accuracy": float(np.mean(predicted == problem.y_test)),
                "added_megabytes": peak - before,
                "peak_megabytes": peak,
                "steps": steps,
                "nonzero": int(np.count_nonzero(coef)),
            }
        )
    )


if __name__ == "__main__":
    main()
