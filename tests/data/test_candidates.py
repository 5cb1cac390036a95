import dataclasses

import numpy as np
import pytest
from candidate_problems import dense_differences, grams, random_data, random_lists

from loglinear.data.candidates import CandidateLists, encode_lists
from loglinear.data.edit_distance import edit_distances
from loglinear.errors import IncompatibleError
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList


def one_list(*candidates, reference="a b"):
    made = [Candidate(text, {} if score is None else {"score": score}) for text, score in candidates]
    return CandidateList("u", made, reference)


def scores_of(lists, features, w, base):
    """Scores of the candidates of each list, from texts alone."""
    weight = dict(zip([*base, *features.names()], w))
    return [
        [
            sum(weight[name] * c.scores[name] for name in base)
            + sum(weight.get(name, 0.0) * n for name, n in grams(c.text).items())
            for c in one.candidates
        ]
        for one in lists
    ]


def test_pairs_are_differences_to_the_oracle():
    lists = random_lists(40, seed=2, scores=("am", "lm"))
    features = CandidateFeatures(min_count=1)
    data = encode_lists(lists, features, base=("lm", "am"))
    rng = np.random.default_rng(0)
    w = rng.normal(size=data.n_weights)
    scores = scores_of(lists, features, w, ("lm", "am"))
    margins = data.margins(w)
    np.testing.assert_allclose(dense_differences(data) @ w, margins, atol=1e-12)
    p = 0
    for i, one in enumerate(lists):
        assert data.list_ptr[i] == p
        if not one.candidates:
            assert (data.reference[i], data.reference_errors[i]) == (-1, len(one.reference.split()))
            continue
        errors = [edit_distances([one.reference], [c.text])[0][0] for c in one.candidates]
        best = min(range(len(errors)), key=lambda c: (errors[c], -one.candidates[c].scores["lm"], c))
        assert data.reference[i] == best
        assert data.reference_errors[i] == errors[best]
        assert data.length[i] == len(one.reference.split())
        for c in range(len(errors)):
            if c == best:
                continue
            assert data.place[p] == c
            assert data.errors[p] == errors[c] - errors[best]
            assert margins[p] == pytest.approx(scores[i][best] - scores[i][c], abs=1e-9)
            p += 1
    assert p == data.n_pairs == data.list_ptr[-1]


def test_the_inverted_index():
    data = random_data()
    X = dense_differences(data)[:, data.n_base :]
    assert np.all(data.rows.values != 0)
    for j in range(data.n_features):
        part = slice(data.columns.indptr[j], data.columns.indptr[j + 1])
        pairs = data.columns.indices[part]
        np.testing.assert_array_equal(pairs, np.flatnonzero(X[:, j]))
        np.testing.assert_array_equal(data.columns.values[part], X[pairs, j])


def test_choices_are_the_highest_scores():
    lists = random_lists(60, seed=5)
    features = CandidateFeatures(min_count=1)
    data = encode_lists(lists, features)
    rng = np.random.default_rng(1)
    for _ in range(5):
        w = rng.normal(size=data.n_weights)
        scores = scores_of(lists, features, w, ("score",))
        expected = [int(np.argmax(s)) if s else -1 for s in scores]
        assert data.choices(w).tolist() == expected
        errors = [
            edit_distances([one.reference], [one.candidates[c].text if c >= 0 else ""])[0][0]
            for one, c in zip(lists, expected)
        ]
        assert data.chosen_errors(w).tolist() == errors


def test_equal_scores_choose_the_first_not_the_oracle():
    data = encode_lists([one_list(("x y", 1.0), ("a b", 1.0), ("a y", 1.0))], CandidateFeatures(min_count=1))
    zero = np.zeros(data.n_weights)
    assert data.reference.tolist() == [1]
    assert data.choices(zero).tolist() == [0]
    assert data.chosen_errors(zero).tolist() == [2]
    assert data.choices(np.eye(data.n_weights)[0]).tolist() == [0]


