import gzip
import pickle
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from children import python, stopped
from damage import assert_damage_is_refused
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from loglinear import FormatError, LanguageModel, ModelFileError, load
from loglinear.models.language_model.settings import ESTIMATORS
from loglinear.status import Status

WORDS = ["the", "a", "cat", "dog", "bird", "fox", "sees", "likes", "chases", "fears", "red", "big"]
WORDS += ["old", "and", "then", "it"]


def sentences(n, seed=0):
    """A little language in which what follows depends on the last two words."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(len(WORDS), 0.15), size=(len(WORDS), len(WORDS)))
    result = []
    for _ in range(n):
        words = [0, 1]
        while len(words) < 12 and rng.random() > 0.1:
            words.append(rng.choice(len(WORDS), p=table[words[-2], words[-1]]))
        result.append(" ".join(WORDS[w] for w in words[2:]) or "it")
    return result


TRAIN, VALID, TEST = (sentences(n, 0)[m:] for n, m in ((300, 0), (400, 300), (500, 400)))


def fitted(estimator="maxent", **options):
    options = {"order": 3, "verbose": 0, **options}
    return LanguageModel(estimator=estimator, **options).fit(TRAIN)


def contexts(model):
    words = list(model.vocabulary_)[1:6]
    longer = [["the", "cat", "sees", "a", "dog"], ["never", "heard", "of", "it"]] if model.units == "words" else []
    return [[], *([a] for a in words), *([a, b] for a in words for b in words), *longer]


def assert_sums_to_one(model, tolerance=1e-6):
    for context in contexts(model):
        for bos in (True, False):
            p = model.queries_.next_distribution(context, bos)
            assert p.sum() == pytest.approx(1, abs=tolerance)
            assert np.all(p > 0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_sums_to_one_before_and_after_files(estimator, tmp_path):
    model = fitted(estimator)
    assert_sums_to_one(model)
    model.save(tmp_path / "m.ll")
    assert_sums_to_one(load(tmp_path / "m.ll"))
    for full in (False, True):
        model.to_arpa(tmp_path / "m.arpa", full_precision=full)
        again = LanguageModel.from_arpa(tmp_path / "m.arpa")
        assert_sums_to_one(again)
        assert again.perplexity(TEST) == pytest.approx(model.perplexity(TEST), rel=1e-5)
    assert load(tmp_path / "m.ll").perplexity(TEST) == model.perplexity(TEST)


def test_maximum_entropy_learns_more_than_counting():
    perplexities = {estimator: fitted(estimator).perplexity(TEST) for estimator in ("maxent", "kneser-ney", "add-k")}
    assert perplexities["maxent"] < 1.03 * perplexities["kneser-ney"] < perplexities["add-k"]


def test_the_optimum_is_certified():
    model = fitted(tolerance=1e-13, max_iterations=2000)
    assert model.converged_
    assert model.solver_ == "owlqn"
    other = fitted(tolerance=1e-13, max_iterations=5000, solver="fista")
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
    assert other.perplexity(TEST) == pytest.approx(model.perplexity(TEST), rel=1e-3)


def test_unknown_words_keep_the_share_that_counting_gives_them():
    def unknown(estimator):
        model = fitted(estimator)
        return model.queries_.next_distribution([], False)[model.vocabulary_.unknown]

    assert 0.2 < unknown("maxent") / unknown("kneser-ney") < 5


def test_signed_ridge_and_other_penalties():
    ridge = fitted(penalty="l2", nonnegative=False, strength=0.5, tolerance=1e-13)
    assert ridge.solver_ == "lbfgs"
    assert ridge.converged_
    sparse = fitted(penalty="l1", strength=2.0)
    assert sparse.n_weights_ < ridge.n_weights_
    assert_sums_to_one(ridge)
    assert_sums_to_one(sparse)


def test_zero_weights_are_dropped_without_a_change(tmp_path):
    model = fitted(strength=3.0)
    assert sum(model.n_ngrams_) < sum(model.counts_)
    model.to_arpa(tmp_path / "m.arpa", full_precision=True)
    again = LanguageModel.load(tmp_path / "m.arpa")
    for context in contexts(model):
        np.testing.assert_allclose(
            sorted(again.next_distribution(context)), sorted(model.next_distribution(context)), rtol=2e-6
        )


def test_a_strength_that_zeroes_everything_warns():
    with pytest.warns(ConvergenceWarning, match="zeroed every weight"):
        model = fitted(strength=1e6)
    assert_sums_to_one(model)


def test_training_cut_short_warns():
    with pytest.warns(ConvergenceWarning, match="Raise max_iterations"):
        model = fitted(max_iterations=2)
    assert (model.status_, model.converged_) == (Status.MAX_ITERATIONS, False)


def test_strengths_are_tuned_on_validation_text():
    plain = fitted(strength=8.0)
    tuned = LanguageModel(3, tune="validation", verbose=0).fit(TRAIN, validation=VALID)
    assert tuned.perplexity(VALID) < plain.perplexity(VALID)
    assert tuned.perplexity(VALID) <= fitted().perplexity(VALID) * 1.001
    assert len(tuned.tuning_) >= 2
    assert tuned.perplexity(VALID) <= min(trial["perplexity"] for trial in tuned.tuning_) * (1 + 1e-6)
    assert [trial["chosen"] for trial in tuned.tuning_].count(True) == 1
    assert {row["order"] for row in tuned.strengths_} == {1, 2, 3}
    fine = LanguageModel(3, tune="validation", strength_classes="fine", verbose=0).fit(TRAIN, validation=VALID)
    assert len(fine.strengths_) == 1 + 18 * 2
    with pytest.raises(ValueError, match="validation="):
        LanguageModel(3, tune="validation").fit(TRAIN)


def test_adaptation_learns_only_the_difference(tmp_path):
    other = [" ".join(reversed(s.split())) for s in TRAIN]
    base = LanguageModel(3, verbose=0).fit(TRAIN + other[:20])
    base.save(tmp_path / "base.ll")
    adapted = LanguageModel(3, base=base, strength=0.5, verbose=0).fit(other[:60])
    assert adapted.perplexity(other[60:]) < base.perplexity(other[60:])
    assert_sums_to_one(adapted)
    from_file = LanguageModel(3, base=tmp_path / "base.ll", strength=0.5, verbose=0).fit(other[:60])
    assert from_file.perplexity(other[60:]) == pytest.approx(adapted.perplexity(other[60:]), rel=1e-6)
    unmoved = LanguageModel(3, base=base, strength=1e7, unigram_strength=1e7, verbose=0).fit(other[:60])
    assert unmoved.perplexity(other) == pytest.approx(base.perplexity(other), rel=1e-3)


def test_warm_start_goes_on_from_the_last_model():
    model = LanguageModel(3, warm_start=True, verbose=0).fit(TRAIN)
    words = list(model.vocabulary_)
    model.fit(TRAIN + VALID)
    assert list(model.vocabulary_) == words
    assert model.perplexity(TEST) < fitted().perplexity(TEST)


def test_cut_offs_pruning_and_vocabularies(tmp_path):
    full, cut = fitted(), fitted(min_count=2)
    assert sum(cut.n_ngrams_) < sum(full.n_ngrams_)
    assert_sums_to_one(cut)
    pruned = fitted("kneser-ney", prune=(0, 0, 1))
    assert pruned.n_ngrams_[2] < fitted("kneser-ney").n_ngrams_[2]
    assert_sums_to_one(fitted(prune_entropy=1e-4))
    few = fitted(max_words=6)
    assert len(few.vocabulary_) == 8
    assert few.evaluate(TEST)["n_unknown"] > 0
    (tmp_path / "words.txt").write_text("\n".join(WORDS[:10]), encoding="utf-8")
    listed = fitted(vocabulary=tmp_path / "words.txt")
    assert set(listed.vocabulary_) == {"</s>", "<unk>", *WORDS[:10]}
    assert set(fitted(vocabulary=WORDS[:10]).vocabulary_) == set(listed.vocabulary_)


@pytest.mark.parametrize("units", ["characters", "bytes"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_small_vocabularies_are_first_class(units, estimator):
    model = fitted(estimator, units=units, order=4, unknown="error")
    assert len(model.vocabulary_) < 40
    assert model.perplexity(TEST[:50]) < 8
    assert_sums_to_one(model)
    assert model.top("the do", 1)[0][0] == "g"
    assert all(set(text) <= set("".join(WORDS) + " ") for text in model.sample(5))


def test_text_comes_from_files_lists_and_iterables(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(TRAIN), encoding="utf-8")
    with gzip.open(tmp_path / "a.txt.gz", "wt") as file:
        file.write("\n".join(TRAIN))
    expected = fitted().perplexity(TEST)
    for source in (tmp_path / "a.txt", str(tmp_path / "a.txt.gz"), [s.split() for s in TRAIN], iter(TRAIN)):
        assert LanguageModel(3, verbose=0).fit(source).perplexity(TEST) == expected


def test_files_in_other_encodings(tmp_path):
    lines = [s.replace("a", "ä") for s in TRAIN]
    (tmp_path / "latin.txt").write_bytes("\n".join(lines).encode("latin-1"))
    with pytest.raises(FormatError, match="--encoding"):
        LanguageModel(2).fit(tmp_path / "latin.txt")
    model = LanguageModel(2, encoding="latin-1", verbose=0).fit(tmp_path / "latin.txt")
    assert model.perplexity(tmp_path / "latin.txt") == LanguageModel(2, verbose=0).fit(lines).perplexity(lines)


def test_memory_limits_change_nothing():
    assert fitted(memory="4M").perplexity(TEST) == fitted().perplexity(TEST)


def test_threads_and_processes_share_a_model(tmp_path):
    model = fitted()
    expected = model.queries_.score_batch(TEST)
    results = [None] * 4

    def work(i):
        results[i] = model.queries_.score_batch(TEST)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).queries_.score_batch(TEST), expected)
    for n_threads in (1, 2, 3):
        assert fitted(n_threads=n_threads).perplexity(TEST) == model.perplexity(TEST)


def test_scikit_learn_conventions():
    model = LanguageModel(order=2, strength=(0.3, 0.4), verbose=0)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.perplexity(TEST)
    search = GridSearchCV(model, {"strength": [0.3, 30.0]}, cv=2).fit(TRAIN)
    assert search.best_params_ == {"strength": 0.3}
    assert np.isfinite(search.score(TEST))


def test_a_failed_fit_changes_nothing(tmp_path):
    model = fitted()
    before = model.perplexity(TEST)
    with pytest.raises(FormatError, match="no words"):
        model.fit([])
    assert model.perplexity(TEST) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "good-turing"}, "known: maxent"),
        ({"order": 0}, "order"),
        ({"strength": "weak"}, "one or one per order, not 'weak'"),
        ({"strength": -1.0}, "nonnegative"),
        ({"l1_ratio": 2.0}, "between 0 and 1"),
        ({"penalty": "l3"}, "elastic_net"),
        ({"strength_classes": "odd"}, "order, fine"),
        ({"estimator": "kneser-ney", "tune": "validation"}, "maxent"),
        ({"min_count": (3, 2)}, "decrease"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        LanguageModel(**{"order": 3, "verbose": 0, **options}).fit(TRAIN, validation=VALID)


def test_bad_text_is_refused_with_its_place(tmp_path):
    closed = fitted(unknown="error")
    with pytest.raises(FormatError, match=r"zebra"):
        closed.perplexity(["the cat", "the zebra"])
    (tmp_path / "bad.txt").write_bytes(b"the cat\nthe </s> cat\n")
    with pytest.raises(FormatError, match=r"bad\.txt:2"):
        LanguageModel(2).fit(tmp_path / "bad.txt")
    (tmp_path / "empty.txt").write_bytes(b"\n \n")
    with pytest.raises(FormatError, match="no words"):
        LanguageModel(2, tune="validation").fit(TRAIN, validation=tmp_path / "empty.txt")
    with pytest.raises(ModelFileError, match="no such file"):
        LanguageModel.load(tmp_path / "none.ll")
    long = LanguageModel(order=30, verbose=0).fit(["a b", "b a"])  # longer than any sentence
    assert_sums_to_one(long)


def test_damaged_files_are_refused(tmp_path):
    fitted().save(tmp_path / "m.ll")
    assert_damage_is_refused(
        tmp_path / "m.ll", LanguageModel.load, lambda model: model.queries_.score_batch(TEST[:5]), n_flips=60
    )
    from loglinear import MaxentClassifier

    MaxentClassifier().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "c.ll")
    with pytest.raises(ModelFileError, match="not a language model"):
        LanguageModel.load(tmp_path / "c.ll")


ENDLESS = """
import warnings
from loglinear import LanguageModel
warnings.simplefilter("ignore")
rng = __import__("numpy").random.default_rng(0)
text = [" ".join(map(str, rng.zipf(1.3, 25).clip(max=3000))) for _ in range(2400)]
"""


def test_interrupted_training_keeps_the_best_so_far(tmp_path):
    code = f"""{ENDLESS}
