import math

import numpy as np
import pytest
from candidate_problems import random_data, random_lists
from scipy import stats

from loglinear.data.candidates import encode_lists
from loglinear.data.edit_distance import edit_distances
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList
from loglinear.metrics.error_rate import compare_errors, error_rate, reranking_scores


def test_rates():
    score = error_rate(*edit_distances(["a b c", "d e"], ["a x c", "d e f"]))
    assert score.rate == pytest.approx(2 / 5)
    assert (score.n_errors, score.length, score.n_lists, score.n_wrong) == (2, 5, 2, 2)
    assert error_rate(*edit_distances(["ab c"], ["abd"], units="characters")).rate == pytest.approx(1 / 3)


def test_intervals_hold_the_rate_and_narrow_with_data():
    rng = np.random.default_rng(0)
    widths = []
    for n in (50, 5000):
        errors, length = rng.binomial(10, 0.2, size=n), np.full(n, 10)
        score = error_rate(errors, length)
        low, high = score.interval
        assert low < score.rate < high
        exact = 2 * 1.96 * math.sqrt(0.2 * 0.8 / (10 * n))
        assert high - low == pytest.approx(exact, rel=0.35)
        widths.append(high - low)
    assert widths[1] < widths[0] / 5
    assert error_rate(errors, length) == error_rate(errors, length)
    assert error_rate(errors, length, random_state=1).interval != score.interval


def test_a_real_difference_is_significant_and_chance_is_not():
    rng = np.random.default_rng(1)
    length = np.full(800, 12)
    first = rng.binomial(12, 0.25, size=800)
    better = np.maximum(first - (rng.random(800) < 0.2), 0)
    comparison = compare_errors(first, better, length)
    assert comparison.difference < 0
    assert comparison.interval[1] < 0
    assert comparison.p_bootstrap < 0.01
    assert comparison.p_matched_pairs < 0.001
    assert comparison.reduction == pytest.approx(1 - better.sum() / first.sum())
    assert comparison.n_worse == 0
    shuffled = first + rng.integers(-1, 2, size=800) * (first > 0)
    noise = compare_errors(first, shuffled, length)
    assert noise.p_bootstrap > 0.05
    assert noise.p_matched_pairs > 0.05


def test_matched_pairs_against_the_t_test():
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 5, size=(2, 2000))
    ours = compare_errors(first, second, np.full(2000, 5)).p_matched_pairs
    assert ours == pytest.approx(stats.ttest_rel(second, first).pvalue, rel=0.01)


def test_the_same_system_twice():
    comparison = compare_errors([1, 2, 0], [1, 2, 0], [3, 3, 3])
    assert (comparison.difference, comparison.p_bootstrap, comparison.p_matched_pairs) == (0, 1, 1)
    assert math.isnan(compare_errors([0, 0], [0, 1], [2, 2]).reduction)
    assert compare_errors([1], [0], [2]).p_matched_pairs == 1  # of one list nothing can be said


def test_reranking():
    lists = random_lists(80, seed=4)
    data = encode_lists(lists, CandidateFeatures(min_count=1))
    w = np.random.default_rng(0).normal(size=data.n_weights)
    scores = reranking_scores(data, w)
    assert scores.oracle.rate <= scores.baseline.rate <= scores.worst.rate
    assert scores.oracle.rate <= scores.reranked.rate <= scores.worst.rate
    best = [max(one.candidates, key=lambda c: c.scores["score"]).text if one.candidates else "" for one in lists]
    references = [one.reference for one in lists]
    assert scores.baseline == error_rate(*edit_distances(references, best))
    assert scores.comparison.rate_second == scores.reranked.rate
    same = reranking_scores(data, w, baseline=w)
    assert same.comparison.difference == 0
    assert same.oracle_share == 0
    assert scores.to_dict()["comparison"]["p_bootstrap"] == scores.comparison.p_bootstrap


def test_refusals():
    for errors, length, message in (
        ([], [], "no lists"),
        ([1], [1, 2], "one length per list"),
        ([1, 2], [3, np.nan], "1 of 2 lists have no transcript"),
        ([-1], [3], "not negative"),
        ([np.nan], [3], "finite"),
        ([1], [0], "all transcripts are empty"),
    ):
        with pytest.raises(ValueError, match=message):
            error_rate(errors, length)
    with pytest.raises(ValueError, match="number of samples"):
        error_rate([1], [2], n_samples=0)
    unlabelled = encode_lists([CandidateList("u", [Candidate("a", {}, 1.0)])], CandidateFeatures(), base=())
    with pytest.raises(ValueError, match="no transcript"):
        reranking_scores(unlabelled, np.zeros(unlabelled.n_weights))
    assert reranking_scores(random_data(10), np.zeros(random_data(10).n_weights)).baseline.n_lists == 10
