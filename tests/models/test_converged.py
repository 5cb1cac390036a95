"""Models at their defaults end where they say: within 1e-4 of their optimum, on data that are hard to solve."""

import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import figures, invoke
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from loglinear import LanguageModel, MaxentClassifier, Tagger, load
from loglinear.formats.tsv import read_tsv

FOLDER = os.environ.get("LOGLINEAR_DATA")
needs_corpora = pytest.mark.skipif(not FOLDER, reason="LOGLINEAR_DATA is not set: no corpora to test on")


def assert_at_the_optimum(model, optimum, tolerance=1e-4):
    assert model.converged_
    assert model.gap_ <= tolerance
    true = (model.objective_ - optimum) / optimum
    assert true <= tolerance
    assert not model.gap_is_bound_ or model.gap_ >= true - 1e-10


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_digits_with_a_weak_ridge(solver):
    X, y = load_digits(return_X_y=True)
    model = MaxentClassifier(strength=1 / len(y), solver=solver).fit(X, y)
    assert_at_the_optimum(model, 0.05547971)  # by Newton's method to 1e-12


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "clustered", "fista"])
def test_wine_whose_features_differ_in_size(solver):
    X, y = load_wine(return_X_y=True)
    if solver == "clustered":
        X = sparse.csr_matrix(X)
    best = MaxentClassifier(solver="newton", tolerance=1e-12).fit(X, y)
    assert_at_the_optimum(MaxentClassifier(solver=solver).fit(X, y), best.objective_)


@pytest.mark.parametrize("seed", [0, 8, 15, 16, 17])
def test_wine_in_another_order(seed):
    # Sums in another order lead along another path; on each of these a model of few directions once agreed too early.
    X, y = load_wine(return_X_y=True)
    best = MaxentClassifier(solver="newton", tolerance=1e-12).fit(X, y)
    order = np.random.default_rng(seed).permutation(len(y))
    model = MaxentClassifier(solver="clustered").fit(sparse.csr_matrix(X[order]), y[order])
    assert_at_the_optimum(model, best.objective_)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net"])
def test_one_feature_of_size_1e5(penalty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 20))
    y = X[:, 0] + X[:, 1] + rng.normal(size=1200) > 0
    plain = MaxentClassifier(penalty).fit(X[:800], y[:800]).score(X[800:], y[800:])
    X[:, 0] *= 1e5
    best = MaxentClassifier(penalty, tolerance=1e-11, max_iterations=50_000).fit(X[:800], y[:800])
    for solver in ("auto", "newton" if penalty == "l2" else "owlqn", "lbfgs" if penalty == "l2" else "fista"):
        model = MaxentClassifier(penalty, solver=solver).fit(X[:800], y[:800])
        assert_at_the_optimum(model, best.objective_)
        assert model.score(X[800:], y[800:]) > plain - 0.02


def test_a_strong_penalty_leaves_the_unigram_model():
    """At order 3 and strength 1e16 no n-gram is worth its penalty."""
    text = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog", "the end of the day"] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it says that the strength is too high
        strong = LanguageModel(3, strength=1e16, verbose=0).fit(text)
    unigrams = LanguageModel(1, verbose=0).fit(text)
    assert strong.converged_
    assert strong.n_weights_ == unigrams.n_weights_
    assert strong.perplexity(text) == pytest.approx(unigrams.perplexity(text), rel=2e-3)
    assert strong.perplexity(["the zebra"]) == pytest.approx(unigrams.perplexity(["the zebra"]), rel=1e-2)


def test_the_gap_is_in_files_and_tables(tmp_path):
    data = tmp_path / "train.tsv"
    rng = np.random.default_rng(1)
    words = [" ".join(rng.choice(list("abcdefgh"), 5)) for _ in range(60)]
    data.write_text("".join(f"{'ab'[text.count('a') > text.count('b')]}\t{text}\n" for text in words))
    path = tmp_path / "m.ll"
    summary = figures(invoke("classify", "train", data, "-o", path, "--json"))
    assert 0 <= summary["gap"] <= 1e-4
    assert summary["converged"]
    assert isinstance(summary["gap_is_bound"], bool)
    assert "violation" not in summary
    model = load(path)
    assert (model.gap_, model.gap_is_bound_) == (summary["gap"], summary["gap_is_bound"])
    shown = invoke("classify", "train", data, "-o", path).stdout
    assert "% of the optimum" in shown or "% above the optimum (an estimate)" in shown
    assert "violation" not in shown
    json.dumps(summary, allow_nan=False)


def test_a_gap_that_is_not_known_survives_a_file(tmp_path):
    with pytest.warns(ConvergenceWarning, match="not known"):
        model = LanguageModel(3, penalty="tree-l2", max_iterations=1, verbose=0).fit(["a b c", "a b d", "b c d"])
    model.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").gap_ == model.gap_
    assert not model.converged_


# ---- corpora ---------------------------------------------------------------------------------------------------------
@needs_corpora
@pytest.mark.parametrize("strength", [1.0, 0.1])
def test_texts_of_r8(strength):
    labels, texts = read_tsv(Path(FOLDER) / "r8" / "train.tsv.gz")
    options = {"strength": strength, "ngrams": (1, 2)}
    best = MaxentClassifier(tolerance=1e-8, **options).fit(texts, labels)
    assert_at_the_optimum(MaxentClassifier(**options).fit(texts, labels), best.objective_)


@pytest.fixture(scope="module")
def entities():
    """The first 300 sentences, words and labels."""
    X, y = [[]], [[]]
    with gzip.open(Path(FOLDER) / "wnut17" / "wnut17train.conll.gz", "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip():
                word, label = line.split()
                X[-1].append((word,))
                y[-1].append(label)
            elif len(X) == 300:
                return X, y
            elif X[-1]:
                X.append([])
                y.append([])
    return X, y


@needs_corpora
def test_a_crf_with_an_elastic_net(entities):
    """c1 = c2 = 0.1 of CRFsuite."""
    options = {"penalty": "elastic_net", "strength": 0.3, "l1_ratio": 1 / 3}
    best = Tagger("crf", "ner", tolerance=1e-7, max_iterations=10_000, **options).fit(*entities)
    model = Tagger("crf", "ner", **options).fit(*entities)
    assert_at_the_optimum(model, best.objective_)
    with pytest.warns(ConvergenceWarning, match="before the optimum"):
        few = Tagger("crf", "ner", max_iterations=40, **options).fit(*entities)
    assert not few.converged_
    assert few.objective_ < 1.1 * best.objective_


@needs_corpora
def test_cold_and_along_a_path_the_optimum_is_the_same(entities):
    X, y = entities
    tuned = Tagger("crf", "ner", tune=[1.0, 0.3, 0.1]).fit(X, y, validation=(X[:50], y[:50]))
    cold = Tagger("crf", "ner", strength=tuned.strength_).fit(X, y)
    assert tuned.converged_
    assert cold.converged_
    assert tuned.objective_ == pytest.approx(cold.objective_, rel=1e-4)
