import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from problems import labelled_texts, text_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import loglinear
from loglinear import MaxentClassifier, penalties
from loglinear.models.classifier import path as paths
from loglinear.models.classifier.training import LinearProblem


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Weighted and repeated examples have one optimum, but sums in other orders: fits that stop early differ by more
        # than the check allows.
        results = check_estimator(MaxentClassifier(tolerance=1e-13), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_same_optimum_as_scikit_learn(n_classes, intercept):
    X, y = text_matrix(n_classes)
    ours = MaxentClassifier("l2", 0.5, tolerance=1e-13, fit_intercept=intercept).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=100_000, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_same_lasso_as_scikit_learn(penalty):
    X, y = text_matrix(2)
    X = X[:, np.asarray((X > 0).sum(axis=0)).ravel() > 3]
    ours = MaxentClassifier(penalty, 2.0, tolerance=1e-13, fit_intercept=False).fit(X, y)
    ratio = 1.0 if penalty == "l1" else 0.5
    theirs = LogisticRegression(l1_ratio=ratio, C=0.5, solver="saga", tol=1e-8, max_iter=100_000, fit_intercept=False)
    if theirs.penalty == "l2":  # older versions of scikit-learn regard l1_ratio only where the penalty is named
        theirs.set_params(penalty="elasticnet")
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert 0 < np.count_nonzero(ours.coef_) < ours.coef_.size / 2


@pytest.mark.parametrize("kind", ["dicts", "tokens", "texts", "sparse", "dense", "int64"])
def test_every_kind_of_examples(kind, tmp_path):
    texts, labels = labelled_texts()
    matrix, numbers = text_matrix(4)
    wide = sp.csr_matrix(matrix)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    X, y = {
        "dicts": ([{"first": t.split()[0], "length": len(t), "long": len(t) > 80} for t in texts], labels),
        "tokens": ([t.split() for t in texts], labels),
        "texts": (texts, labels),
        "sparse": (matrix, numbers),
        "dense": (matrix.toarray(), numbers),
        "int64": (wide, numbers),
    }[kind]
    model = MaxentClassifier(max_iterations=3000, tolerance=1e-3).fit(X, y)
    assert model.score(X, y) > (0.3 if kind == "dicts" else 0.9)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-8)
    assert list(model.classes_[p.argmax(axis=1)]) == list(model.predict(X))
    model.save(tmp_path / "m.ll")
    again = loglinear.load(tmp_path / "m.ll", verify=True)
    np.testing.assert_allclose(again.predict_proba(X), p, rtol=1e-12)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), p, rtol=1e-12)
    assert len(model.feature_names()) == model.coef_.shape[1]
    one = X[0] if kind in ("dicts", "tokens", "texts", "dense") else X[[0]]
    explanation = model.explain(one)
    for c, label in enumerate(model.classes_.tolist()):
        scores = np.atleast_2d(model.decision_function([one] if kind not in ("sparse", "int64") else one))[0]
        assert explanation.scores[label] == pytest.approx(scores[c], abs=1e-9)
    assert "predicted" in str(explanation)