def test_ties_of_errors_go_to_the_higher_score_then_to_the_first():
    def oracle(*scores):
        candidates = [(text, score) for text, score in zip(("a x", "a y", "z b"), scores)]
        return encode_lists([one_list(*candidates)], CandidateFeatures(min_count=1)).reference[0]

    assert oracle(1.0, 2.0, 2.0) == 1
    assert oracle(1.0, 1.0, 1.0) == 0


def test_characters_and_errors_that_are_given():
    lists = [one_list(("ab", 1.0), ("a bc", 0.0), reference="a bd")]
    by_words = encode_lists(lists, CandidateFeatures(min_count=1))
    by_characters = encode_lists(lists, CandidateFeatures(min_count=1), units="characters")
    assert (by_words.reference_errors[0], by_words.length[0]) == (1, 2)
    assert (by_characters.reference_errors[0], by_characters.length[0]) == (1, 3)
    given = [CandidateList("u", [Candidate("a", {}, 2.5), Candidate("b", {}, 0.5), Candidate("c", {}, 0.75)])]
    data = encode_lists(given, CandidateFeatures(min_count=1), base=())
    assert data.reference.tolist() == [1]
    assert data.errors.tolist() == [2.0, 0.25]
    assert np.isnan(data.length[0])


def test_lists_without_a_pair_cost_nothing_and_count():
    lists = [one_list(), one_list(("a", 1.0)), one_list(("a b", 1.0), ("x", 0.0))]
    data = encode_lists(lists, CandidateFeatures(min_count=1))
    assert (data.n_lists, data.n_pairs) == (3, 1)
    assert data.list_ptr.tolist() == [0, 0, 0, 1]
    assert data.chosen_errors(np.zeros(data.n_weights)).tolist() == [2, 1, 0]
    nothing = encode_lists([], CandidateFeatures())
    assert (nothing.n_lists, nothing.n_pairs, nothing.n_weights) == (0, 0, 1)
    empty = encode_lists([one_list()], CandidateFeatures())
    assert empty.choices(np.zeros(1)).tolist() == [-1]


def test_a_list_in_which_all_are_wrong():
    data = encode_lists([one_list(("x y z", 1.0), ("p q r", 2.0))], CandidateFeatures(min_count=1))
    assert data.reference.tolist() == [1]
    assert data.reference_errors.tolist() == [3]
    assert data.errors.tolist() == [0]


def test_lists_to_be_ranked_only():
    lists = [CandidateList("u", [Candidate("a", {"score": 1.0}), Candidate("b", {"score": 3.0}), Candidate("c")])]
    features = CandidateFeatures((1,), 1)
    encode_lists(lists, features, base=(), labelled=False)
    data = encode_lists(lists, features, fit=False, labelled=False, missing="worst")
    assert data.choices(np.asarray([1.0, *np.zeros(data.n_features)])).tolist() == [1]
    w = np.asarray([1.0, *(5.0 * (name == "word: c") for name in features.names())])
    assert data.choices(w).tolist() == [2]
    with pytest.raises(ValueError, match="list 'u' has neither a reference nor errors"):
        encode_lists(lists, features, base=())


def test_scores_that_are_missing():
    lists = [one_list(("a", 1.0), ("b", None), ("c", -4.0)), one_list(("a", 0.0))]
    with pytest.raises(ValueError, match=r"list 'u', candidate 2 has no score 'score' \(1 of 4.*missing='worst'"):
        encode_lists(lists, CandidateFeatures(min_count=1))
    data = encode_lists(lists, CandidateFeatures(min_count=1), missing="worst")
    assert data.base[:, 0].tolist() == [5.0, 5.0]
    with pytest.raises(ValueError, match="no candidate has the score 'score', so there is no lowest"):
        encode_lists([one_list(("a", None))], CandidateFeatures(min_count=1), missing="worst")
    with pytest.raises(ValueError, match="scores there are: score"):
        encode_lists(lists, CandidateFeatures(min_count=1), base=("lm",))