model = LanguageModel(5, verbose=1, tolerance=0.0, max_iterations=10**9, penalty="l2",
                      strength=1e-9).fit(text)
assert model.status_ == "interrupted", model.status_
model.save({str(tmp_path / "m.ll")!r})
"""
    done = stopped(python(code), "step 1")
    assert done.returncode == 0, done.stdout
    assert LanguageModel.load(tmp_path / "m.ll").perplexity(["1 2 3"]) > 1


def test_interrupted_tuning_says_so():
    code = f"""{ENDLESS}
import loglinear.models.language_model.training as training
tune = training.tune_strengths
def tune_and_say(loss, penalty, validation, *args, **options):
    value_and_gradient, trials = validation.value_and_gradient, []
    def evaluated(*weights):
        trials.append(0)
        print("trial", len(trials), flush=True)
        return value_and_gradient(*weights)
    validation.value_and_gradient = evaluated
    return tune(loss, penalty, validation, *args, **options)
training.tune_strengths = tune_and_say
model = LanguageModel(4, verbose=0, tune="validation").fit(text[:2000], validation=text[2000:])
assert model.status_ == "interrupted", model.status_
assert model.perplexity(text[:100]) > 1
"""
    done = stopped(python(code), "trial 2")
    assert done.returncode == 0, done.stdout


# ---- one sentence ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["score", "perplexity", "evaluate", "fit"])
def test_a_lone_sentence_is_no_text(method, tmp_path, monkeypatch):
    model = fitted("kneser-ney")
    said = (
        "'the cat sees a dog' is no file; text is a file or a list of sentences, such as ['the cat sees a dog']; "
        "explain('the cat sees a dog') scores one sentence"
    )
    with pytest.raises(FormatError, match=f"^{re.escape(said)}$"):
        getattr(model, method)("the cat sees a dog")
    with pytest.raises(FormatError, match="is no file; text is a file or a list of sentences"):
        getattr(model, method)("the cat " * 1000)  # longer than any name of a file
    with pytest.raises(FormatError, match=r"nothing\.txt: no such file"):
        getattr(model, method)(tmp_path / "nothing.txt")
    monkeypatch.chdir(tmp_path)
    Path("cat").write_text("the cat\n", encoding="utf-8")
    getattr(model, method)("cat")
    getattr(model, method)(["the cat sees a dog"])


def test_one_sentence_is_scored_by_its_explanation():
    model = fitted("kneser-ney")
    explained = model.explain("the cat sees a dog")
    assert explained.perplexity == pytest.approx(model.perplexity(["the cat sees a dog"]), rel=1e-6)
    assert explained.log_probability / 6 == pytest.approx(model.score(["the cat sees a dog"]), rel=1e-6)
