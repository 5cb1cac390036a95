"""Language models under the norms of Nelakanti et al. (2013): plain tree-l2, and weights of features."""

import json

import numpy as np
import pytest
from commands import invoke
from scipy.optimize import minimize

from loglinear import LanguageModel, load
from loglinear.data.corpus import read_corpus
from loglinear.data.ngram import build_trie
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.models.language_model.penalty import TreePenalty
from loglinear.models.language_model.tree_training import train_tree, weights_over
from loglinear.optimise.training import Settings

PRECISE = Settings(solver="fista", tolerance=1e-12, max_iterations=20000, verbose=0)


def sentences(n, seed=0):
    """Words whose counts span two orders of magnitude, and phrases that recur whole."""
    rng = np.random.default_rng(seed)
    text = [" ".join(map(str, rng.zipf(1.5, rng.integers(3, 9)).clip(max=20))) for _ in range(n)]
    return [f"{s} once upon a time" if k % 5 == 0 else s for k, s in enumerate(text)]


TEXT = sentences(300)
TRAIN, VALID, TEST = TEXT[:200], TEXT[200:250], TEXT[250:]


def fitted(penalty="tree-l2", text=TRAIN, **options):
    return LanguageModel(penalty=penalty, **{"order": 4, "verbose": 0, **options}).fit(text)


# ---- the optimum ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("group_norm", "alpha"), [("plain", 1.0), ("counts", 0.85), ("plain", 1.1)])
def test_a_generic_minimiser_finds_no_better_optimum(group_norm, alpha):
    """L-BFGS-B on loss + sum of k sqrt(|v_g|^2 + e^2), written from the formula: k e per group above the optimum."""
    small = 1e-5
    numbers, vocabulary = read_corpus(TRAIN[:25])
    weights = weights_over(build_trie(numbers, 3), vocabulary)
    penalty = TreePenalty("tree-l2", 0.4, 1.2, 0.05, group_norm=group_norm, feature_decay=alpha)
    fit = train_tree(weights, penalty, PRECISE)
    assert fit.solution.result.converged
    loss, trie = weights.loss, weights.loss.trie
    n, n_words = loss.n_weights, trie.n_words
    parent = trie.entry_parent.astype(int)
    depth = trie.order_of_entries() - 2.0
    inside = np.eye(n, dtype=bool)  # row g marks the group of g
    for i in range(n - 1, n_words - 1, -1):
        if parent[i] >= n_words:
            inside[parent[i]] |= inside[i]
    groups = inside[n_words:]
    strengths = 0.4 * 1.2 ** depth[n_words:]
    unit = np.where(depth >= 0, alpha**depth, 1.0)
    ridge = np.where(depth >= 0, 0.05, 0.01) / unit**2
    counts = np.ones(n) if group_norm == "plain" else np.maximum(trie.entry_count, 0.5) + 0.05
    shares = groups * counts / counts[n_words:, None] / unit**2

    def objective(w, e=small):
        gradient = np.empty(n)
        value = loss.value_and_gradient(w, gradient)
        norms = np.sqrt(shares @ w**2 + e**2)
        gradient += ridge * w
        if e > 0:
            gradient += w * ((strengths / norms) @ shares)
        return value + 0.5 * ridge @ w**2 + strengths @ norms, gradient

    found = fit.solution.weights
    assert objective(found, 0.0)[0] == pytest.approx(fit.solution.result.value, rel=1e-12)
    bounds = [(None, None)] * n_words + [(0, None)] * (n - n_words)
    options = {"maxiter": 20000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-7, "maxcor": 30}
    other = minimize(objective, np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    slack = small * strengths.sum()
    assert other.fun - slack - 1e-3 <= fit.solution.result.value <= objective(other.x, 0.0)[0] + 1e-6
    np.testing.assert_allclose(found, other.x, atol=0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"group_norm": "plain"},
        {"group_norm": "plain", "feature_decay": 1.1, "l2": 0.0},
        {"feature_decay": 0.9},
        {"penalty": "tree-linf", "feature_decay": 0.85},
        {"penalty": "tree-linf", "feature_decay": 1.2, "nonnegative": False},
    ],
    ids=str,
)
def test_training_converges_and_models_are_distributions(options, tmp_path):
    model = fitted(**options, tolerance=1e-12, max_iterations=20000)
    assert model.converged_
    assert model.solver_ == "fista"
    for context in ([], ["1"], ["upon", "a"], ["1", "2", "1"], ["unheard", "of"]):
        assert model.queries_.next_distribution(context).sum() == pytest.approx(1, abs=1e-6)
    model.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.queries_.score_batch(TEST), model.queries_.score_batch(TEST))
    assert getattr(again, "group_norm_", None) == getattr(model, "group_norm_", None)
    assert getattr(again, "feature_decay_", None) == options.get("feature_decay")