def test_saved_sparse_model_drops_zero_weights(tmp_path):
    texts, labels = labelled_texts()
    model = MaxentClassifier("l1", 2.0, ngrams=(1, 2)).fit(texts, labels)
    model.save(tmp_path / "m.ll")
    again = loglinear.load(tmp_path / "m.ll")
    assert again.coef_.shape[1] == np.count_nonzero(np.any(model.coef_ != 0, axis=0)) < model.coef_.shape[1] / 5
    np.testing.assert_allclose(again.predict_proba(texts), model.predict_proba(texts), rtol=1e-12)
    X, y = text_matrix(3)
    model = MaxentClassifier("l1", 2.0).fit(X, y)
    model.save(tmp_path / "m.ll")
    again = loglinear.load(tmp_path / "m.ll")
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], [-1, 1, 3], [0.0, 1.0, 2.0], ["a", "b", "c"], [True, False, True], ["é", "ü\t", "\n"]]
)
def test_labels_survive_the_file(labels, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.array(labels)[np.arange(60) % 3]
    model = MaxentClassifier().fit(X, y)
    model.save(tmp_path / "m.ll")
    again = loglinear.load(tmp_path / "m.ll")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.classes_.dtype.kind == model.classes_.dtype.kind


def test_pipeline_grid_clone():
    X, y = text_matrix(3)
    model = MaxentClassifier(strength=3.0, solver_options={"memory": 4}, solver="lbfgs")
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(MaxentClassifier(), {"strength": [0.1, 10.0], "penalty": ["l2", "l1"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    assert make_pipeline(StandardScaler(with_mean=False), MaxentClassifier()).fit(X, y).score(X, y) > 0.9
    texts, labels = labelled_texts()
    assert cross_val_score(MaxentClassifier(), texts, labels, cv=3).mean() > 0.5


def test_per_solver_same_answer_and_auto_says_so():
    X, y = text_matrix(3)
    reference = MaxentClassifier(tolerance=1e-13).fit(X, y)
    assert reference.solver_ in loglinear.solvers.SOLVERS
    assert reference.solver_reason_
    for solver in ("lbfgs", "newton", "owlqn", "fista", "clustered", "stochastic"):
        model = MaxentClassifier(tolerance=1e-13, solver=solver, max_iterations=5000).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-4)
        assert model.solver_ == solver


def test_threads_give_the_same_model():
    X, y = text_matrix(4)
    one, two = (MaxentClassifier(n_threads=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(two.coef_, MaxentClassifier(n_threads=2).fit(X, y).coef_)


def test_sample_weight_equals_repetition():
    X, y = text_matrix(2)
    weight = np.random.default_rng(0).integers(0, 3, size=y.size)
    a = MaxentClassifier(tolerance=1e-13).fit(X, y, sample_weight=weight)
    repeat = np.repeat(np.arange(y.size), weight)
    b = MaxentClassifier(tolerance=1e-13).fit(X[repeat], y[repeat])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)


def test_partial_fit_approaches_fit():
    texts, labels = labelled_texts()
    X, y = text_matrix(3)
    online = MaxentClassifier("l2", 1.0)
    for epoch in range(30):
        order = np.random.default_rng(epoch).permutation(y.size)
        for part in np.array_split(order, 5):
            online.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert online.score(X, y) > 0.95
    words = MaxentClassifier()
    for _ in range(3):
        words.partial_fit(texts, labels, classes=sorted(set(labels)))
    assert words.score(texts, labels) > 0.8
    with pytest.raises(ValueError, match="was not seen in training"):
        words.partial_fit(texts[:2], ["no", "such"])
    with pytest.raises(ValueError, match="classes must be passed"):
        MaxentClassifier().partial_fit(X, y)


@pytest.mark.parametrize(("penalty", "strength"), [("l2", 1.0), ("l2", 100.0), ("l1", 2.0), ("elastic_net", 3.0)])
def test_partial_fit_goes_on_from_fit(penalty, strength):
    X, y = text_matrix(2)
    model = MaxentClassifier(penalty, strength).fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X[:5], y[:5])
    change = np.linalg.norm(model.coef_ - before)
    assert 0 < change < 0.5 * np.linalg.norm(before)


def test_regularization_path_and_tuning():
    X, y = text_matrix(4)
    rng = np.random.default_rng(0)
    order = rng.permutation(y.size)
    train, valid = order[::2], order[1::2]
    points = MaxentClassifier("l1").regularization_path(X[train], y[train], validation=(X[valid], y[valid]))
    strengths = [p.strength for p in points]
    assert strengths == sorted(strengths, reverse=True)
    assert points[0].n_nonzero <= 4 < points[-1].n_nonzero  # at the first strength only intercepts are left
    for penalty in ("l1", "l2"):
        model = MaxentClassifier(penalty, tune="validation", tolerance=1e-11)
        model.fit(X[train], y[train], validation=(X[valid], y[valid]))
        table = {row["strength"]: row["dev_loss"] for row in model.tuning_}
        assert model.strength_ in table
        assert table[model.strength_] == min(table.values())
        alone = MaxentClassifier(penalty, model.strength_, tolerance=1e-13).fit(X[train], y[train])
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=0.02)
    model = MaxentClassifier("l2", tune="cv").fit(X, y)
    assert [row["strength"] for row in model.tuning_ if row["chosen"]] == [model.strength_]
    strict = MaxentClassifier("l2", tolerance=1e-13)._settings()
    points = paths.regularization_path(LinearProblem(_data(X, y), strict), [1.0, 0.1])
    cold = MaxentClassifier("l2", 0.1, tolerance=1e-13).fit(X, y)
    np.testing.assert_allclose(points[1].weights[:-4].reshape(-1, 4).T, cold.coef_, atol=1e-3)


def test_cross_validation_tries_strengths_around_the_best_however_small_the_values_are():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=400)
    X = rng.normal(size=(4, 30))[y] + rng.normal(size=(400, 30)) * 2.0
    chosen = []
    for scale in (1.0, 0.01):  # at a hundredth of the values a strength must be a ten-thousandth to mean the same
        model = MaxentClassifier(tune="cv").fit(X * scale, y)
        strengths = [row["strength"] for row in model.tuning_]
        assert 3 <= len(strengths) <= 5
        np.testing.assert_allclose(np.diff(np.log(strengths)), np.log(1e-6) / 19)
        assert model.strength_ not in (strengths[0], strengths[-1])
        chosen.append(model.strength_)
    assert 1e-5 < chosen[1] / chosen[0] < 1e-3


@pytest.mark.parametrize("seed", [1, 8])  # the first fold alone is for a stronger penalty, and for a weaker one
def test_cross_validation_goes_on_until_the_mean_loss_rises_on_either_side(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8))
    y = X @ (rng.normal(size=8) * rng.integers(0, 2, 8)) + rng.normal(size=60) * 2 > 0
    model = MaxentClassifier("l1", tune="cv", random_state=seed).fit(X, y)
    losses = [row["dev_loss"] for row in model.tuning_]
    assert losses[0] > min(losses) < losses[-1]


