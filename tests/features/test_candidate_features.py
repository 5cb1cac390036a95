import itertools
from dataclasses import replace

import numpy as np
import pytest
from candidate_problems import grams, random_lists
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.data.candidates import feature_space
from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList

FUNCTION_WORDS = ["the", "a", "on"]
CLASSES = {"the": "D", "a": "D", "on": "P", "b": "N", "c": "N"}
SETTINGS = {
    "words": {},
    "trigrams alone": {"words": (3,)},
    "without boundaries": {"words": (1, 2), "boundaries": False},
    "skips": {"words": (1,), "skips": 2},
    "headwords": {"words": (1, 2), "headwords": FUNCTION_WORDS},
    "characters": {"words": (), "characters": (1, 3)},
    "classes": {"words": (1, 2, 3), "classes": CLASSES},
    "classes without boundaries": {"words": (2,), "boundaries": False, "classes": CLASSES},
    "all": {"words": (1, 2, 4), "classes": CLASSES, "skips": 1, "headwords": FUNCTION_WORDS, "characters": (2,)},
}


def counts_of(lists, **options):
    heads = options.pop("headwords", None)
    is_head = None if heads is None else lambda word: word not in heads
    return [[grams(c.text, heads=is_head, **options) for c in one.candidates] for one in lists]


def kept(counts, min_count):
    """Features in enough lists that differ in one."""
    names = {name for one in counts for candidate in one for name in candidate}
    return {
        name
        for name in names
        if sum(any(name in c for c in one) for one in counts) >= min_count
        and any(len({c[name] for c in one}) > 1 for one in counts)
    }


def as_dicts(rows, names):
    indptr, indices, values = rows
    assert all(np.all(np.diff(indices[a:b]) > 0) for a, b in itertools.pairwise(indptr))
    return [dict(zip((names[j] for j in indices[a:b]), values[a:b])) for a, b in itertools.pairwise(indptr)]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("min_count", [1, 3])
def test_counts_equal_those_made_slowly(name, min_count):
    lists = random_lists(40, seed=3)
    features = CandidateFeatures(min_count=min_count, **SETTINGS[name])
    rows = features.fit_transform(lists)
    counts = counts_of(lists, **{"words": (1, 2), **SETTINGS[name]})
    expected = kept(counts, min_count)
    assert set(features.names()) == expected
    assert len(features.names()) == len(expected) > 0
    flat = [{k: v for k, v in c.items() if k in expected} for one in counts for c in one]
    assert as_dicts(rows, features.names()) == flat


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(" ab<s/>\tあ亜", max_size=8), max_size=4), max_size=5))
def test_any_text(groups):
    lists = [CandidateList(str(i), [Candidate(t) for t in texts]) for i, texts in enumerate(groups)]
    features = CandidateFeatures((1, 2), 1, characters=(1, 2))
    rows = features.fit_transform(lists)
    again = features.transform(lists)
    for a, b in zip(rows, again):
        np.testing.assert_array_equal(a, b)


def test_other_lists_are_counted_in_the_same_features():
    features = CandidateFeatures(min_count=1, **SETTINGS["all"])
    features.fit_transform(random_lists(20, seed=0))
    other = random_lists(20, seed=1)
    known = set(features.names())
    counts = counts_of(other, **SETTINGS["all"])
    expected = [{k: v for k, v in c.items() if k in known} for one in counts for c in one]
    assert as_dicts(features.transform(other), features.names()) == expected


def test_threads_do_not_matter():
    lists = [  # several chunks of work
        CandidateList(str(i), [Candidate(" ".join(f"w{(i * k + j * c) % 977}" for j in range(60))) for c in range(8)])
        for i, k in enumerate(np.random.default_rng(0).integers(1, 900, size=600).tolist())
    ]
    results = []
    for n_threads in (1, 2, 3):
        features = CandidateFeatures(skips=1)
        results.append((features.fit_transform(lists, n_threads), features))
    for rows, features in results[1:]:
        assert features.vocabulary == results[0][1].vocabulary
        for a, b in zip(rows, results[0][0]):
            np.testing.assert_array_equal(a, b)