def test_the_rank_stands_in_for_scores():
    lists = [CandidateList("u", [Candidate("x"), Candidate("a b"), Candidate("y")], "a b")]
    data = encode_lists(lists, CandidateFeatures(min_count=1), base=("rank",))
    assert data.base[:, 0].tolist() == [-1.0, 1.0]
    assert data.choices(np.eye(data.n_weights)[0]).tolist() == [0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_scores_that_are_no_numbers(value):
    with pytest.raises(ValueError, match="list 'u', candidate 2: the score 'score' is NaN or infinite"):
        encode_lists([one_list(("a", 1.0), ("b", value))], CandidateFeatures())


def test_bad_errors_and_settings():
    def errors(*numbers):
        return [CandidateList("u", [Candidate(str(i), {}, e) for i, e in enumerate(numbers)])]

    for wrong in ((1.0, None), (1.0, -1.0), (1.0, float("nan"))):
        with pytest.raises(ValueError, match="list 'u': errors must be given for all"):
            encode_lists(errors(*wrong), CandidateFeatures(), base=())
    with pytest.raises(ValueError, match="named twice"):
        encode_lists([], CandidateFeatures(), base=("a", "a"))
    with pytest.raises(ValueError, match="missing must be"):
        encode_lists([], CandidateFeatures(), missing="zero")
    with pytest.raises(ValueError, match="units must be"):
        encode_lists([], CandidateFeatures(), units="bytes")


def test_another_feature_space_is_refused():
    lists, features = random_lists(20), CandidateFeatures(min_count=1)
    data = encode_lists(lists, features)
    data.check_same_space(encode_lists(random_lists(10, seed=1), features, fit=False))
    with pytest.raises(IncompatibleError, match=r"other features.*fit=False"):
        data.check_same_space(encode_lists(random_lists(10, seed=1), CandidateFeatures(min_count=1)), "the dev lists")
    with pytest.raises(IncompatibleError, match="the dev lists have the base scores \\[\\], not \\['score'\\]"):
        data.check_same_space(encode_lists(lists, features, fit=False, base=()), "the dev lists")
    with pytest.raises(IncompatibleError, match="3 weights for lists of 1 base scores"):
        data.choices(np.zeros(3))
    same_size = dataclasses.replace(data, space="another")
    with pytest.raises(IncompatibleError, match="or other names"):
        data.check_same_space(same_size)


def test_parts_of_the_data():
    data = random_data(30)
    w = np.random.default_rng(0).normal(size=data.n_weights)
    order = np.random.default_rng(1).permutation(data.n_lists)
    part = data.take(order)
    np.testing.assert_array_equal(part.choices(w), data.choices(w)[order])
    np.testing.assert_array_equal(part.chosen_errors(w), data.chosen_errors(w)[order])
    assert data.fingerprint() == random_data(30).fingerprint() != part.fingerprint()


def test_arrays_are_read_only_and_checked():
    data = random_data()
    with pytest.raises(ValueError, match="read-only"):
        data.errors[0] = 1
    for change, message in (
        ({"list_ptr": np.asarray([0, 1])}, "list_ptr must ascend"),
        ({"base": np.full((data.n_pairs, 1), np.nan)}, "NaN or infinite"),
        ({"base": np.zeros((1, 1))}, "base scores of shape"),
        ({"errors": -np.ones(data.n_pairs)}, "not the best candidate"),
        ({"errors": np.zeros(1)}, "errors must have one entry"),
        ({"length": np.zeros(1)}, "length must have one entry"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(data, **change)


def test_threads_do_not_matter():
    one, three = (random_data(200, n_threads=n) for n in (1, 3))
    assert isinstance(one, CandidateLists)
    assert one.fingerprint() == three.fingerprint()