def _data(X, y):
    from loglinear.data.matrix import SparseRows
    from loglinear.data.multiclass import MulticlassData

    return MulticlassData(SparseRows.from_scipy(X), y, int(y.max()) + 1)


def test_warm_start():
    X, y = text_matrix(3)
    model = MaxentClassifier(warm_start=True, tolerance=1e-11).fit(X, y)
    first = model.n_iter_
    coef = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ <= max(2, first // 4)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-4)


def test_checkpoint_file_of_fit(tmp_path):
    X, y = text_matrix(3)
    model = MaxentClassifier(checkpoint=tmp_path / "c", tolerance=1e-11).fit(X, y)
    assert (tmp_path / "c").exists()
    again = MaxentClassifier(checkpoint=tmp_path / "c", tolerance=1e-11).fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)


@pytest.mark.parametrize("change", ["values", "labels", "weights"])
@pytest.mark.parametrize("dense", [False, True])
def test_checkpoint_of_other_data_of_the_same_size_is_refused(tmp_path, change, dense):
    X, y = text_matrix(3)
    X, y = (X.toarray() if dense else X.copy()), y.copy()
    model = MaxentClassifier(checkpoint=tmp_path / "c")
    model.fit(X, y)
    weight = None
    if change == "values":
        X = X * 2.0
    elif change == "labels":
        y[0] = (y[0] + 1) % 3
    else:
        weight = np.linspace(1, 2, y.size)
    with pytest.raises(loglinear.ModelFileError, match="another problem"):
        model.fit(X, y, weight)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_partial_fit_continues_a_loaded_model_and_leaves_weights_handed_out_alone(tmp_path, fit_intercept):
    X, y = text_matrix(3)
    model = MaxentClassifier(fit_intercept=fit_intercept).fit(X, y)
    handed_out, before = model.coef_, model.coef_.copy()
    model.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll").partial_fit(X, y)
    model.partial_fit(X, y)
    np.testing.assert_array_equal(handed_out, before)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