def test_norms_agree_where_all_counts_do():
    """Every n-gram above unigrams occurs once."""
    text = [" ".join(f"w{5 * i + j}" for j in range(5)) for i in range(12)]
    options = {"tolerance": 1e-12, "max_iterations": 20000, "strength": 0.2}
    counts, plain = (fitted(text=text, group_norm=norm, **options) for norm in ("counts", "plain"))
    assert plain.objective_ == pytest.approx(counts.objective_, rel=1e-9)
    assert plain.perplexity(text) == pytest.approx(counts.perplexity(text), rel=1e-5)
    assert fitted(group_norm="plain").perplexity(TEST) != fitted().perplexity(TEST)


def test_threads_change_nothing():
    scores = [fitted(group_norm="plain", n_threads=n).queries_.score_batch(TEST) for n in (1, 2)]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_the_collapsed_tree_refuses_weights_of_features():
    numbers, vocabulary = read_corpus(TRAIN)
    weights = weights_over(build_suffix_tree(numbers, 4), vocabulary)
    with pytest.raises(ValueError, match="train on the trie"):
        weights.objective(TreePenalty("tree-linf", 0.4, 1.0, feature_decay=0.9))


# ---- settings -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [4, None])
def test_feature_decay_of_other_penalties_is_a_growth_of_strengths(order):
    alpha, options = 0.8, {"order": order, "strength": 0.5, "tolerance": 1e-12, "max_iterations": 20000}
    for penalty, power in (("l1", 1), ("l2", 2)):
        decayed = fitted(penalty, feature_decay=alpha, **options)
        grown = fitted(penalty, depth_growth=alpha**-power, **options)
        assert decayed.objective_ == pytest.approx(grown.objective_, rel=1e-10)
        assert decayed.perplexity(TEST) == pytest.approx(grown.perplexity(TEST), rel=1e-6)
    rows = fitted("elastic_net", strength=1.0, l1_ratio=0.25, feature_decay=alpha).strengths_
    assert [row["l1"] for row in rows[1:]] == pytest.approx([0.25 * alpha**-d for d in range(3)])
    assert [row["l2"] for row in rows[1:]] == pytest.approx([0.75 * alpha ** (-2 * d) for d in range(3)])


def test_tuning_keeps_the_norm():
    model = LanguageModel(3, penalty="tree-l2", group_norm="plain", feature_decay=1.1, depth_growth=1.0, l2=0.0,
                          tune="validation", verbose=0)  # fmt: skip
    model.fit(TRAIN, validation=VALID)
    assert (model.group_norm_, model.feature_decay_, model.depth_growth_, model.l2_) == ("plain", 1.1, 1.0, 0.0)
    assert len({trial["strengths"][0] for trial in model.tuning_}) > 2


def test_a_fit_with_other_settings_forgets_them():
    model = fitted(group_norm="plain", feature_decay=1.1)
    model.set_params(penalty="l1", group_norm="counts", feature_decay=1.0).fit(TRAIN)
    assert not hasattr(model, "group_norm_")
    assert not hasattr(model, "feature_decay_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_norm": "l2"}, "group_norm must be one of counts, plain, not 'l2'"),
        ({"group_norm": "plain", "penalty": "tree-linf"}, "group_norm='plain' is a setting of penalty='tree-l2'"),
        ({"group_norm": "plain", "penalty": "elastic_net"}, "group_norm='plain' is a setting of penalty='tree-l2'"),
        ({"feature_decay": 0.0}, "feature_decay must be a positive, finite number"),
        ({"feature_decay": float("nan"), "penalty": "l1"}, "feature_decay must be a positive, finite number"),
        ({"feature_decay": 1e-60}, "feature_decay 1e-60 becomes too small at n-grams of 4 words"),
        ({"feature_decay": 0.9, "penalty": "tree-linf", "order": None}, "order=None cannot be combined with feature_d"),
        ({"feature_decay": 0.9, "penalty": "elastic_net", "estimator": "kneser-ney"}, "estimator='maxent'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        LanguageModel(**{"order": 4, "penalty": "tree-l2", "verbose": 0, **options}).fit(TRAIN)


def test_streams_refuse_them():
    for options in ({"group_norm": "plain"}, {"feature_decay": 0.9}):
        with pytest.raises(ValueError, match="group_norm and feature_decay are settings of fit"):
            LanguageModel(4, penalty="tree-l2", **options).partial_fit(TRAIN)


def test_on_the_command_line(tmp_path):
    text, model = tmp_path / "train.txt", tmp_path / "m.ll"
    text.write_text("\n".join(TRAIN) + "\n")
    args = ("lm", "train", text, "-o", model, "--order", 4, "--penalty", "tree-l2")
    done = invoke(*args, "--group-norm", "plain", "--feature-decay", 1.1, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["group_norm"], summary["feature_decay"], summary["depth_growth"]) == ("plain", 1.1, 1.0)
    described = json.loads(invoke("inspect", model, "--json").stdout)
    assert (described["group_norm"], described["feature_decay"]) == ("plain", 1.1)
    shown = invoke(*args, "--group-norm", "plain", "--feature-decay", 1.1).stdout
    assert "feature decay 1.1" in shown
    assert "plain norms" in shown
    assert "feature_decay" not in json.loads(invoke(*args, "--json").stdout)
    refused = invoke(*args, "--estimator", "kneser-ney", "--group-norm", "plain")
    assert refused.exit_code == 2
