"""Language models under tree penalties: distributions, files, collapsed against plain, optima, tuning, refusals."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from damage import assert_damage_is_refused
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from loglinear import LanguageModel, load
from loglinear.data.corpus import read_corpus
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.penalty import TREES, TreePenalty
from loglinear.models.language_model.training import n_paths
from loglinear.models.language_model.tree_training import forest, weights_over
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.penalties import L2, Blocks, TreeLinf
from loglinear.solvers import Fista

DATA = os.environ.get("LOGLINEAR_DATA")
WORDS = ["the", "a", "cat", "dog", "bird", "fox", "sees", "likes", "chases", "fears", "red", "big"]
PRECISE = {"tolerance": 1e-12, "max_iterations": 20000}


def sentences(n, seed=0):
    """A little language in which what follows depends on the last two words, with phrases that recur whole."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(len(WORDS), 0.2), size=(len(WORDS), len(WORDS)))
    result = []
    for _ in range(n):
        words = [0, 1]
        while len(words) < 12 and rng.random() > 0.1:
            words.append(rng.choice(len(WORDS), p=table[words[-2], words[-1]]))
        phrase = ["once upon a time there was"] if rng.random() < 0.2 else []
        result.append(" ".join([*phrase, *(WORDS[w] for w in words[2:])]) or "the")
    return result


TEXT = sentences(600)
TRAIN, VALID, TEST = TEXT[:400], TEXT[400:500], TEXT[500:]


def fitted(penalty="tree-linf", **options):
    options = {"order": 5, "verbose": 0, **options}
    return LanguageModel(penalty=penalty, **options).fit(TRAIN)


def contexts():
    some = [[], *([a] for a in WORDS[:4]), *([a, b] for a in WORDS[:3] for b in WORDS[:4])]
    return [*some, ["once", "upon", "a", "time"], ["a", "time", "there", "was", "the"], ["never", "heard", "of", "it"]]


def assert_sums_to_one(model, tolerance=1e-6):
    for context in contexts():
        for bos in (True, False):
            p = model.queries_.next_distribution(context, bos)
            assert p.sum() == pytest.approx(1, abs=tolerance)
            assert np.all(p > 0)


@pytest.mark.parametrize("penalty", TREES)
@pytest.mark.parametrize("order", [1, 2, 5, 9])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_distributions_before_and_after_files(penalty, order, tmp_path):
    model = fitted(penalty, order=order)
    assert_sums_to_one(model)
    model.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll", verify=True)
    assert_sums_to_one(again)
    np.testing.assert_array_equal(again.queries_.score_batch(TEST), model.queries_.score_batch(TEST))
    assert (again.n_parameters_, again.strength_, again.strengths_) == (
        model.n_parameters_,
        model.strength_,
        model.strengths_,
    )
    for full in (False, True):
        model.to_arpa(tmp_path / "m.arpa", full_precision=full)
        read = LanguageModel.from_arpa(tmp_path / "m.arpa")
        assert_sums_to_one(read)
        assert read.perplexity(TEST) == pytest.approx(model.perplexity(TEST), rel=1e-5)
    again.to_arpa(tmp_path / "again.arpa", full_precision=True)
    assert (tmp_path / "again.arpa").read_bytes() == (tmp_path / "m.arpa").read_bytes()
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(again)).queries_.score_batch(TEST), model.queries_.score_batch(TEST)
    )


def test_no_limit_of_the_order(tmp_path):
    model = fitted(order=None)
    longest = max(len(s.split()) for s in TRAIN) + 2
    assert model.order_ <= longest
    assert len(model.counts_) == longest
    assert_sums_to_one(model)
    limited = fitted(order=longest)
    assert limited.perplexity(TEST) == pytest.approx(model.perplexity(TEST), rel=1e-9)
    model.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").perplexity(TEST) == model.perplexity(TEST)


@pytest.mark.parametrize("penalty", TREES)
def test_the_optimum_is_certified(penalty):
    model = fitted(penalty, **PRECISE)
    assert model.converged_
    assert model.solver_ == "fista"
    assert model.gap_ <= 1e-12