class _BareL1:
    """l1 with nothing but the methods of a Penalty."""

    def __init__(self, strength=1.0, **options):
        inner = penalties.L1(strength, **options)
        self.value, self.prox, self.violation = inner.value, inner.prox, inner.violation
        self.max_strength = inner.max_strength


def test_a_registered_penalty_without_powers_works_on_text_with_equal_features(monkeypatch):
    monkeypatch.setattr(penalties.PENALTIES, "_entries", {**penalties.PENALTIES._entries, "bare": _BareL1})
    texts, labels = labelled_texts()
    bare = MaxentClassifier("bare", 2.0, ngrams=(1, 2), tolerance=1e-5).fit(texts, labels)
    known = MaxentClassifier("l1", 2.0, ngrams=(1, 2), tolerance=1e-5).fit(texts, labels)
    assert bare.solver_ == "fista"
    assert bare.objective_ == pytest.approx(known.objective_, rel=1e-4)


def _interrupt_solve(monkeypatch, number):
    """The given call of LinearProblem.solve ends as if Ctrl-C had been pressed; returns the strengths solved."""
    solve, strengths = LinearProblem.solve, []

    def interrupted(self, strength=None, **options):
        strengths.append(strength)
        solution = solve(self, strength, **options)
        if len(strengths) == number:
            return replace(solution, result=replace(solution.result, status="interrupted"))
        return solution

    monkeypatch.setattr(LinearProblem, "solve", interrupted)
    return strengths


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net"])
def test_a_tuned_model_is_the_best_row_of_its_table(penalty):
    X, y = text_matrix(3)
    loose = {"tolerance": 0.2, "max_iterations": 3, "verbose": 0}  # far from the optimum, which any start would find
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MaxentClassifier(penalty, tune="validation", **loose)
        model.fit(X[::2], y[::2], validation=(X[1::2], y[1::2]))
    (chosen,) = [row for row in model.tuning_ if row["chosen"]]
    assert chosen["dev_loss"] == min(row["dev_loss"] for row in model.tuning_)
    figures = model.evaluate(X[1::2], y[1::2])
    assert figures["log_loss"] == pytest.approx(chosen["dev_loss"], rel=1e-12)
    assert figures["accuracy"] == pytest.approx(chosen["dev_accuracy"], rel=1e-12)
    assert np.count_nonzero(model.coef_) == chosen["nonzero_weights"]
    assert model.strength_ == chosen["strength"]


def test_ctrl_c_while_tuning_keeps_the_best_strength_so_far(monkeypatch):
    X, y = text_matrix(3)
    strengths = _interrupt_solve(monkeypatch, 8)
    model = MaxentClassifier("l1", tune="validation", tolerance=1e-3)
    with pytest.warns(loglinear.InterruptedWarning, match="while the strength was being chosen"):
        model.fit(X[::2], y[::2], validation=(X[1::2], y[1::2]))
    assert len(strengths) == len(model.tuning_) == 8  # no training followed
    assert model.status_ == "interrupted"
    assert (model.strength_, np.count_nonzero(model.coef_) > 0) == (
        min(model.tuning_, key=lambda row: row["dev_loss"])["strength"], True
    )
    monkeypatch.undo()
    direct = MaxentClassifier("l1", model.strength_, tolerance=1e-3).fit(X[::2], y[::2])
    assert model.objective_ == pytest.approx(direct.objective_, rel=1e-3)


