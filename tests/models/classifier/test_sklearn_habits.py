"""What users of scikit-learn bring: series and frames, class weights, sparse weights, centred intercepts, skops."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from commands import invoke
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import loglinear
from loglinear import MaxentClassifier
from loglinear.data.matrix import DenseRows
from loglinear.models import load_predictor

TEXTS = ["good film", "bad film", "good good plot", "bad acting", "fine film, fine plot", "bad bad plot"]
LABELS = ["pos", "neg", "pos", "neg", "fine", "neg"]


def series(kind):
    if kind == "pandas":
        pd = pytest.importorskip("pandas")
        return pd.Series(TEXTS, index=range(10, 16)), pd.Series(LABELS, index=range(10, 16))
    if kind == "pandas objects":
        pd = pytest.importorskip("pandas")
        return pd.Series(TEXTS, dtype=object), pd.Categorical(LABELS)
    if kind == "pandas frame":
        pd = pytest.importorskip("pandas")
        return pd.DataFrame({"body": TEXTS}), pd.Series(LABELS)
    if kind == "polars":
        pl = pytest.importorskip("polars")
        return pl.Series(TEXTS), pl.Series(LABELS)
    if kind == "polars frame":
        pl = pytest.importorskip("polars")
        return pl.DataFrame({"body": TEXTS}), LABELS
    if kind == "arrow":
        pa = pytest.importorskip("pyarrow")
        return pa.array(TEXTS), LABELS
    if kind == "column":
        return np.array(TEXTS)[:, None], LABELS
    return np.array(TEXTS, dtype=object if kind == "objects" else None), np.array(LABELS)


KINDS = ["pandas", "pandas objects", "pandas frame", "polars", "polars frame", "arrow", "strings", "objects", "column"]


@pytest.mark.parametrize("kind", KINDS)
def test_series_arrays_and_frames_of_texts(kind):
    X, y = series(kind)
    want = MaxentClassifier(ngrams=(1, 2)).fit(TEXTS, LABELS)
    model = MaxentClassifier(ngrams=(1, 2)).fit(X, y, validation=(X, y))
    np.testing.assert_array_equal(model.coef_, want.coef_)
    np.testing.assert_array_equal(model.predict_proba(X), want.predict_proba(TEXTS))
    assert model.evaluate(X, y)["accuracy"] == want.evaluate(TEXTS, LABELS)["accuracy"]
    model.partial_fit(X, y)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_with_a_text_column(package):
    frames = pytest.importorskip(package)
    frame = frames.DataFrame({"id": range(6), "body": TEXTS, "y": LABELS})
    want = MaxentClassifier().fit(TEXTS, LABELS)
    for model in (
        MaxentClassifier(text_column="body", label_column="y").fit(frame),
        MaxentClassifier(text_column="body").fit(frame, frame["y"]),
    ):
        np.testing.assert_array_equal(model.coef_, want.coef_)
        assert model.predict(frame).tolist() == want.predict(TEXTS).tolist()
    with pytest.raises(ValueError, match="name the column of the texts, text_column='body'"):
        MaxentClassifier().fit(frame, LABELS)
    with pytest.raises(loglinear.LoglinearError, match="the record has no key 'text'"):
        MaxentClassifier(text_column="text").fit(frame, LABELS)
    numbers = frames.DataFrame({"a": [0.0, 1, 2, 3, 4, 5], "b": [1.0, 0, 1, 0, 1, 0]})
    model = MaxentClassifier().fit(numbers, LABELS)
    assert model.feature_names() == ["a", "b"]
    np.testing.assert_array_equal(model.coef_, MaxentClassifier().fit(numbers.to_numpy(), LABELS).coef_)


def test_a_missing_text_is_named():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for texts in (
        pd.Series([None, *TEXTS[1:]]), pd.Series([*TEXTS[:5], float("nan")], dtype=object),
        pd.Series([*TEXTS[:5], pd.NA], dtype="string"), pl.Series([*TEXTS[:3], None, *TEXTS[4:]]),
        np.array([*TEXTS[:5], 3], dtype=object),
    ):
        with pytest.raises(ValueError, match=r"example \d is .* and no text, as others are"):
            MaxentClassifier().fit(texts, LABELS)


@pytest.mark.parametrize("weights", ["balanced", {"neg": 0.25, "fine": 3.0}])
@pytest.mark.parametrize("given", [None, np.arange(1.0, 7)])
def test_class_weights_are_those_of_scikit_learn(weights, given):
    X = np.array([[1.0, 0], [0, 1], [2, 0], [0, 1.5], [1, 1], [0, 2]])
    theirs = LogisticRegression(class_weight=weights, tol=1e-10, max_iter=10_000)
    ours = MaxentClassifier(class_weight=weights, tolerance=1e-13)
    theirs.fit(X, LABELS, given)
    ours.fit(X, LABELS, given)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)


def test_class_weights_in_files_commands_and_refusals(tmp_path):
    y = [3, 1, 3, 1, 2, 1]
    model = MaxentClassifier(class_weight={1: 0.5, 3: 2}).fit(TEXTS, y)
    model.save(tmp_path / "m.ll")
    assert loglinear.load(tmp_path / "m.ll").class_weight == {1: 0.5, 3: 2}
    for wrong, message in (
        ("equal", "class_weight must be a dict, 'balanced' or None, not 'equal'"),
        ({4: 1.0}, "class_weight has the class 4, which no example has"),
        ({1: -1.0}, "class weight of 1 must be a number, not negative"),
        ({1: 0.0, 2: 0, 3: 0}, "all sample weights are zero"),
    ):
        with pytest.raises(ValueError, match=message):
            MaxentClassifier(class_weight=wrong).fit(TEXTS, y)
    without = MaxentClassifier(class_weight={1: 0}).fit(TEXTS, y)
    assert without.classes_.tolist() == [1, 2, 3]
    assert 1 not in without.predict(TEXTS)
    with pytest.raises(ValueError, match="give partial_fit a sample_weight"):
        MaxentClassifier(class_weight="balanced").partial_fit(TEXTS, y, classes=[1, 2, 3])
    lines = [f"{label}\t{text}\n" for label, text in zip(LABELS, TEXTS)]
    (tmp_path / "d.tsv").write_text("".join(lines), encoding="utf-8")
    for asked, given in (("balanced", "balanced"), ("pos=2,neg=0.5", {"pos": 2.0, "neg": 0.5})):
        command = ("classify", "train", tmp_path / "d.tsv", "-o", tmp_path / "c.ll", "--class-weight")
        done = invoke(*command, asked, "--json")
        want = MaxentClassifier(class_weight=given).fit(TEXTS, LABELS)
        assert json.loads(done.stdout)["objective"] == pytest.approx(want.objective_, rel=1e-6)
    assert "'pos' is not CLASS=WEIGHT" in invoke(*command, "pos").output


def test_intercepts_and_free_weights_are_centred():
    X, y = load_iris(return_X_y=True)
    theirs = LogisticRegression(tol=1e-10, max_iter=100_000).fit(X, y)
    ours = MaxentClassifier(tolerance=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    noisy = np.where(np.arange(150) % 7, y, (y + 1) % 3)  # so that there is an optimum without a penalty
    free = MaxentClassifier("none", tolerance=1e-10).fit(X, noisy)
    assert abs(free.intercept_.sum()) < 1e-9
    np.testing.assert_allclose(free.coef_.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_weights_of_a_feature_sum_to_zero_under_l2(solver):
    """Seen: with scikit-learn's own tests, after Newton's method they did to four digits only."""
    X, y = load_iris(return_X_y=True)
    model = MaxentClassifier(solver=solver).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_precision_is_kept_without_a_copy(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 64)).astype(np.float32)
    y = (X @ rng.normal(size=(64, n_classes))).argmax(axis=1)
    assert np.shares_memory(DenseRows(X).X, X)
    model = MaxentClassifier(strength=5)
    tracemalloc.start()
    model.fit(X, y)
    p = model.predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes  # a copy in double precision would be twice as large
    np.testing.assert_allclose(p, MaxentClassifier(strength=5).fit(X.astype(np.float64), y).predict_proba(X), atol=1e-3)
    exact = MaxentClassifier(strength=5, tolerance=1e-12)
    np.testing.assert_allclose(exact.fit(X, y).coef_, exact.fit(X.astype(np.float64), y).coef_, atol=1e-5)
    for solver in ("newton", "lbfgs", "fista", "stochastic"):
        other = MaxentClassifier(strength=5, solver=solver, tolerance=1e-6, random_state=0).fit(X[:2000], y[:2000])
        assert other.converged_
    assert MaxentClassifier(strength=5).partial_fit(X, y, classes=np.arange(n_classes)).score(X, y) > 0.9


@pytest.mark.parametrize("kind", ["texts", "sparse", "dense"])
@pytest.mark.parametrize("labels", [LABELS, [0, 1, 0, 1, 0, 1]])
def test_sparse_weights_predict_the_same(tmp_path, kind, labels):
    rng = np.random.default_rng(0)
    some = sparse.random(6, 9, 0.5, format="csr", random_state=1)
    X = {"texts": TEXTS, "dense": rng.random((6, 9)), "sparse": some}[kind]
    model = MaxentClassifier("l1", 0.2).fit(X, labels)
    want, dense = model.predict_proba(X), model.coef_.copy()
    example = X[0] if kind != "sparse" else X[[0]]
    explained = model.explain(example).to_dict()
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    assert model.coef_.nnz == np.count_nonzero(dense)
    np.testing.assert_allclose(model.predict_proba(X), want, rtol=1e-12)
    assert model.explain(example).to_dict()["predicted"] == explained["predicted"]
    model.save(tmp_path / "m.ll")
    for again in (loglinear.load(tmp_path / "m.ll"), load_predictor(tmp_path / "m.ll")):
        assert sparse.issparse(again.coef_)
        np.testing.assert_allclose(again.predict_proba(X), want, rtol=1e-12)
    np.testing.assert_array_equal(model.densify().coef_, dense)
    model.sparsify().partial_fit(X, labels)


def test_a_text_model_goes_through_skops(tmp_path):
    sio = pytest.importorskip("skops.io")
    model = MaxentClassifier(ngrams=(1, 2), char_ngrams=(3,), weighting="log_tfidf").fit(TEXTS, LABELS)
    data = sio.dumps(make_pipeline(model))
    trusted = sio.get_untrusted_types(data=data)
    assert all(name.startswith(("loglinear.", "numpy.")) for name in trusted)
    again = sio.loads(data, trusted=trusted)
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_arguments_that_were_requested_are_passed_on():
    import sklearn
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = MaxentClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(clone(asked), {"strength": [1.0]}, cv=3).fit(X, y, sample_weight=weights)
        assert search.best_score_ == 1.0  # the third kind, the only one that is confused, has no weight
        with pytest.raises(TypeError, match="Unexpected args"):
            asked.set_fit_request(weight=True)
    assert not hasattr(asked, "no_such_method")


def test_a_model_shows_the_parameters_that_were_given():
    assert repr(MaxentClassifier("l1", ngrams=(1, 2))) == "MaxentClassifier(ngrams=(1, 2), penalty='l1')"
    with pytest.raises(ValueError, match="Invalid parameter 'strenght' for estimator"):
        MaxentClassifier().set_params(strenght=1)
