"""loglinear.crfsuite.CRF beside CRFsuite itself: the same features, the same weights, an objective at least as good."""

import pickle
import random
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RandomizedSearchCV

import loglinear
from loglinear.crfsuite import CRF, metrics, scorers

pycrfsuite = pytest.importorskip("pycrfsuite", reason="the python-crfsuite package is not installed")
ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")


def problem(n, seed=1, length=(3, 9)):
    """Return random sequences whose labels depend on their attributes."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        tokens = [{"w": rng.choice("abcdefgh"), "n": rng.choice([0.5, 1, 2]), "up": rng.random() < 0.3}
                  for _ in range(rng.randint(*length))]  # fmt: skip
        X.append(tokens)
        y.append(["B" if t["w"] in "ab" else "I" if t["up"] else rng.choice("OOOI") for t in tokens])
    return X, y


def by_crfsuite(X, y, algorithm, path, **settings):
    """Return what CRFsuite gives: ({feature: weight}, log)."""
    trainer = pycrfsuite.Trainer(algorithm, settings, verbose=False)
    for xseq, yseq in zip(X, y):
        trainer.append(xseq, yseq)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    return {**info.state_features, **{("->", *pair): w for pair, w in info.transitions.items()}}, trainer.logparser


def weights(crf):
    return {**crf.state_features_, **{("->", *pair): w for pair, w in crf.transition_features_.items()}}


def difference(a, b):
    return max(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in {*a, *b})


# ---- the same features -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("min_freq", [0, 2, 3.5])
@pytest.mark.parametrize("everything", [False, True])
def test_min_freq_cuts_the_features_that_crfsuite_cuts(min_freq, everything, tmp_path):
    X, y = problem(12)
    names = {"feature.minfreq": min_freq, "feature.possible_states": everything}
    names["feature.possible_transitions"] = everything
    _, log = by_crfsuite(X, y, "lbfgs", tmp_path / "m", max_iterations=1, **names)
    crf = CRF(min_freq=min_freq, all_possible_states=everything, all_possible_transitions=everything, max_iterations=1)
    assert crf.fit(X, y).training_log_.featgen_num_features == log.featgen_num_features
    tagger = loglinear.Tagger.from_crfsuite_params(
        min_freq=min_freq, all_possible_states=everything, all_possible_transitions=everything
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the labels break a scheme
        assert tagger.fit(X, y).features_.n_weights == log.featgen_num_features


# ---- the same weights ------------------------------------------------------------------------------------------------
ONE_SEQUENCE = [  # the order of several is drawn at random, by each in its own way
    ("ap", {}),
    ("pa", {}),
    ("pa", {"type": 2, "c": 0.3, "error_sensitive": 0}),
    ("pa", {"type": 0, "averaging": 0}),
    ("arow", {"gamma": 0.5, "variance": 2}),
    ("l2sgd", {"c2": 0.1, "calibration.eta": 0.4}),
]


@pytest.mark.parametrize(("algorithm", "settings"), ONE_SEQUENCE)
def test_online_algorithms_give_the_weights_of_crfsuite(algorithm, settings, tmp_path):
    X, y = problem(1, length=(25, 25))
    theirs, log = by_crfsuite(X, y, algorithm, tmp_path / "m", max_iterations=6, **settings)
    ours = {"pa_type" if k == "type" else k.replace(".", "_"): v for k, v in settings.items()}
    crf = CRF(algorithm, max_iterations=6, **ours).fit(X, y)
    assert difference(weights(crf), theirs) < 1e-6  # they print six digits
    assert [i["loss"] for i in crf.training_log_.iterations] == pytest.approx([i["loss"] for i in log.iterations], 1e-5)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.1), (0.3, 0.05), (0.5, 0.0)])
def test_lbfgs_finds_the_optimum_of_crfsuite(c1, c2, tmp_path):
    X, y = problem(10)
    theirs, log = by_crfsuite(X, y, "lbfgs", tmp_path / "m", c1=c1, c2=c2, delta=1e-13, epsilon=1e-8)
    crf = CRF(c1=c1, c2=c2, delta=1e-13, epsilon=1e-8).fit(X, y)
    assert crf.training_log_.last_iteration["loss"] == pytest.approx(log.last_iteration["loss"], rel=1e-6)
    if c2:  # strictly convex: one optimum
        assert difference(weights(crf), theirs) < 1e-3


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.1, 0.1), (0.5, 0.05)])
def test_the_objective_is_at_least_as_good_after_as_many_iterations(c1, c2, tmp_path):
    X, y = problem(60, length=(5, 12))
    for n in (5, 20, 40, 80):  # under l1, ten may be 0.1% behind: OWL-QN has no stochastic start
        _, log = by_crfsuite(X, y, "lbfgs", tmp_path / "m", c1=c1, c2=c2, max_iterations=n)
        found = CRF(c1=c1, c2=c2, max_iterations=n).fit(X, y).training_log_
        assert len(found.iterations) <= n
        assert found.last_iteration["loss"] <= log.last_iteration["loss"] * (1 + 1e-4)


def test_trials_of_line_searches_leave_out_the_start():
    """A CRF under a ridge begins with stochastic passes, which are no trials of its first iteration."""
    X, y = problem(60, length=(5, 12))
    found = CRF(c2=0.1, max_iterations=5).fit(X, y).training_log_.iterations
    assert [one["linesearch_trials"] for one in found] == [1] * 5


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_settings_give_the_same_bits(algorithm):
    X, y = problem(20)
    a, b = (CRF(algorithm, max_iterations=5).fit(X, y) for _ in range(2))
    assert weights(a) == weights(b)
    assert a.score(X, y) > 0.6


# ---- the surface -----------------------------------------------------------------------------------------------------
def test_attributes_are_none_before_fit_and_predict_says_so():
    crf = CRF()
    for name in ("tagger_", "size_", "classes_", "num_attributes_", "attributes_", "state_features_",
                 "transition_features_", "training_log_"):  # fmt: skip
        assert getattr(crf, name) is None
    with pytest.raises(NotFittedError, match="not fitted yet: call fit, or name an existing model_filename"):
        crf.predict([])


def test_predictions_have_the_shapes_of_sklearn_crfsuite():
    X, y = problem(8)
    crf = CRF(c2=0.01).fit(X, y)
    assert crf.classes_ == list(dict.fromkeys(label for labels in y for label in labels))  # by first occurrence
    found = crf.predict(X)
    assert found.dtype == object
    assert [len(labels) for labels in found] == [len(x) for x in X]
    assert list(found[0]) == crf.predict_single(X[0]) == crf.tagger_.tag(X[0])
    same_length = crf.predict([X[0], X[0]])
    assert same_length.shape == (2, len(X[0]))
    single = crf.predict_marginals_single(X[0])
    assert crf.predict_marginals(X)[0] == single
    assert single[0]["B"] == pytest.approx(crf.tagger_.marginal("B", 0))
    assert crf.size_ > 1000
    assert set(crf.attributes_) >= {"w:a", "n", "up"}
    assert crf.num_attributes_ == len(crf.attributes_)


def test_held_out_sequences_are_scored_after_every_iteration(tmp_path):
    X, y = problem(30)
    X_dev, y_dev = problem(10, seed=2)
    y_dev[0][0] = "never seen"
    crf = CRF(c2=0.1, max_iterations=4).fit(X, y, X_dev, y_dev)
    log = crf.training_log_
    assert len(log.iterations) == 4
    right = [a == b for p, g in zip(crf.predict(X_dev), y_dev) for a, b in zip(p, g)]
    assert log.last_iteration["item_accuracy_float"] == pytest.approx(np.mean(right))
    whole = [list(p) == g for p, g in zip(crf.predict(X_dev), y_dev)]
    assert log.last_iteration["instance_accuracy_float"] == pytest.approx(np.mean(whole))
    scores = log.last_iteration["scores"]["B"]
    gold, found = ([label for labels in ys for label in labels] for ys in (y_dev, crf.predict(X_dev)))
    assert scores.ref == gold.count("B")
    assert scores.match == sum(g == p == "B" for g, p in zip(gold, found))
    assert 0 < log.last_iteration["avg_f1"] <= 1
    assert any(line.startswith("Macro-average precision") for line in log.log)
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        CRF().fit(X, y, X_dev)


def test_files_pickles_and_clones(tmp_path):
    X, y = problem(8)
    path = tmp_path / "model.ll"
    crf = CRF(c2=0.1, model_filename=path).fit(X, y)
    for other in (CRF(model_filename=path), pickle.loads(pickle.dumps(crf)), clone(crf)):
        assert other.predict(X).tolist() == crf.predict(X).tolist()
    assert loglinear.load(path).predict(X) == list(map(list, crf.predict(X)))
    assert clone(crf).get_params() == crf.get_params()
    assert clone(CRF(c1=0.5)).tagger_ is None


def test_a_model_of_crfsuite_is_used_as_it_is(tmp_path):
    X, y = problem(8)
    by_crfsuite(X, y, "lbfgs", tmp_path / "m", c2=0.1)
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "m"))
    crf = CRF(model_filename=tmp_path / "m")
    for x in X:
        assert crf.predict_single(x) == theirs.tag(x)
        assert crf.tagger_.probability(theirs.tag()) == pytest.approx(theirs.probability(theirs.tag()))
    assert crf.classes_ == theirs.labels()


def test_a_search_over_c1_and_c2():
    X, y = problem(24)
    search = RandomizedSearchCV(
        CRF(max_iterations=20, all_possible_transitions=True), {"c1": [0.01, 0.1, 1], "c2": [0.01, 0.1]}, n_iter=3,
        cv=3, scoring=scorers.flat_accuracy, random_state=0,
    )
    search.fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert metrics.flat_f1_score(y, search.predict(X), average="weighted") > 0.6


def test_verbose_prints_a_line_per_iteration(capsys):
    X, y = problem(5)
    CRF(max_iterations=3, verbose=True).fit(X, y, X, y)
    text = capsys.readouterr().out
    assert text.count("held out: F1") == 3
    CRF(max_iterations=3).fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "adam"}, "unknown algorithm 'adam'; known: lbfgs, l2sgd, ap, pa, arow"),
        ({"algorithm": "l2sgd", "c1": 1.0}, "Parameter not found: 'c1'; l2sgd has feature.minfreq"),
        ({"c2": -1}, "c2 must not be negative, not -1"),
        ({"c1": "much"}, "c1='much': could not convert"),
        ({"linesearch": "golden"}, "linesearch must be one of MoreThuente"),
        ({"algorithm": "l2sgd", "c2": 0}, "l2sgd divides its steps by c2, which must be positive, not 0"),
        ({"algorithm": "pa", "pa_type": 3}, "must be 0, 1 or 2, not 3"),
        ({"algorithm": "arow", "gamma": 0}, "variance and gamma must be positive"),
        ({"max_iterations": 2.5}, "max_iterations=2.5: it must be a whole number"),
    ],
)
def test_settings_without_meaning_are_refused(settings, message):
    X, y = problem(2)
    with pytest.raises(ValueError, match=message):
        CRF(**settings).fit(X, y)


def test_bad_data_are_refused_and_leave_the_model_as_it_was():
    X, y = problem(3)
    crf = CRF().fit(X, y)
    before = crf.predict(X).tolist()
    with pytest.raises(ValueError, match="3 sequences but labels for 2"):
        crf.fit(X, y[:2])
    with pytest.raises(ValueError, match="sequence 0 has 1 tokens but 2 labels"):
        crf.fit([[{"a": 1}]], [["A", "B"]])
    with pytest.raises(ValueError, match="sequence 0, token 0: attribute 'a' is not a finite number"):
        crf.fit([[{"a": float("nan")}]], [["A"]])
    with (pytest.warns(UserWarning, match="no tokens to train on"), pytest.raises(ValueError, match="no tokens")):
        crf.fit([], [])
    assert crf.predict(X).tolist() == before