def test_whole_groups_are_zero():
    """An n-gram that is left out takes all longer ones along."""
    model = fitted("tree-l2", strength=2.0, l2=0.0).queries_.to_backoff()
    kept = {tuple(ngram) for ngram in ngrams_of(model)}
    assert any(len(ngram) > 2 for ngram in kept)
    for ngram in kept:
        assert len(ngram) <= 2 or ngram[1:] in kept


def ngrams_of(model):
    """Every n-gram of a back-off model, oldest word first."""
    stack = [(0, ())]
    while stack:
        c, words = stack.pop()
        for e in range(model.context_entry[c], model.context_entry[c + 1]):
            yield (*words, int(model.entry_word[e]))
        for child in range(model.context_child[c], model.context_child[c + 1]):
            stack.append((child, (int(model.context_word[child]), *words)))


@pytest.mark.parametrize("penalty", TREES)
def test_strength_growth_and_ridge_shrink_models(penalty):
    free, strong = fitted(penalty, strength=0.3), fitted(penalty, strength=3.0)
    assert strong.n_weights_ < free.n_weights_
    assert strong.n_parameters_ <= strong.n_weights_
    steep = fitted(penalty, strength=0.3, depth_growth=3.0)
    assert sum(steep.n_ngrams_[2:]) < sum(free.n_ngrams_[2:])
    assert fitted(penalty, strength=0.3, l2=50.0).perplexity(TRAIN) > free.perplexity(TRAIN)


def test_depth_growth_goes_with_every_penalty():
    for penalty in ("l1", "l2", "elastic_net"):
        grown = fitted(penalty, strength=0.5, depth_growth=1.5)
        listed = fitted(penalty, strength=tuple(0.5 * 1.5**n for n in range(4)))
        assert grown.perplexity(TEST) == pytest.approx(listed.perplexity(TEST), rel=1e-9)


def test_signed_weights():
    model = fitted("tree-l2", nonnegative=False, strength=0.1)
    assert_sums_to_one(model)
    assert model.perplexity(TRAIN) < fitted("tree-l2", strength=0.1).perplexity(TRAIN) * 1.01


@pytest.mark.parametrize("penalty", TREES)
def test_threads_change_nothing(penalty):
    scores = [fitted(penalty, n_threads=n).queries_.score_batch(TEST) for n in (1, 2, 3)]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


# ---- tuning ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("penalty", TREES)
def test_settings_are_tuned_on_validation_text(penalty):
    tuned = LanguageModel(4, penalty=penalty, tune="validation", verbose=0).fit(TRAIN, validation=VALID)
    usual = LanguageModel(4, penalty=penalty, verbose=0).fit(TRAIN)
    assert tuned.perplexity(VALID) < usual.perplexity(VALID) * 1.0005
    (best,) = [trial for trial in tuned.tuning_ if trial["chosen"]]
    assert tuned.perplexity(VALID) <= min(trial["perplexity"] for trial in tuned.tuning_) * (1 + 1e-6)
    assert best["strengths"] == pytest.approx([tuned.strength_, tuned.depth_growth_, tuned.l2_])
    assert best["perplexity"] == pytest.approx(tuned.perplexity(VALID), rel=0.01)
    assert tuned.strengths_[2]["group"] == pytest.approx(tuned.strength_ * tuned.depth_growth_)


def test_what_is_given_is_not_tuned():
    model = LanguageModel(3, penalty="tree-linf", tune="validation", depth_growth=1.25, l2=0.0, verbose=0)
    model.fit(TRAIN, validation=VALID)
    assert len({trial["strengths"][0] for trial in model.tuning_}) > 2
    assert all(trial["strengths"][1:] == [1.25, 0.0] for trial in model.tuning_)
    with pytest.raises(ValueError, match="validation="):
        LanguageModel(3, penalty="tree-l2", tune="validation").fit(TRAIN)


