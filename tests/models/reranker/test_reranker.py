"""Rerankers: every method on small lists, the path, files, explanations, and what is refused."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from candidate_problems import random_lists
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

import loglinear
from loglinear import IncompatibleError, LanguageModel, MaxentClassifier, ModelFileError, Reranker
from loglinear.data.candidates import encode_lists
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList, write_nbest
from loglinear.models import archive
from loglinear.models.reranker.methods import METHODS
from loglinear.models.reranker.predictor import RerankerPredictor

TRAIN, DEV, TEST = random_lists(150, 0), random_lists(60, 1), random_lists(60, 2)


def right_word_lists(n=42, wrong=3):
    """Every so many lists the base score prefers the wrong one of two words; one word tells which is right."""
    lists = []
    for i in range(n):
        other = "x" if i % 2 else "y"
        score = -0.5 if i % wrong == 0 else 1.0
        candidates = [Candidate(f"bad {other}", {"score": 0.0}), Candidate(f"good {other}", {"score": score})]
        lists.append(CandidateList(f"l{i}", candidates, f"good {other}"))
    return lists


def errors_of(texts, lists):
    """Word errors of chosen texts, the slow way; texts of equal length."""
    total = 0
    for text, one in zip(texts, lists):
        a, b = text.split(), one.reference.split()
        d = np.arange(len(b) + 1)
        for i, word in enumerate(a, 1):
            row = [i]
            for j, other in enumerate(b, 1):
                row.append(min(d[j] + 1, row[-1] + 1, d[j - 1] + (word != other)))
            d = row
        total += d[-1]
    return total


# ---- every method ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_goes_from_lists_to_lists(method, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Reranker(method, min_count=1).fit(TRAIN, validation=DEV)
    assert model.weights_.shape == (1 + model.n_features_,)
    assert model.path_.n_points == model.path_.loss.size
    assert model.no_change_ == (model.chosen_ == 0)
    assert model.path_.validation_errors[model.chosen_] == model.path_.validation_errors.min()
    assert model.path_.validation_errors[0] == model.validation_baseline_errors_
    predicted = model.predict(DEV)
    assert errors_of(predicted, DEV) == model.path_.validation_errors[model.chosen_]
    rates = model.evaluate(DEV)
    assert rates["reranked"]["n_errors"] == model.path_.validation_errors[model.chosen_]
    assert rates["baseline"]["n_errors"] == model.validation_baseline_errors_
    assert model.score(DEV) == 1 - rates["reranked"]["rate"]
    model.save(tmp_path / "m.ll")
    loaded = loglinear.load(tmp_path / "m.ll", verify=True)
    assert loaded.rerank(TEST, with_scores=True) == model.rerank(TEST, with_scores=True)
    assert loaded.evaluate(TEST) == model.evaluate(TEST)
    assert loaded.feature_weights() == model.feature_weights()
    assert np.all(loaded.weights_[1:] != 0)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(TEST) == model.predict(TEST)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("method", [m for m in METHODS if m != "none"])
def test_every_method_learns_which_word_is_right(method):
    model = Reranker(method, words=(1,), strength=0.1).fit(right_word_lists(), validation=right_word_lists(12))
    assert model.predict(right_word_lists(6)) == ["good y", "good x"] * 3
    assert not model.no_change_
    weights = dict(model.feature_weights())
    assert weights.get("word: good", 0.0) > weights.get("word: bad", 0.0)
    scores = model.evaluate(right_word_lists(12))
    assert (scores["baseline"]["rate"], scores["reranked"]["rate"]) == (1 / 6, 0.0)


def test_maxent_is_the_optimum_of_its_objective():
    model = Reranker("maxent", penalty="l2", strength=0.3, tolerance=1e-13, min_count=1).fit(TRAIN)
    X = encode_lists(TRAIN, CandidateFeatures(min_count=1))
    q = np.exp(-X.margins(model.weights_))
    totals = 1 + np.bincount(X.list_of_pair(), q, minlength=X.n_lists)
    residuals = -q / totals[X.list_of_pair()]
    gradient = np.zeros(X.n_weights)
    gradient[0] = residuals @ X.base[:, 0]
    for p in range(X.n_pairs):
        part = slice(X.rows.indptr[p], X.rows.indptr[p + 1])
        gradient[1 + X.rows.indices[part]] += residuals[p] * X.rows.values[part]
    gradient[1:] += 0.3 * model.weights_[1:]
    assert np.abs(gradient).max() < 1e-5
    assert model.chosen_ == 1  # without dev, the end of the path


# ---- the path -------------------------------------------------------------------------------------------------------
def test_strengths_are_a_path_and_dev_chooses():
    model = Reranker("maxent", tune=[0.5, 8, 2], min_count=1).fit(TRAIN, validation=DEV)
    assert model.path_.strength.tolist() == [np.inf, 8, 2, 0.5]
    assert np.all(np.diff(model.path_.loss) <= 0)
    assert np.all(np.diff(model.path_.l1) >= 0)
    chosen = model.chosen_
    alone = Reranker("maxent", strength=2.0, min_count=1, tolerance=1e-4).fit(TRAIN)
    np.testing.assert_allclose(model.weights_at(2), alone.weights_, atol=0.05)
    for point in range(4):
        model.take(point)
        assert model.chosen_ == point
        assert model.evaluate(DEV)["reranked"]["n_errors"] == model.path_.validation_errors[point]
        assert np.count_nonzero(model.weights_[1:]) == model.path_.n_nonzeros[point]
        assert model.validation_score_ == pytest.approx(model.score(DEV), abs=1e-12)
    assert model.take(0).no_change_
    assert not model.take(chosen).no_change_ or chosen == 0
    with pytest.raises(ValueError, match=r"point 4 is not on the path, whose points are 0 to 3"):
        model.take(4)


def test_several_strengths_need_held_out_lists():
    with pytest.raises(ValueError, match=r"give fit\(\.\.\., validation=lists\)"):
        Reranker("maxent", tune=[1, 2]).fit(TRAIN)
    with pytest.raises(ValueError, match="tune lists strengths, which 'blasso' has not"):
        Reranker("blasso", tune=[1, 2]).fit(TRAIN, validation=DEV)
    with pytest.raises(ValueError, match="tune must be None, 'validation' or a list of strengths, not 'cv'"):
        Reranker("maxent", tune="cv").fit(TRAIN, validation=DEV)
    tuned = Reranker("maxent", tune="validation", min_count=1).fit(TRAIN, validation=DEV)
    np.testing.assert_allclose(tuned.path_.strength[1:], np.geomspace(10, 0.01, 7))
    assert Reranker("boosting", tune="validation", max_iterations=5).fit(TRAIN, validation=DEV).path_.n_points == 6


def test_no_change_wins_where_features_only_hurt():
    lists = right_word_lists(20)
    upside_down = [replace(one, reference=one.reference.replace("good", "bad")) for one in lists]
    model = Reranker("maxent", words=(1,), strength=0.1).fit(lists, validation=upside_down)
    assert model.no_change_
    assert model.chosen_ == 0
    assert model.feature_weights() == []
    model.take(1)
    assert not model.no_change_


def test_a_base_score_of_no_use_is_told():
    lists = right_word_lists(20, wrong=1)
    with pytest.warns(UserWarning, match="If it is a cost, give minus the cost"):
        model = Reranker("maxent", words=(1,)).fit(lists, validation=lists)
    assert model.predict(lists) == [one.reference for one in lists]
    assert "bad y" in model.take(0).predict(lists)  # no change is the order of the base score


def test_a_path_from_a_file_has_no_weights(tmp_path):
    model = Reranker("maxent", tune=[4, 1], min_count=1).fit(TRAIN, validation=DEV)
    model.save(tmp_path / "m.ll")
    loaded = Reranker.load(tmp_path / "m.ll")
    np.testing.assert_array_equal(loaded.path_.validation_errors, model.path_.validation_errors)
    np.testing.assert_array_equal(loaded.path_.strength, model.path_.strength)
    assert loaded.chosen_ == model.chosen_
    with pytest.raises(ValueError, match="keeps the weights of the chosen point"):
        loaded.take(0)


@pytest.mark.parametrize("method", ["blasso", "f-boosting", "fslr", "boosting"])
def test_any_point_of_a_stagewise_path_is_a_model(method):
    model = Reranker(method, 0.1, min_count=1, max_iterations=200).fit(TRAIN, validation=DEV)
    path = model.path_
    assert path.n_points > 20
    assert path.loss[-1] < path.loss[0]
    assert (path.alpha is not None) == (path.backward is not None) == (method == "blasso")
    for point in (0, 1, 7, path.n_points - 1):
        model.take(point)
        assert errors_of(model.predict(DEV), DEV) == path.validation_errors[point]
        assert np.count_nonzero(model.weights_[1:]) == path.n_nonzeros[point]
        assert np.abs(model.weights_[1:]).sum() == pytest.approx(path.l1[point])
    assert Reranker(method, 0.1, max_iterations=9).fit(TRAIN).chosen_ == 9  # without dev, the end


@pytest.mark.parametrize("method", ["blasso", "boosting"])
def test_a_path_goes_on_where_it_ended(method):
    whole = Reranker(method, 0.1, min_count=1, max_iterations=60).fit(TRAIN, validation=DEV)
    model = Reranker(method, 0.1, min_count=1, max_iterations=25, warm_start=True).fit(TRAIN, validation=DEV)
    assert model.path_.n_points == 26
    model.set_params(max_iterations=60).fit(TRAIN, validation=DEV)
    for name in ("loss", "l1", "n_nonzeros", "validation_errors"):
        assert np.array_equal(getattr(model.path_, name), getattr(whole.path_, name))
    assert np.array_equal(model.weights_, whole.weights_)
    model.fit(TRAIN[:100], validation=DEV)  # other lists: a new path
    assert np.array_equal(model.weights_, clone(whole).fit(TRAIN[:100], validation=DEV).weights_)
    model.set_params(method="blasso", step=0.1).fit(TRAIN, validation=DEV)
    with pytest.raises(IncompatibleError, match=r"it began with: step was 0\.1, not 0\.2"):
        model.set_params(step=0.2).fit(TRAIN, validation=DEV)


def test_batch_methods_go_on_from_their_weights():
    model = Reranker("maxent", min_count=1, warm_start=True, max_iterations=3)
    with pytest.warns(ConvergenceWarning, match="stopped before the optimum"):
        model.fit(TRAIN)
    model.set_params(max_iterations=None).fit(TRAIN)
    fresh = Reranker("maxent", min_count=1).fit(TRAIN)
    objectives = [found.path_.loss[1] + found.path_.l1[1] for found in (model, fresh)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-3)


def test_long_paths_are_thinned_in_files(tmp_path):
    model = Reranker("blasso", 0.01, min_count=1, max_iterations=2000).fit(TRAIN, validation=DEV)
    assert model.path_.n_points > 1000
    model.take(777).save(tmp_path / "m.ll")
    loaded = Reranker.load(tmp_path / "m.ll").path_
    assert loaded.n_points == model.path_.n_points
    assert loaded.point.size <= 301
    assert 777 in loaded.point
    np.testing.assert_array_equal(loaded.loss, model.path_.loss[loaded.point])


def test_patience_ends_a_path():
    short = Reranker("blasso", 0.05, min_count=1, patience=5).fit(TRAIN, validation=DEV)
    assert short.status_ == "held-out errors fell no more"
    assert short.path_.n_points == short.chosen_ + 6


# ---- base scores ----------------------------------------------------------------------------------------------------
def test_base_scores_are_found():
    several = random_lists(40, 3, scores=("b", "a"))
    assert Reranker("none").fit(several).base_names_ == ("a", "b")
    assert Reranker("none").fit(TRAIN).base_names_ == ("score",)
    assert Reranker("none", base="b").fit(several).base_names_ == ("b",)
    none = random_lists(40, 3, scores=())
    model = Reranker("none").fit(none)
    assert model.base_names_ == ("rank",)
    assert model.predict(none) == [one.candidates[0].text if one.candidates else "" for one in none]


def test_with_several_base_scores_the_baseline_is_the_first_candidate():
    several = random_lists(60, 3, scores=("b", "a"))
    scores = Reranker("none").fit(several).evaluate(several)
    first = [one.candidates[0].text if one.candidates else "" for one in several]
    assert scores["baseline"]["n_errors"] == errors_of(first, several)


@pytest.mark.parametrize("method", list(METHODS))
def test_base_scores_may_be_left_out(method):
    model = Reranker(method, base=[], words=(1,), strength=0.1).fit(right_word_lists(), validation=right_word_lists(12))
    assert model.base_names_ == ()
    first = [one.candidates[0].text for one in right_word_lists(12)]
    assert model.take(0).predict(right_word_lists(12)) == first


def test_a_language_model_gives_a_base_score():
    language = LanguageModel(2, "witten-bell").fit([one.reference for one in TRAIN])
    plain = [replace(one, candidates=[Candidate(c.text) for c in one.candidates]) for one in TRAIN]
    model = Reranker("maxent", min_count=1).fit(plain, base_model=language)
    assert model.base_names_ == ("rank", "lm")
    assert model.base_weights()["lm"] > 0
    ranked = model.rerank(plain[:20], base_model=language, with_scores=True)
    for one in ranked:
        for candidate in one.candidates:
            expected = language.queries_.score_texts([candidate.text]).log_probability[0]
            assert candidate.scores["lm"] == expected
        scores = [candidate.scores["reranker"] for candidate in one.candidates]
        assert scores == sorted(scores, reverse=True)
    with pytest.raises(ValueError, match="has no score 'lm'"):
        model.predict(plain)
    given = [replace(one, candidates=[replace(c, scores={"lm": 7.0}) for c in one.candidates]) for one in plain]
    assert all(c.scores["lm"] == 7.0 for one in model.rerank(given, base_model=language) for c in one.candidates)
    characters = LanguageModel(2, "witten-bell", units="characters").fit(["a b"])
    with pytest.raises(IncompatibleError, match="candidates are words"):
        Reranker("none").fit(plain, base_model=characters)
    with pytest.raises(TypeError, match="must be a LanguageModel"):
        Reranker("none").fit(plain, base_model="lm.ll")


# ---- explanations ---------------------------------------------------------------------------------------------------
def test_explanations_add_up():
    model = Reranker("maxent", strength=0.2, min_count=1).fit(TRAIN)
    one = max(TEST, key=lambda item: len(item.candidates))
    found = model.explain(one)
    assert [c.text for c in found.candidates] == [c.text for c in model.rerank([one])[0].candidates]
    assert found.against is found.chosen
    for candidate in found.candidates:
        assert sum(push.contribution for push in candidate.pushes) == pytest.approx(candidate.score)
        sizes = [abs(push.contribution) for push in candidate.pushes]
        assert sizes == sorted(sizes, reverse=True)
    for candidate, pushes in found.differences():
        assert sum(p.contribution for p in pushes) == pytest.approx(candidate.score - found.chosen.score)
    assert found.chosen.pushes
    assert one.candidates[found.chosen.place].text in str(found)
    against = model.explain(one, against="reference").against
    assert against.errors == min(candidate.errors for candidate in found.candidates)
    with pytest.raises(ValueError, match="'chosen' or 'reference'"):
        model.explain(one, against="x")
    with pytest.raises(ValueError, match="neither a reference nor errors"):
        model.explain(replace(one, reference=None), against="reference")
    with pytest.raises(ValueError, match="is empty"):
        model.explain(CandidateList("e", []))


# ---- files ----------------------------------------------------------------------------------------------------------
def test_lists_of_files(tmp_path):
    for name, lists in (("a", TRAIN[:80]), ("b", TRAIN[80:])):
        write_nbest(tmp_path / name, lists)
    model = Reranker("maxent").fit([tmp_path / "a", tmp_path / "b"], validation=tmp_path / "b")
    same = Reranker("maxent").fit(TRAIN, validation=TRAIN[80:])
    assert np.array_equal(model.weights_, same.weights_)
    assert model.predict(str(tmp_path / "b")) == same.predict(TRAIN[80:])


def test_only_rerankers_are_loaded(tmp_path):
    MaxentClassifier().fit(["a b", "c"], ["x", "y"]).save(tmp_path / "c.ll")
    with pytest.raises(ModelFileError, match="a classifier, not a reranker"):
        Reranker.load(tmp_path / "c.ll")


@pytest.mark.parametrize("method", ["maxent", "blasso", "perceptron"])
def test_threads_do_not_change_a_bit(method):
    models = [Reranker(method, n_threads=n, min_count=1, max_iterations=100).fit(TRAIN) for n in (1, 2, 3)]
    for model in models[1:]:
        assert np.array_equal(model.weights_, models[0].weights_)
        assert model.rerank(TEST, with_scores=True) == models[0].rerank(TEST, with_scores=True)


# ---- bad input ------------------------------------------------------------------------------------------------------
def test_lists_without_a_reference():
    lists = [*TRAIN[:5], replace(TRAIN[5], id="bare", reference=None)]
    with pytest.raises(ValueError, match="list 'bare' has neither a reference nor errors"):
        Reranker("maxent").fit(lists)
    with pytest.raises(ValueError, match="validation: list 'bare' has neither"):
        Reranker("maxent").fit(TRAIN, validation=lists)
    model = Reranker("maxent").fit(TRAIN)
    assert len(model.predict(lists)) == 6  # to be ranked they need none
    with pytest.raises(ValueError, match="neither a reference"):
        model.evaluate(lists)


def test_errors_take_the_place_of_references():
    lists = [
        replace(one, reference=None, candidates=[replace(c, errors=float("bad" in c.text)) for c in one.candidates])
        for one in right_word_lists()
    ]
    model = Reranker("maxent", words=(1,)).fit(lists, validation=lists)
    assert model.path_.validation_errors[model.chosen_] == 0
    with pytest.raises(ValueError, match=r"no transcript .* give references"):
        model.evaluate(lists)


def test_empty_lists_and_lists_of_one_candidate():
    one = CandidateList("one", [Candidate("the cat", {"score": 1.0})], "a dog")
    empty = CandidateList("none", [], "a cat")
    for method in METHODS:
        model = Reranker(method).fit([one, empty], validation=[one, empty])
        assert model.no_change_
        assert model.predict([one, empty]) == ["the cat", ""]
        scores = model.evaluate([one, empty])
        assert scores["reranked"]["rate"] == scores["oracle"]["rate"] == 1.0
    mixed = Reranker("maxent").fit([*TRAIN, one, empty])
    assert np.array_equal(mixed.weights_, Reranker("maxent").fit(TRAIN).weights_)
    for nothing in ([], ()):
        with pytest.raises(ValueError, match="there are no lists to learn from"):
            Reranker("maxent").fit(nothing)
        with pytest.raises(ValueError, match="there are no validation lists"):
            Reranker("maxent").fit(TRAIN, validation=nothing)
    assert mixed.predict([]) == []


def test_all_candidates_wrong():
    lists = [replace(one, reference="zzz yyy xxx www vvv uuu ttt sss") for one in TRAIN]
    model = Reranker("maxent").fit(lists, validation=lists)
    scores = model.evaluate(lists)
    assert scores["oracle"]["rate"] > 0
    assert scores["reranked"]["rate"] >= scores["oracle"]["rate"]


def test_scores_missing_for_some():
    first, *rest = (one for one in TRAIN if len(one.candidates) > 2)
    bare = replace(first, candidates=[*first.candidates[:-1], replace(first.candidates[-1], scores={})])
    with pytest.raises(ValueError, match=r"list .*, candidate \d+ has no score 'score' \(1 of .*missing='worst'"):
        Reranker("maxent").fit([bare, *rest])
    model = Reranker("maxent", missing="worst").fit([bare, *rest])
    scores = model.candidate_scores([bare])[0]
    lowest = min(c.scores["score"] for c in bare.candidates[:-1])
    filled = replace(bare, candidates=[*bare.candidates[:-1], replace(bare.candidates[-1], scores={"score": lowest})])
    assert np.array_equal(scores, model.candidate_scores([filled])[0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers(value):
    bad = CandidateList("odd", [Candidate("a b", {"score": 0.0}), Candidate("a c", {"score": value})], "a b")
    with pytest.raises(ValueError, match=r"list 'odd', candidate 2: the score 'score' is NaN or infinite"):
        Reranker("maxent").fit([*TRAIN, bad])
    with pytest.raises(ValueError, match="NaN or infinite"):
        Reranker("maxent").fit(TRAIN).predict([bad])


def test_dev_lists_of_another_feature_space():
    foreign = [
        CandidateList("f", [Candidate("eins zwei", {"score": 0.0}), Candidate("drei", {"score": 1.0})], "drei")
    ]
    with pytest.raises(IncompatibleError, match="none of the features of the training lists"):
        Reranker("maxent").fit(TRAIN, validation=foreign)
    other_scores = random_lists(20, 4, scores=("acoustic",))
    with pytest.raises(ValueError, match=r"validation: .*has no score 'score' \(.*scores there are: acoustic\)"):
        Reranker("maxent").fit(TRAIN, validation=other_scores)
    encoded = encode_lists(DEV, CandidateFeatures(min_count=1))
    with pytest.raises(IncompatibleError, match="the validation lists have other features"):
        Reranker("maxent").fit(TRAIN, validation=encoded)


def test_classes_of_words_rank_words_that_were_never_seen(tmp_path):
    """good/bad differ by class alone: the words of the test lists are new."""
    classes = {"good": "A", "fine": "A", "bad": "B", "poor": "B"}
    path = tmp_path / "classes.tsv"
    path.write_text("".join(f"{word}\t{name}\n" for word, name in classes.items()), encoding="utf-8")
    model = Reranker("maxent", classes=path, strength=0.1).fit(right_word_lists())
    other = [CandidateList("t", [Candidate("poor x", {"score": 0.1}), Candidate("FINE x", {"score": 0.0})])]
    assert model.predict(other) == ["FINE x"]
    assert Reranker("maxent", strength=0.1).fit(right_word_lists()).predict(other) == ["poor x"]
    assert any(name.startswith("class: ") for name in model.features_.names())
    model.save(tmp_path / "m.ll")
    path.unlink()  # the model has its classes
    again = loglinear.load(tmp_path / "m.ll")
    assert again.predict(other) == ["FINE x"]
    assert again.classes == str(path)
    with pytest.raises(loglinear.LoglinearError, match=r"classes\.tsv: no such file"):
        again.fit(right_word_lists())


@pytest.mark.parametrize(
    ("classes", "message"),
    [({}, "classes has no words"), ({"a": "N 1"}, "a blank in its name"), (["a"], "a file or a dict")],
)
def test_classes_that_cannot_be_used(classes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Reranker("maxent", classes=classes).fit(TRAIN)


def test_damaged_classes_in_a_file(tmp_path):
    Reranker("maxent", classes={"good": "A", "bad": "B"}).fit(right_word_lists()).save(tmp_path / "m.ll")
    for name, wrong in [("labels", np.array([0, 9], np.int32)), ("labels", np.array([0], np.int32)), ("words", None)]:
        found = archive.load(tmp_path / "m.ll")
        found = replace(found, arrays=dict(found.arrays))
        key = f"featuriser.class_{name}"
        if wrong is None:
            del found.arrays[key]
        else:
            found.arrays[key] = wrong
        archive.save(tmp_path / "damaged.ll", found)
        with pytest.raises(ModelFileError, match="word classes"):
            loglinear.load(tmp_path / "damaged.ll")


def test_a_file_cannot_name_a_file_of_classes_to_read(tmp_path):
    """Loading reads no other file, whatever the settings say."""
    Reranker("maxent").fit(right_word_lists()).save(tmp_path / "m.ll")
    (tmp_path / "classes.tsv").write_text("good\tA\n", encoding="utf-8")
    found = archive.load(tmp_path / "m.ll")
    found.settings["featuriser"]["classes"] = str(tmp_path / "classes.tsv")
    archive.save(tmp_path / "damaged.ll", found)
    with pytest.raises(ModelFileError, match="classes are arrays"):
        loglinear.load(tmp_path / "damaged.ll")


def test_what_is_no_list():
    with pytest.raises(TypeError, match="put it in brackets"):
        Reranker("maxent").fit(TRAIN[0])
    with pytest.raises(TypeError, match="item 1 is int"):
        Reranker("maxent").fit([TRAIN[0], 3])
    with pytest.raises(loglinear.FormatError, match="there are no lists"):
        Reranker("maxent").fit("/dev/null")
    with pytest.raises(NotFittedError):
        Reranker().predict(TRAIN)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"method": "maxnt"}, "did you mean 'maxent'"), ({"units": "x"}, "units must be"), ({"missing": "x"}, "missing"),
     ({"strength": -1}, "strength must be"), ({"strength": "x"}, "strength must be"), ({"strength": []}, "strength"),
     ({"penalty": "tree-l2"}, "classes of"), ({"penalty": "x"}, "unknown penalty"), ({"solver": "x"}, "unknown"),
     ({"max_iterations": -1}, "max_iterations must be"), ({"patience": 0.5}, "patience must be"),
     ({"method": "blasso", "step": 0}, "step must be"), ({"method": "boosting", "shrinkage": 2}, "shrinkage"),
     ({"words": (0,)}, "orders between"), ({"base": [3]}, "names of scores"), ({"base": ["a", "a"]}, "twice")],
)  # fmt: skip
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        Reranker(**{"method": "maxent", **settings}).fit(TRAIN)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = Reranker("maxent").fit(TRAIN)
    expected = model.predict(TEST)
    with pytest.raises(ValueError, match="no score"):
        model.fit(random_lists(20, 4, scores=("x",)), validation=TRAIN)
    assert model.predict(TEST) == expected


def test_searches_of_scikit_learn():
    search = GridSearchCV(Reranker("maxent", min_count=1), {"strength": [0.5, 5.0]}, cv=3).fit(TRAIN)
    assert search.best_params_["strength"] in (0.5, 5.0)
    assert 0 < search.best_score_ < 1


def test_a_predictor_ranks_and_saves_as_the_estimator_does(tmp_path):
    model = Reranker("maxent", min_count=1, strength=0.3).fit(TRAIN, validation=DEV)
    model.save(tmp_path / "m.ll")
    light = RerankerPredictor.load(tmp_path / "m.ll")
    assert not isinstance(light, Reranker)
    assert light.rerank(TEST, with_scores=True) == model.rerank(TEST, with_scores=True)
    assert light.evaluate(TEST) == model.evaluate(TEST)
    assert str(light.explain(TEST[1])) == str(model.explain(TEST[1]))
    light.save(tmp_path / "again.ll")
    first, again = (archive.load(tmp_path / name) for name in ("m.ll", "again.ll"))
    assert (again.settings, again.summary) == (first.settings, first.summary)
    assert all(np.array_equal(array, first.arrays[name], equal_nan=True) for name, array in again.arrays.items())


@pytest.mark.parametrize("method", ["blasso", "f-boosting", "fslr", "boosting"])
def test_training_ends_where_the_lists_are_separated(method):
    texts = ["the cat sat", "a dog ran", "the dog sat", "a cat ran"] * 3
    lists = [
        CandidateList(str(i), [Candidate(text.replace(" ", " um ", 1), {"s": 0.2}), Candidate(text, {"s": 0.1})], text)
        for i, text in enumerate(texts)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the base score is of no use
        model = Reranker(method, verbose=0).fit(lists)
    assert model.status_ == "every list is separated: its reference stays first"
    assert model.path_.n_points < 100
    assert model.path_.loss[-1] < 1e-6 * len(lists)
    assert all(abs(weight) < 20 for _, weight in model.feature_weights())
    assert model.predict(lists) == texts
