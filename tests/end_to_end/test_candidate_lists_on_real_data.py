"""Lists of a speech recogniser, where LOGLINEAR_DATA names a folder that has them."""

import os
from pathlib import Path

import numpy as np
import pytest

from loglinear import Reranker, penalties, solvers
from loglinear.data.candidates import encode_lists
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import read_nbest
from loglinear.losses.candidate_lists import ExponentialMarginLoss, ListLogLoss
from loglinear.metrics.error_rate import reranking_scores
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective

FOLDER = os.environ.get("LOGLINEAR_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="LOGLINEAR_DATA is not set: no corpora to test on")


@pytest.mark.parametrize("make", [ListLogLoss, ExponentialMarginLoss])
def test_fewer_errors_on_unseen_lists(make):
    lists = read_nbest(Path(FOLDER) / "nbest" / "atis.train.jsonl.gz")
    features = CandidateFeatures((1, 2))
    train = encode_lists(lists[:3000], features)
    test = encode_lists(lists[3000:], features, fit=False)
    train.check_same_space(test)
    classes = np.ones(train.n_weights, dtype=int)
    classes[0] = 0
    penalty = penalties.make("l1", [0.0, 2.0], classes=classes)
    result = minimise(Objective(make(train), penalty), solvers.Owlqn(), violation_tolerance=1e-5)
    scores = reranking_scores(test, result.weights)
    assert scores.baseline.rate == pytest.approx(0.0766, abs=0.01)
    assert scores.oracle.rate < scores.reranked.rate < 0.9 * scores.baseline.rate
    assert scores.comparison.p_bootstrap < 0.01
    assert np.count_nonzero(result.weights) < 0.3 * train.n_weights


@pytest.mark.parametrize("method", ["blasso", "boosting", "perceptron", "maxent"])
def test_a_reranker_makes_fewer_errors_on_unseen_lists(method, tmp_path):
    lists = read_nbest(Path(FOLDER) / "nbest" / "atis.train.jsonl.gz")
    model = Reranker(method, max_iterations=2000).fit(lists[:2500], validation=lists[2500:3200])
    scores = model.evaluate(lists[3200:])
    assert not model.no_change_
    assert scores["oracle"]["rate"] < scores["reranked"]["rate"] < 0.85 * scores["baseline"]["rate"]
    assert scores["comparison"]["p_bootstrap"] < 0.01
    model.save(tmp_path / "m.ll")
    assert Reranker.load(tmp_path / "m.ll").evaluate(lists[3200:]) == scores
    assert (tmp_path / "m.ll").stat().st_size < 64_000


def test_lists_without_scores():
    lists = read_nbest(Path(FOLDER) / "nbest" / "lrs2.jsonl.gz")
    assert len(lists) == 2259
    data = encode_lists(lists, CandidateFeatures((1, 2)), base=("rank",))
    first = np.eye(data.n_weights)[0]
    assert np.array_equal(data.choices(first)[data.reference >= 0], np.zeros(np.count_nonzero(data.reference >= 0)))
    assert data.reference_errors.sum() < data.chosen_errors(first).sum()