def test_interrupted_tuning_keeps_the_best_so_far():
    script = """
import os, signal, warnings
from loglinear import LanguageModel
warnings.simplefilter("ignore")
rng = __import__("numpy").random.default_rng(0)
text = [" ".join(map(str, rng.zipf(1.3, 25).clip(max=3000))) for _ in range(360)]
import loglinear.models.language_model.tree_training as training
tune = training.tune_path
def tune_and_interrupt(objective_at, validation, *args, **options):
    calls = []
    def interrupted(w):
        calls.append(0)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return validation(w)
    return tune(objective_at, interrupted, *args, **options)
training.tune_path = tune_and_interrupt
model = LanguageModel(4, penalty="tree-l2", verbose=0, tune="validation").fit(text[:300], validation=text[300:])
assert model.status_ == "interrupted", model.status_
assert len(model.tuning_) == 2, model.tuning_
assert model.perplexity(text[:100]) > 1
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


# ---- settings -------------------------------------------------------------------------------------------------------
def test_scikit_learn_conventions():
    model = LanguageModel(None, penalty="tree-linf", strength=0.4, depth_growth=1.18, l2=0.1)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).fit(TRAIN).score(TEST) < 0


def test_another_fit_forgets_the_tree(tmp_path):
    model = fitted(order=4).set_params(penalty="elastic_net").fit(TRAIN)
    for name in ("collapsed_", "depth_growth_", "l2_"):
        assert not hasattr(model, name)
    model.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").perplexity(TEST) == model.perplexity(TEST)
    pruned = fitted(order=4, prune_entropy=1e-4)
    pruned.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").perplexity(TEST) == pruned.perplexity(TEST)
    assert sum(pruned.n_ngrams_) < sum(fitted(order=4).n_ngrams_)


def test_a_collapsed_tree_is_the_model_of_all_its_n_grams():
    """The penalised loss over all n-grams, each group weighing as the mean of its path, has the same optimum."""
    sentences, vocabulary = read_corpus(TRAIN[:60])
    order, penalty = 6, TreePenalty("tree-linf", 0.4, 1.3, 0.1)
    on_tree = weights_over(build_suffix_tree(sentences, order), vocabulary)
    precise = {"violation_tolerance": 1e-9, "max_iterations": 50000}
    small = minimise(on_tree.objective(penalty), Fista(), on_tree.start, **precise)
    collapsed = on_tree.loss.tree
    means = [
        np.mean([1.3**d for d in range(first, first + m)])
        for first, m in zip(collapsed.entry_depth.tolist(), collapsed.entry_multiplicity.tolist())
    ]
    full, by_ngram = collapsed.expand(np.array(means))
    tree = forest(full)
    plain = Blocks(
        [
            (full.n_words, L2(0.01)),
            (tree.n_nodes, TreeLinf(tree, 0.4, weights=by_ngram[full.n_words :], l2=0.1, nonnegative=True)),
        ]
    )
    large = minimise(Objective(NgramMaxentLoss(full), plain), Fista(), **precise)
    assert small.converged
    assert large.converged
    assert small.value == pytest.approx(large.value, rel=1e-9)
    expanded = collapsed.expand(np.where(small.weights == 0, 1e-300, small.weights))[1]
    np.testing.assert_allclose(expanded, large.weights, atol=2e-4)


def test_underscores_are_as_good_as_dashes():
    assert fitted("tree_l2").perplexity(TEST) == fitted("tree-l2").perplexity(TEST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "tree-l1"}, "tree-l2, tree-linf"),
        ({"order": 60}, "order 60: the longest n-gram of the text"),
        ({"order": 60, "penalty": "tree-l2"}, "order 60: the longest n-gram of the text"),
        ({"order": None, "estimator": "kneser-ney", "penalty": "elastic_net"}, "give an order, or one of those"),
        ({"order": None, "min_count": 2}, "leave min_count at"),
        ({"min_count": (1, 2)}, "use penalty='tree-l2'"),
        ({"memory": "1G"}, "in memory"),
        ({"depth_growth": 0.0}, "positive, finite"),
        ({"depth_growth": -1.1}, "positive, finite"),
        ({"depth_growth": float("nan")}, "positive, finite"),
        ({"depth_growth": float("inf"), "penalty": "l1"}, "positive, finite"),
        ({"depth_growth": 1e80}, "too large"),
        ({"depth_growth": 1e-80, "penalty": "tree-l2"}, "too small"),
        ({"depth_growth": 1e80, "penalty": "elastic_net"}, "too large"),
        ({"strength": (0.3, 0.4)}, "which has one"),
        ({"strength": -1.0}, "nonnegative number"),
        ({"strength": float("inf")}, "nonnegative number"),
        ({"l2": -0.1}, "nonnegative number"),
        ({"l2": 0.1, "penalty": "elastic_net"}, "l1_ratio"),
        ({"strength_classes": "fine"}, "one strength"),
        ({"base": "anything.ll"}, "elastic_net"),
        ({"estimator": "kneser-ney"}, "estimator='maxent'"),
        ({"estimator": "add-k", "penalty": "elastic_net", "depth_growth": 1.2}, "estimator='maxent'"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LanguageModel(**{"order": 5, "penalty": "tree-linf", "verbose": 0, **options}).fit(TRAIN)


def test_a_strength_that_zeroes_everything_warns(tmp_path):
    for penalty in TREES:
        with pytest.warns(ConvergenceWarning, match="zeroed every weight"):
            model = fitted(penalty, strength=1e6)
        assert_sums_to_one(model)
        model.save(tmp_path / "m.ll")
        assert load(tmp_path / "m.ll").perplexity(TEST) == model.perplexity(TEST)


def test_damaged_files_are_refused(tmp_path):
    fitted(order=4).save(tmp_path / "m.ll")
    assert_damage_is_refused(
        tmp_path / "m.ll", LanguageModel.load, lambda model: model.queries_.score_batch(TEST[:5]), n_flips=150
    )


# ---- parameters -----------------------------------------------------------------------------------------------------
def test_paths_are_counted_once():
    from ngrams import reference_trie

    trie = reference_trie([[1, 2, 3], [1, 2, 3]], 4, 4)
    w = np.zeros(trie.n_entries)
    assert n_paths(trie, w) == 0
    w[:] = 1.0  # all equal: what is left is where histories part
    orders = trie.order_of_entries()
    children = np.bincount(trie.entry_parent[trie.n_words :], minlength=trie.n_entries)
    expected = trie.n_entries - sum(children[trie.entry_parent[e]] == 1 for e in np.flatnonzero(orders > 2))
    assert n_paths(trie, w) == expected < trie.n_entries
    w[orders == 3] = 2.0
    assert n_paths(trie, w) > expected


@pytest.mark.skipif(DATA is None, reason="LOGLINEAR_DATA is not set")
@pytest.mark.parametrize("penalty", TREES)
def test_penn_treebank_perplexities(penalty):
    folder = Path(DATA) / "ptb"
    train, test = folder / "ptb.train.txt.gz", folder / "ptb.test.txt.gz"
    assert LanguageModel(5, penalty=penalty, verbose=0).fit(train).perplexity(test) < 139.0


@pytest.mark.parametrize("penalty", ["elastic_net", "l1", "l2"])
def test_other_penalties_collapse_too(penalty, tmp_path):
    longest = max(len(s.split()) for s in TRAIN) + 2
    options = {"penalty": penalty, "strength": 0.4, "l1_ratio": 0.6, "verbose": 0, **PRECISE}
    on_tree = LanguageModel(order=None, **options).fit(TRAIN)
    on_trie = LanguageModel(order=longest, solver="fista", **options).fit(TRAIN)
    assert on_tree.converged_
    assert on_trie.converged_
    assert on_tree.objective_ == pytest.approx(on_trie.objective_, rel=1e-9)
    if penalty != "l1":  # l1 alone leaves open how a path shares its sum
        assert on_tree.perplexity(TEST) == pytest.approx(on_trie.perplexity(TEST), rel=1e-4)
    assert on_tree.n_parameters_ < on_trie.n_weights_
    on_tree.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll", verify=True)
    np.testing.assert_array_equal(again.queries_.score_batch(TEST), on_tree.queries_.score_batch(TEST))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tune": "validation"}, "give an order"),
        ({"min_count": 2}, "leave min_count at 1"),
        ({"memory": "1G"}, "leave it out"),
        ({"penalty": "none"}, "give an order"),
        ({"penalty": "tree-l2"}, "give an order"),
    ],
)
def test_what_unbounded_orders_refuse(options, told):
    with pytest.raises(ValueError, match=told):
        LanguageModel(order=None, **options).fit(TRAIN, validation=VALID)