def test_headwords_by_script():
    texts = ["私 は コーヒー を 飲む", "私 は こーひー を 飲む"]
    features = CandidateFeatures((), 1, headwords="cjk")
    features.fit_transform([CandidateList("u", [Candidate(t) for t in texts])])
    assert features.names() == ["head: 私 コーヒー", "head: コーヒー 飲む", "head: 私 飲む"]


def test_features_of_ones_own():
    def candidate(text, **features):
        return Candidate(text, {}, None, features)

    lists = [
        CandidateList("u", [candidate("a", length=1.5, same=2.0, rare=1.0), candidate("b", length=2.0, same=2.0)]),
        CandidateList("v", [candidate("a", length=1.0, same=1.0), candidate("a b")]),
    ]
    features = CandidateFeatures((1,), 2)
    rows = features.fit_transform(lists)
    assert features.names() == ["word: a", "word: b", "given: length", "given: same"]
    assert as_dicts(rows, features.names())[:2] == [
        {"word: a": 1, "given: length": 1.5, "given: same": 2.0},
        {"word: b": 1, "given: length": 2.0, "given: same": 2.0},
    ]
    other = [CandidateList("w", [candidate("b c", length=-3.0, unknown=1.0)])]
    assert as_dicts(features.transform(other), features.names()) == [{"word: b": 1, "given: length": -3.0}]
    with pytest.raises(ValueError, match="'given: length' is not a finite number"):
        features.transform([CandidateList("w", [candidate("a", length=float("nan"))])])


def test_into_a_model_file_and_back():
    lists = random_lists(20)
    features = CandidateFeatures(min_count=1, **SETTINGS["all"])
    rows = features.fit_transform(lists)
    again = CandidateFeatures.from_arrays(*features.to_arrays())
    assert feature_space(again) == feature_space(features)
    for a, b in zip(rows, again.transform(lists)):
        np.testing.assert_array_equal(a, b)
    fewer = features.take([2, 0])
    assert fewer.names() == [features.names()[2], features.names()[0]]
    assert feature_space(fewer) != feature_space(features)
    with pytest.raises(ModelFileError, match="bad settings"):
        CandidateFeatures.from_arrays({"words": [0]}, features.to_arrays()[1])


def test_refusals():
    for wrong in ({"words": (0,)}, {"characters": (99,)}, {"min_count": 0}, {"skips": -1}, {"headwords": "verbs"},
                  {"headwords": ["a", 3]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            CandidateFeatures(**wrong)
    with pytest.raises(LoglinearError, match="no vocabulary yet"):
        CandidateFeatures().transform([])
    with pytest.raises(TypeError, match="item 1 is int"):
        CandidateFeatures().fit_transform([CandidateList("u", [Candidate("a"), Candidate(3)])])


@pytest.mark.parametrize("min_count", [1, 3])
def test_features_of_parts_are_those_of_the_whole(min_count):
    every = [
        replace(one, candidates=[replace(c, features={"z": float(k), f"y{i % 3}": 1.0, "same": 2.0})
                                 for k, c in enumerate(one.candidates)])
        for i, one in enumerate(random_lists(60))
    ]  # fmt: skip
    own_settings = {"words": (1, 3), "min_count": min_count, "skips": 1, "characters": (2,)}
    whole = CandidateFeatures(**own_settings)
    whole.fit_transform(every)
    joined = CandidateFeatures(**own_settings)
    cuts = [every[:7], [], every[7:40], every[40:]]
    numbers = joined.join([joined.uses(part) for part in cuts])
    assert list(joined.vocabulary) == list(whole.vocabulary)
    assert "given: same" not in list(whole.vocabulary)
    for part, own in zip(cuts, numbers):
        _, used, _ = whole.transform(part)
        assert set(used.tolist()) <= set(own.tolist())
