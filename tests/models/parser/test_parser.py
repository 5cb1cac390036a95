"""Parsers: charts against enumeration, gradients, estimators, files."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from parser_problems import SENTENCES, TREES, constituents, derivations, parser

import loglinear
from loglinear import Parser, _core
from loglinear.errors import FormatError, ModelFileError
from loglinear.formats.bracketed import Trees, parse_bracketed
from loglinear.formats.trees import Tree
from loglinear.grammar.feature_expectations import counts_of_sample, feature_expectations
from loglinear.grammar.features import Sentences
from loglinear.losses.tree import TreeLoss
from loglinear.models.parser.charts import Constrained
from loglinear.testing import check_loss

MODELS = [
    ("pcfg", {}),
    ("m-estimation", {}),
    ("crf", {}),
    ("m-estimation", {"vertical": 2, "horizontal": 0, "direction": "left"}),
    ("crf", {"features": "rules", "annotate_tags": True, "vertical": 3, "horizontal": None}),
    ("crf", {"annotate_heads": True}),
]


@pytest.fixture(params=MODELS, ids=lambda m: "-".join([m[0], *map(str, m[1].values())]), scope="module")
def model(request):
    return parser(request.param[0], **request.param[1])


@pytest.fixture(scope="module")
def all_trees(model):
    return {tuple(words): derivations(model, words) for words in SENTENCES}


def log_sum(scores):
    top = max(scores)
    return top + np.log(sum(np.exp(s - top) for s in scores))


def test_best_trees_and_k_best_are_those_of_enumeration(model, all_trees):
    best = model.predict(SENTENCES)
    lists = model.predict_nbest(SENTENCES, 6)
    for words, tree, found in zip(SENTENCES, best, lists):
        known = all_trees[tuple(words)]
        assert len({text for _, text in known}) == len(known)  # one derivation per tree
        log_z = log_sum([s for s, _ in known])
        assert str(tree) == known[0][1]
        assert [str(t) for t, _ in found] == [text for _, text in known[:6]]
        np.testing.assert_allclose([p for _, p in found], [np.exp(s - log_z) for s, _ in known[:6]], rtol=1e-10)


def test_probabilities_of_trees_and_constituents(model, all_trees):
    marginals = model.predict_marginals(SENTENCES, threshold=0.0)
    for words, rows in zip(SENTENCES, marginals):
        known = all_trees[tuple(words)]
        log_z = log_sum([s for s, _ in known])
        trees = parse_bracketed("\n".join(text for _, text in known).encode())
        np.testing.assert_allclose(model.log_probability(trees), [s - log_z for s, _ in known], rtol=1e-9, atol=1e-9)
        if model.has_base:
            assert model.input_log_probability([words])[0] == pytest.approx(log_z, abs=1e-10)
        expected = {}
        for score, text in known:
            for bracket in constituents(text):
                expected[bracket] = expected.get(bracket, 0.0) + np.exp(score - log_z)
        found = {(i, j, label): p for i, j, label, p in rows if (i, j, label) in expected or label in "S NP VP PP FRAG"}
        assert set(found) == set(expected)
        for bracket, p in expected.items():
            assert found[bracket] == pytest.approx(p, abs=1e-10)
        tags = np.zeros(len(words))
        for i, j, label, p in rows:
            if j == i + 1 and label not in ("S", "NP", "VP", "PP", "FRAG"):
                tags[i] += p
        np.testing.assert_allclose(tags, 1.0, atol=1e-10)


@pytest.mark.parametrize("cost", [0.0, 0.5])
def test_no_tree_has_a_greater_expected_recall(model, all_trees, cost):
    for words in SENTENCES[:2]:
        known = all_trees[tuple(words)]
        log_z = log_sum([s for s, _ in known])
        share = {}
        for score, text in known:
            for bracket in constituents(text):
                share[bracket] = share.get(bracket, 0.0) + np.exp(score - log_z)

        def gain(text, share=share):
            return sum(share.get(bracket, 0.0) - cost for bracket in constituents(text))

        (tree,) = model.predict([words], objective="recall", cost=cost)
        assert gain(str(tree)) >= max(gain(text) for _, text in known) - 1e-9


def test_samples_follow_the_probabilities(model, all_trees):
    words = SENTENCES[0]
    known = all_trees[tuple(words)]
    log_z = log_sum([s for s, _ in known])
    n = 2000
    (drawn,) = model.sample([words], n, random_state=5)
    texts = [str(tree) for tree in drawn]
    for score, text in known[:3]:
        p = np.exp(score - log_z)
        assert abs(texts.count(text) / n - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-9


def test_given_brackets_and_tags_leave_the_trees_that_have_them(model, all_trees):
    words = SENTENCES[0]
    known = all_trees[tuple(words)]
    for given in ([(3, 5)], [(0, 2, "NP"), (2, 5, "VP")], [(1, 5, "NP")], [(0, 5, "FRAG")]):
        fitting = [
            text for _, text in known
            if all(any(c[:2] == g[:2] and (len(g) == 2 or c == g) for c in constituents(text)) for g in given)
        ]  # fmt: skip
        found = model.predict_nbest([words], 50, brackets=[given])[0]
        assert {str(t) for t, _ in found[:50]} <= set(fitting)
        assert len(found) == min(len(fitting), 50)
        if fitting:
            assert str(model.predict([words], brackets=[given])[0]) == fitting[0]
    if not model.annotate_tags:
        tags = [["DT", None, None, None, "NN"]]
        fitting = [text for _, text in known if "(DT the)" in text and "(NN cat)" in text]
        found = {str(t) for t, _ in model.predict_nbest([words], 1000, tags=tags)[0]}
        assert found == set(fitting[:1000])


def test_threads_do_not_change_trees(model):
    one, two = parser(model.estimator, n_threads=1), parser(model.estimator, n_threads=2)
    assert [str(t) for t in one.predict(SENTENCES)] == [str(t) for t in two.predict(SENTENCES)]


# ---- losses ----------------------------------------------------------------------------------------------------------
def tree_loss(model, *, partial=False, masks=None):
    trees = TREES
    inputs = model.encode(trees)
    binary = model.binarisation.apply(trees)
    rules = model.grammar_.rules
    number = np.array([rules.symbols.number[name] for name in binary.labels], dtype=np.int32)
    parts, known = rules.parts(Trees(binary.tree_ptr, number[binary.label], binary.word, binary.size,
                                     rules.symbols.names, binary.words))  # fmt: skip
    assert known.all()
    if partial:
        brackets = [[] if len(words) < 5 else [(0, 2), (2, len(words), "VP")] for words in trees.sentences()]
        brackets[5] = [(2, 4, "PP")]
        constraints = Constrained(rules, inputs.ptr, brackets).native
        return TreeLoss(model.features_, model.grammar_, inputs.sentences, None, constraints=constraints, n_threads=2)
    counts = model.features_.counts(inputs.sentences, parts)
    return TreeLoss(model.features_, model.grammar_, inputs.sentences, counts, masks=masks, n_threads=2)


@pytest.mark.parametrize("settings", [{}, {"features": "rules"}, {"vertical": 2}], ids=str)
@pytest.mark.parametrize("partial", [False, True])
def test_gradients_are_those_of_differences(settings, partial):
    loss = tree_loss(parser("crf", **settings), partial=partial)
    rng = np.random.default_rng(2)
    for size in (0.0, 1.0, 5.0):
        w = rng.normal(size=loss.n_weights) * size
        gradient, work = np.empty((2, loss.n_weights))
        loss.value_and_gradient(w, gradient)
        for _ in range(6):
            direction = rng.normal(size=loss.n_weights)
            up, down = (loss.value_and_gradient(w + step * direction, work) for step in (1e-5, -1e-5))
            assert (up - down) / 2e-5 == pytest.approx(gradient @ direction, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("partial", [False, True])
def test_the_loss_passes_the_checks_of_all_losses(partial):
    check_loss(tree_loss(parser("crf"), partial=partial))


def test_scores_far_apart_are_summed_in_logarithms():
    model = parser("crf")
    for size in (30.0, 1e4):
        model._learn(model.features_, np.random.default_rng(0).normal(size=model.features_.n_weights) * size)
        for words in SENTENCES[:2]:
            known = derivations(model, words)
            log_z = log_sum([s for s, _ in known])
            assert model._charts([words]).log_normalisers()[0] == pytest.approx(log_z, rel=1e-12)
            (marginals,) = model.predict_marginals([words], threshold=0.5)
            best = set(constituents(known[0][1]))
            assert {(i, j, label) for i, j, label, _ in marginals if label in "S NP VP PP FRAG"} == best or size < 1e3
            assert str(model.sample([words])[0][0]) in {text for _, text in known}


def test_any_number_of_threads_gives_the_same_bits():
    loss = tree_loss(parser("crf"))
    w = np.random.default_rng(3).normal(size=loss.n_weights)
    found = []
    for loss.n_threads in (1, 2, 3):
        gradient = np.empty(loss.n_weights)
        found.append((loss.value_and_gradient(w, gradient), gradient.tobytes()))
    assert found[0] == found[1] == found[2]


def test_the_loss_is_minus_the_log_probability_of_trees():
    model = parser("crf")
    loss = tree_loss(model)
    value = loss.value_and_gradient(model.weights_, np.empty(loss.n_weights))
    assert value == pytest.approx(-model.log_probability(TREES).sum(), rel=1e-10)


@pytest.mark.parametrize("estimator", ["crf", "pcfg"])
def test_every_instruction_set_gives_the_same_sums_and_trees(estimator):
    model = parser(estimator)
    words = [SENTENCES[0] * 6, SENTENCES[1] * 2]  # rows of several vectors
    found = []
    try:
        for name in ("baseline", "avx2", "avx512"):
            if _core.simd_select(name):
                gradient = np.empty(model.features_.n_weights)
                value = tree_loss(model).value_and_gradient(model.weights_, gradient) if estimator == "crf" else 0.0
                charts = model._charts(words)
                found.append((value, gradient, charts.log_normalisers(), charts.best()[1], charts.marginals(0.01)[4]))
    finally:
        _core.simd_select("auto")
    for other in found[1:]:
        for a, b in zip(other, found[0]):
            if estimator == "crf" or a is not other[1]:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_constrained_sums_are_those_of_enumeration():
    model = parser("crf")
    words = SENTENCES[0]
    known = derivations(model, words)
    fitting = [s for s, text in known if (0, 2, "NP") in constituents(text)]
    inputs = model.encode([words])
    constraints = Constrained(model.grammar_.rules, inputs.ptr, [[(0, 2, "NP")]]).native
    loss = TreeLoss(model.features_, model.grammar_, inputs.sentences, None, constraints=constraints)
    value = loss.value_and_gradient(model.weights_, np.empty(loss.n_weights))
    assert value == pytest.approx(log_sum([s for s, _ in known]) - log_sum(fitting), abs=1e-10)


def test_large_scores_are_kept_in_range():
    model = parser("crf")
    words = SENTENCES[0] * 8
    for shift in (-40.0, 40.0):
        model._learn(model.features_, np.full(model.features_.n_weights, shift / 10))
        log_z = model._charts([words]).log_normalisers()[0]
        best = model._charts([words]).best()[1][0]
        assert np.isfinite(log_z)
        assert log_z >= best - 1e-6


# ---- M-estimation ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("settings", [{}, {"vertical": 2, "direction": "left"}], ids=str)
def test_expectations_of_features_agree_with_samples(settings):
    model = parser("m-estimation", **settings)
    exact = feature_expectations(model.features_, model.grammar_)
    n, rounds = 2000, 10
    rng = np.random.default_rng(1)
    samples = [model.grammar_.grammar.sample(n, rng) for _ in range(rounds)]
    means = np.array([counts_of_sample(model.features_, model.grammar_, trees) / n for trees in samples])
    error = means.std(axis=0, ddof=1) / np.sqrt(rounds) + 0.02 / np.sqrt(n)
    z = (means.mean(axis=0) - exact) / error
    assert np.abs(z).max() < 8
    assert abs(z.mean()) < 0.5
    assert z.std() < 1.5


def test_features_of_the_grammar_alone_need_no_correction():
    model = Parser("m-estimation", features="rules", word_smoothing=0.0, verbose=0, tolerance=1e-8, min_word_count=1)
    model.fit(TREES)
    # Every feature's expectation is its mean count, but that a new word is expected as often as once.
    assert np.abs(model.weights_).max() < 0.2
    grammar = Parser("pcfg", min_word_count=1, word_smoothing=0.0).fit(TREES)
    assert [str(t) for t in model.predict(TREES)] == [str(t) for t in grammar.predict(TREES)]


# ---- estimators ------------------------------------------------------------------------------------------------------
def test_estimators_learn_their_trees_and_a_saved_parser_predicts_the_same(tmp_path):
    for estimator in ("crf", "m-estimation", "pcfg"):
        model = Parser(estimator, strength=0.01, verbose=0, min_word_count=1, max_iterations=500).fit(TREES)
        assert model.score(TREES) > 0.8
        assert model.score(TREES.sentences(), list(TREES)) == model.score(TREES)
        model.save(tmp_path / "m.ll")
        for other in (loglinear.load(tmp_path / "m.ll"), pickle.loads(pickle.dumps(model))):
            assert [str(t) for t in other.predict(SENTENCES)] == [str(t) for t in model.predict(SENTENCES)]
            assert other.log_probability(TREES) == pytest.approx(model.log_probability(TREES), abs=1e-10)
        light = (
            "import sys; from loglinear.models import load_predictor; m = load_predictor(sys.argv[1]);"
            "print(m.predict(['dog sees'])[0]); assert not {'scipy', 'sklearn'} & set(sys.modules)"
        )
        command = [sys.executable, "-c", light, str(tmp_path / "m.ll")]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert out.strip() == str(model.predict([["dog", "sees"]])[0])


def test_l1_leaves_zeros_that_the_file_lacks(tmp_path):
    model = Parser("crf", penalty="l1", strength=0.3, verbose=0, min_word_count=1).fit(TREES)
    assert 0 < np.count_nonzero(model.weights_) < model.weights_.size / 2
    model.save(tmp_path / "m.ll")
    other = loglinear.load(tmp_path / "m.ll")
    assert other.weights_.size < model.weights_.size
    assert other.log_probability(TREES) == pytest.approx(model.log_probability(TREES), abs=1e-10)


def test_pruning_keeps_gold_trees_and_says_what_it_cost():
    model = Parser("crf", pruning=0.05, verbose=0, min_word_count=1).fit(TREES)
    cost = model.pruning_cost_
    assert 0 < cost["kept"] < 1
    assert 0 <= cost["gold_lost"] < 0.5
    exact = Parser("crf", pruning=None, verbose=0, min_word_count=1).fit(TREES)
    assert model.score(TREES) > 0.8
    assert exact.coarse_ is None
    assert Parser("crf", pruning=1e-12, verbose=0, min_word_count=1).fit(TREES).objective_ == pytest.approx(
        exact.objective_, rel=1e-6
    )


def test_partial_trees_teach_a_random_field():
    extra = [(["the", "cat", "sees", "glasses"], [(0, 2, "NP"), (2, 4)]), (["a", "dog", "barks"], [(0, 2)])]
    model = Parser("crf", verbose=0, min_word_count=1).fit(TREES, partial=extra)
    without = Parser("crf", verbose=0, min_word_count=1).fit(TREES)
    assert model.objective_ > without.objective_
    (marginals,) = model.predict_marginals([extra[0][0]])
    assert max(p for i, j, label, p in marginals if (i, j, label) == (0, 2, "NP")) > 0.5
    with pytest.raises(ValueError, match="only 'crf' learns from partial"):
        Parser("m-estimation").fit(TREES, partial=extra)


def test_tuning_chooses_on_held_out_trees():
    model = Parser("m-estimation", tune=[10.0, 1.0], verbose=0, min_word_count=1).fit(TREES, validation=TREES)
    assert model.strength_ in (10.0, 1.0)
    assert [row["strength"] for row in model.tuning_] == [10.0, 1.0]
    assert model.validation_score_ == pytest.approx(model.score(TREES))
    with pytest.raises(ValueError, match="held-out trees: give fit"):
        Parser(tune="validation").fit(TREES)


def test_an_explanation_adds_up_to_the_score():
    for estimator in ("crf", "m-estimation"):
        model = parser(estimator)
        found = model.explain(SENTENCES[0])
        tree = Trees.of([found.tree])
        total = model.tree_scores(tree, model.encode(tree).sentences)[0]
        assert sum(part.score for part in found.parts) == pytest.approx(total, abs=1e-9)
        assert found.log_probability == pytest.approx(model.log_probability(tree)[0])
        assert str(found).startswith(str(found.tree))
        assert found.to_dict(2)["parts"][0]["rule"].startswith("(root) -> ")


def test_sentences_without_a_tree_get_a_flat_one():
    model = Parser("pcfg", horizontal=None, min_word_count=1, word_smoothing=0.0).fit(TREES)
    with pytest.warns(UserWarning, match="1 of 2 sentences have no tree under this grammar, the first is number 2"):
        trees = model.predict([["the", "dog", "barks"], ["barks", "barks"]])
    assert str(trees[1]) == "(S (VBZ barks) (VBZ barks))"
    assert np.isneginf(model.log_probability(trees[1:]))[0]
    assert model.predict_nbest([["barks", "barks"]], 3) == [[]]
    assert model.predict_marginals([["barks", "barks"]]) == [[]]
    with pytest.warns(UserWarning, match="1 of 1 sentences have no tree"):
        assert str(model.predict([["barks", "barks"]], objective="recall")[0]) == "(S (VBZ barks) (VBZ barks))"


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "hmm"}, "estimator must be one of 'crf', 'm-estimation', 'pcfg', not 'hmm'"),
        ({"features": "all"}, "features must be one of"),
        (
            {"annotate_heads": "word"},
            "symbols may know the tag of their head word; with the word itself charts would be",
        ),
        ({"vertical": 0}, "vertical must be a whole number of at least 1"),
        ({"pruning": 2.0}, "pruning must be None, 'auto' or a probability"),
        ({"strength": -1}, "strength must be a number of at least 0"),
        ({"max_memory": "many"}, "memory is a positive number"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1"),
        ({"smoothing": -1.0}, "smoothing must not be negative"),
    ],
)
def test_settings_without_meaning_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Parser(**settings).fit(TREES)


def test_inputs_that_cannot_be_parsed_are_refused():
    model = parser("pcfg")
    with pytest.raises(ValueError, match="sentence 2 has no words"):
        model.predict([["dog"], []])
    with pytest.raises(TypeError, match="a list of sentences is needed"):
        model.predict("the dog")
    with pytest.raises(TypeError, match="sentence 1 has a word that is int"):
        model.predict([[1]])
    with pytest.raises(ValueError, match="the label 'XP' of a bracket never occurred"):
        model.predict([["dog"]], brackets=[[(0, 1, "XP")]])
    with pytest.raises(ValueError, match="sentence 1 has 1 words, but a bracket from 0 to 3"):
        model.predict([["dog"]], brackets=[[(0, 3)]])
    with pytest.raises(ValueError, match="the tag 'XX' never occurred"):
        model.predict([["dog"]], tags=[["XX"]])
    with pytest.raises(ValueError, match="there are no trees"):
        Parser().fit([])
    with pytest.raises(TypeError, match="trees are needed, not list"):
        Parser().fit([["a"]])
    with pytest.raises(ValueError, match="sentence 1 has other words than its tree"):
        Parser().fit([["a"]], [Tree("S", None, [Tree("N", "b")])])
    small = parser("pcfg", max_memory=100_000)
    with pytest.raises(ValueError, match=r"sentence 2 has 400 words, whose charts may need [\d.]+ GB; max_memory"):
        small.predict([["dog"], ["dog"] * 400])
    wide = Tree("S", None, [Tree("N", "dog")] * 300)
    with pytest.raises(ValueError, match="sentence 1 has 300 words, whose charts may need"):
        Parser("crf", max_memory=100_000).fit([wide])


def test_a_label_with_a_bracket_is_learned_but_not_written():
    words = [Tree("D", "the"), Tree("N", "dog")]
    model = Parser("pcfg", min_word_count=1).fit([Tree("S", None, [Tree("N(P", None, words), Tree("V", "barks")])])
    (tree,) = model.predict(["the dog barks"])
    assert tree.children[0].label == "N(P"
    with pytest.raises(
        FormatError, match=r"the label 'N\(P' has a bracket or a blank in it and could not be read back"
    ):
        str(tree)


def test_cycles_of_unary_rules_are_one_rule():
    text = b"(S (A (S (X x))))"
    assert str(Parser("pcfg", min_word_count=1).fit(parse_bracketed(text)).predict(["x"])[0]) == text.decode()


def test_damaged_files_are_refused(tmp_path):
    from loglinear.models import archive as archives
    from loglinear.models.parser.file import to_archive

    model = parser("crf", pruning=0.01)
    good = to_archive(model)
    for name, change in {
        "weights": lambda a: a[:-1],
        "grammar.left": lambda a: a[::-1],
        "grammar.probability": lambda a: a * 2,
        "grammar.word_tag": lambda a: a + 100,
        "features.begin_target": lambda a: a + 10_000,
        "lexicon.class_of_word": lambda a: a - 5,
        "coarse.symbols": lambda a: a[::-1],
    }.items():
        arrays = {**good.arrays, name: np.ascontiguousarray(change(np.array(good.arrays[name])))}
        archives.save(tmp_path / "bad.ll", archives.Archive(good.kind, good.settings, good.summary, arrays))
        with pytest.raises(ModelFileError, match=r"bad.ll: the parser is damaged|bad.ll"):
            loglinear.load(tmp_path / "bad.ll")
    for name in good.arrays:
        arrays = {key: array for key, array in good.arrays.items() if key != name}
        archives.save(tmp_path / "bad.ll", archives.Archive(good.kind, good.settings, good.summary, arrays))
        with pytest.raises(ModelFileError):
            loglinear.load(tmp_path / "bad.ll")


def test_native_rules_are_checked():
    ptr, none = np.array([0, 1, 1], dtype=np.int64), np.empty(0, dtype=np.int32)
    one = np.array([1], dtype=np.int32)
    with pytest.raises(ValueError, match="unknown symbol"):
        _core.GrammarRules(2, 0, ptr, one * 5, one, none, none, one, 2, one * 0, one)
    both = np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match="not in order, or chains of them form a cycle"):
        _core.GrammarRules(2, 0, ptr, one, one, both, both[::-1].copy(), one, 2, np.zeros(3, np.int32), one)
    with pytest.raises(ValueError, match="a class has an unknown label"):
        _core.GrammarRules(2, 0, ptr, one, one, none, none, one, 1, one * 0, one)
    model = parser("pcfg")
    bad = Sentences(np.array([0, 1]), np.array([10_000], dtype=np.int32), model.grammar_.lexicon)
    with pytest.raises(ValueError, match="a word has an unknown number"):
        _core.best_trees(loglinear.threads.pool(1), model._native, bad.native, None, None)