class TestWarningsAndRefusals:
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = (X[:, 0] > 0).astype(int)

    def test_non_convergence_reports_the_gap(self):
        with pytest.warns(ConvergenceWarning, match=r"optimum is not known, after \d passes"):
            MaxentClassifier(strength=1e-3, max_iterations=2, tolerance=1e-12).fit(self.X, self.y)
        with pytest.warns(ConvergenceWarning, match=r"within [0-9.e-]+% of the optimum, after \d+ passes"):
            MaxentClassifier(max_iterations=8, tolerance=1e-12, solver="lbfgs").fit(self.X, self.y)

    @pytest.mark.parametrize("params", [{"penalty": "none"}, {"strength": 0.0}])
    def test_optimum_at_infinity(self, params):
        with pytest.warns(ConvergenceWarning, match="may be at infinity"):
            MaxentClassifier(**params, max_iterations=50).fit(self.X, self.y)

    def test_interruption_is_the_only_thing_said_of_an_interrupted_run(self, monkeypatch):
        _interrupt_solve(monkeypatch, 1)
        with pytest.warns(UserWarning, match="interrupted") as caught:
            MaxentClassifier("none", max_iterations=2).fit(self.X, self.y)
        assert [w.category for w in caught] == [loglinear.InterruptedWarning]

    def test_no_penalty_is_legal(self):
        y = np.random.default_rng(1).integers(0, 2, size=30)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            MaxentClassifier("none").fit(self.X, y)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"strength": -1.0}, "not negative"),
            ({"strength": np.nan}, "not negative"),
            ({"penalty": "l3"}, "unknown penalty 'l3'"),
            ({"solver": "adam"}, "unknown solver 'adam'"),
            ({"solver": "lbfgs", "penalty": "l1"}, "needs the power Smooth"),
            ({"n_threads": 0}, "n_threads must be"),
            ({"tune": "magic"}, "tune must be None"),
            ({"tune": "validation"}, r"give fit\(\.\.\., validation=\(X, y\)\)"),
            ({"l1_ratio": 2.0, "penalty": "elastic_net"}, "between 0 and 1"),
            ({"max_iterations": -1}, "must not be negative"),
            ({"verbose": "loud"}, "verbose must be"),
        ],
    )
    def test_parameters(self, params, message):
        with pytest.raises(ValueError, match=message):
            MaxentClassifier(**params).fit(self.X, self.y)

    def test_one_class(self):
        with pytest.raises(ValueError, match="only one class"):
            MaxentClassifier().fit(self.X, np.zeros(30))

    def test_empty(self):
        with pytest.raises(ValueError, match="0 sample"):
            MaxentClassifier().fit(np.empty((0, 3)), [])

    def test_no_features(self):
        with pytest.raises(ValueError, match="no features at all"):
            MaxentClassifier().fit(["...", "!!!"], [0, 1])

    def test_nan(self):
        X = self.X.copy()
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            MaxentClassifier().fit(X, self.y)

    def test_feature_numbers_past_the_limit(self):
        X = sp.csr_matrix(
            (np.ones(2), np.array([0, 2**40], dtype=np.int64), np.array([0, 1, 2], dtype=np.int64)),
            shape=(2, 2**40 + 1),
        )
        with pytest.raises(ValueError, match="renumber or hash the features"):
            MaxentClassifier().fit(X, [0, 1])

    def test_ragged_dicts(self):
        with pytest.raises((ValueError, TypeError), match="1"):
            MaxentClassifier().fit([{"a": 1.0}, {"a": [1, 2]}], [0, 1])

    def test_mixed_inputs(self):
        with pytest.raises((ValueError, TypeError), match="1"):
            MaxentClassifier().fit(["text", {"a": 1}], [0, 1])

    def test_label_count(self):
        with pytest.raises(ValueError, match="one label per example"):
            MaxentClassifier().fit(self.X, [0, 1])

    def test_unfitted(self, tmp_path):
        with pytest.raises(NotFittedError):
            MaxentClassifier().predict(self.X)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            MaxentClassifier().save(tmp_path / "m.ll")

    def test_wrong_number_of_features(self):
        model = MaxentClassifier().fit(self.X, self.y)
        with pytest.raises(ValueError, match="3 features"):
            model.predict(self.X[:, :3])

    def test_nonnegative(self):
        model = MaxentClassifier(nonnegative=True).fit(self.X, self.y)
        assert np.all(model.coef_ >= 0)
