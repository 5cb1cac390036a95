"""Tagger against enumeration, identities, scikit-learn's conventions, threads, and bad inputs."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pycrfsuite
import pytest
import taggers
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from taggers import ESTIMATORS, PAIRS, TEMPLATES, as_dicts, fitted, named, toy, words

import loglinear
from loglinear import IncompatibleError, MaxentClassifier, ModelFileError, Tagger
from loglinear.features.attributes import AttributeSequences
from loglinear.features.columns import Columns
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.models.tagger.inputs import TokenReader

KINDS = [(estimator, order) for estimator in ESTIMATORS for order in (1, 2)]
SHORT = [[("a", "A"), ("b", "C"), ("c", "B")], [("b", "B")], [], [("new", "A"), ("a", "new"), ("c", "C"), ("a", "A")]]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def tagger(request):
    return fitted(*request.param)


# ---- enumeration ----------------------------------------------------------------------------------------------------
def test_best_labelling_is_the_best_of_all(tagger):
    predicted = tagger.predict(SHORT)
    for twin, labels in zip(taggers.twins(tagger, SHORT), predicted):
        scores = taggers.scores(tagger, twin)
        found = tuple(tagger.classes_.index(label) for label in labels)
        assert scores[twin.labellings.index(found)] == pytest.approx(scores.max(), rel=1e-12)
    numbers = tagger.predict_numbers(SHORT)
    assert [tagger.classes_[k] for k in numbers] == [label for labels in predicted for label in labels]


def test_all_labellings_and_their_probabilities(tagger):
    lists = tagger.predict_nbest(SHORT, 100)
    for twin, found, best in zip(taggers.twins(tagger, SHORT), lists, tagger.predict(SHORT)):
        scores = taggers.scores(tagger, twin)
        p = np.exp(scores - np.logaddexp.reduce(scores))
        expected = {tuple(named(tagger, y)): q for y, q in zip(twin.labellings, p)}
        assert len(found) == np.count_nonzero(scores > -np.inf)
        assert found[0][0] == best
        assert sum(q for _, q in found) == pytest.approx(1.0, abs=1e-9)
        assert all(q == pytest.approx(expected[tuple(labels)], rel=1e-9, abs=1e-15) for labels, q in found)
        assert [q for _, q in found] == sorted((q for _, q in found), reverse=True)


def test_marginals(tagger):
    edges = tagger.edge_marginal_array(SHORT)
    flat = tagger.marginal_array(SHORT)
    for twin, rows in zip(taggers.twins(tagger, SHORT), tagger.predict_marginals(SHORT)):
        expected = twin.node_marginals(taggers.scores(tagger, twin)) if twin.T else np.zeros((0, 3))
        got = np.array([[row[label] for label in tagger.classes_] for row in rows]).reshape(-1, 3)
        np.testing.assert_allclose(got, expected, atol=1e-9)
        np.testing.assert_array_equal(got, flat[twin.first : twin.end])
        np.testing.assert_allclose(edges[twin.first + 1 : twin.end].sum(axis=1), expected[1:], atol=1e-9)


def test_log_probability(tagger):
    X, y = toy()
    logs = tagger.log_probability(X, y)
    for twin, labels, log_p in zip(taggers.twins(tagger, X), y, logs):
        scores = taggers.scores(tagger, twin)
        place = twin.labellings.index(tuple(tagger.classes_.index(label) for label in labels))
        assert log_p == pytest.approx(scores[place] - np.logaddexp.reduce(scores), abs=1e-9)
    with pytest.raises(ValueError, match="label of every token"):
        tagger.log_probability([X[0]], [[None] * len(X[0])])


def test_samples(tagger):
    n = 4000
    drawn = tagger.sample(SHORT, n, random_state=3)
    assert drawn == tagger.sample(SHORT, n, random_state=3)
    for twin, samples in zip(taggers.twins(tagger, SHORT), drawn):
        assert len(samples) == n
        scores = taggers.scores(tagger, twin)
        p = np.exp(scores - np.logaddexp.reduce(scores))
        places = {tuple(named(tagger, y)): i for i, y in enumerate(twin.labellings)}
        counts = np.bincount([places[tuple(sample)] for sample in samples], minlength=p.size)
        assert np.all(counts[p == 0] == 0)
        assert np.all(np.abs(counts - n * p) <= 6 * np.sqrt(n * p * (1 - p)) + 3)  # few of the rare ones


@pytest.mark.parametrize("base", ["hmm", "locally-uniform", "empirical"])
@pytest.mark.parametrize("order", [1, 2])
def test_m_estimation_decodes_the_product(order, base):
    """argmax of q0(x, y) exp(w f(x, y)), with q0 from the HMM itself."""
    tagger = fitted("m-estimation", order, base=base)
    columns = tagger.reader_.read(SHORT, 1).columns
    for i, (twin, labels) in enumerate(zip(taggers.twins(tagger, SHORT, base=False), tagger.predict(SHORT))):
        if not twin.T:
            continue
        ids = [np.ascontiguousarray(c[twin.first : twin.end]) for c in columns.ids]
        ptr = np.array([0, twin.T], dtype=np.int64)
        q0 = [tagger.hmm_.log_probability(ids, np.array(y, np.int32), ptr)[0] for y in twin.labellings]
        total = np.array(q0) + twin.scores
        found = tuple(tagger.classes_.index(label) for label in labels)
        assert total[twin.labellings.index(found)] == pytest.approx(total.max(), rel=1e-12)
        assert tagger.input_log_probability(SHORT)[i] == pytest.approx(np.logaddexp.reduce(total), rel=1e-10)


def test_input_probability_is_of_generative_models_alone():
    with pytest.raises(ValueError, match="'crf' models labels given the input"):
        fitted("crf", 1).input_log_probability(SHORT)
    total = fitted("hmm", 1).input_log_probability(SHORT[:1])
    assert total[0] < 0


def test_explanations_add_up(tagger):
    X, _ = toy()
    for sequence in [X[0], SHORT[1], SHORT[3]]:
        twin = next(taggers.twins(tagger, [sequence]))
        explanation = tagger.explain(sequence)
        labels = tuple(tagger.classes_.index(token.label) for token in explanation.tokens)
        assert [token.label for token in explanation.tokens] == tagger.predict([sequence])[0]
        total = sum(token.score for token in explanation.tokens)
        assert total == pytest.approx(twin.score(labels), rel=1e-10, abs=1e-10)
        for t, token in enumerate(explanation.tokens):
            if tagger.estimator != "memm":
                assert token.score == pytest.approx(twin.local(labels, t), rel=1e-10, abs=1e-10)
        log_probability = tagger.log_probability([sequence], [named(tagger, labels)])[0]
        assert explanation.log_probability == pytest.approx(log_probability)
        assert "with probability" in str(explanation)
    assert tagger.explain([]).tokens == []


def test_explanations_with_pair_features_and_values():
    X, y = toy()
    for model, inputs in [(Tagger(templates=PAIRS).fit(X, y), X), (Tagger().fit(as_dicts(X), y), as_dicts(X))]:
        lattices = model._lattices(inputs[:1])
        total = sum(token.score for token in model.explain(inputs[0]).tokens)
        assert total == pytest.approx(lattices.scores(lattices.best())[0])


# ---- identities -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("estimator", ["crf", "memm", "pseudolikelihood"])
def test_sequences_of_one_token_are_a_classifier(estimator):
    rng = np.random.default_rng(0)
    names = [[f"f{k}" for k in rng.choice(8, size=3, replace=False)] for _ in range(60)]
    labels = ["XYZ"[int(k)] for k in rng.integers(0, 3, size=60)]
    settings = {"strength": 0.5, "tolerance": 1e-13}
    tagger = Tagger(estimator, features="all", **settings)
    tagger.fit([[token] for token in names], [[label] for label in labels])
    dicts = [dict.fromkeys(token, 1) for token in names]
    flat = MaxentClassifier(fit_intercept=False, **settings).fit(dicts, labels)
    got = tagger.marginal_array([[token] for token in names])
    np.testing.assert_allclose(got, flat.predict_proba(dicts), atol=1e-5)


def test_dense_and_sparse_machines_agree():
    rng = np.random.default_rng(1)
    tags = [[f"t{int(k)}" for k in rng.integers(0, 60, size=15)] for _ in range(40)]
    X = [[[f"w{tag[1]}", f"x{int(rng.integers(20))}"] for tag in sequence] for sequence in tags]
    models = [Tagger(machine=m, tolerance=1e-13).fit(X, tags) for m in ("dense", "sparse")]
    assert [model._models[None].machine for model in models] == ["dense", "sparse"]
    np.testing.assert_allclose(models[0].weights_, models[1].weights_, atol=1e-4)
    assert models[0].predict(X) == models[1].predict(X)
    np.testing.assert_allclose(models[0].marginal_array(X), models[1].marginal_array(X), atol=1e-5)
    forbidden = [(a, b) for a in models[0].classes_ for b in models[0].classes_ if a < b]
    assert models[0].predict(X[:5], constraint=forbidden) == models[1].predict(X[:5], constraint=forbidden)
    for labels in models[1].predict(X[:5], constraint=forbidden):
        assert labels == sorted(labels, reverse=True)


def test_features_that_are_asked_for():
    X, y = words()
    observed, everything = Tagger().fit(X, y), Tagger(features="all", transitions="all").fit(X, y)
    L = len(observed.classes_)
    assert everything.features_.node_label.size == L * everything.reader_.n_attributes
    assert everything.features_.transition_code.size == L * L > observed.features_.transition_code.size
    rare = Tagger(min_count=3).fit(X, y)
    counts = AttributeSequences.from_lists(X)
    n = np.bincount(counts.rows.indices)
    assert rare.reader_.n_attributes == np.count_nonzero(n >= 3) < observed.reader_.n_attributes
    assert set(rare.transition_features_) <= {(a, b) for a in rare.classes_ for b in rare.classes_}
    name = next(iter(rare.state_features_))
    assert name[0] in rare.attribute_names()
    assert name[1] in rare.classes_


def test_the_same_bits_again(tagger):
    again = clone(tagger).set_params(n_threads=2).fit(*toy())
    third = clone(tagger).set_params(n_threads=2).fit(*toy())
    np.testing.assert_array_equal(again.weights_, third.weights_)
    np.testing.assert_array_equal(again.marginal_array(SHORT), third.marginal_array(SHORT))
    one = clone(tagger).set_params(n_threads=1).fit(*toy())
    np.testing.assert_allclose(one.weights_, again.weights_, atol=1e-6)


def test_hashing():
    X, y = words()
    tight = {"tolerance": 1e-13}
    exact, wide = Tagger(**tight).fit(X, y), Tagger(hash_bits=24, **tight).fit(X, y)
    assert wide.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    assert exact.predict(X) == wide.predict(X)
    narrow = Tagger(hash_bits=3).fit(X, y)
    assert narrow.reader_.n_attributes == 8
    assert narrow.score(X, y) <= exact.score(X, y)
    assert narrow.attribute_names()[7] == "#7"
    with pytest.raises(ValueError, match="exclude each other"):
        Tagger(hash_bits=8, min_count=2).fit(X, y)
    pairs = Tagger(templates=PAIRS, hash_bits=6).fit(*toy())
    assert pairs.predict(toy()[0])


def test_tuning_takes_the_best_strength_on_the_development_data():
    X, y = words()
    tight = {"tolerance": 1e-13}
    tagger = Tagger(tune=[0.01, 100.0, 1.0], **tight).fit(X[:30], y[:30], validation=(X[30:], y[30:]))
    strengths, scores = zip(*((row["strength"], row["dev_score"]) for row in tagger.tuning_))
    assert strengths == (100.0, 1.0, 0.01)[: len(strengths)]
    assert tagger.strength_ == strengths[scores.index(max(scores))]
    assert tagger.validation_score_ == max(scores) == tagger.score(X[30:], y[30:])
    (chosen,) = [row for row in tagger.tuning_ if row["chosen"]]
    assert chosen["strength"] == tagger.strength_
    assert chosen["nonzero_weights"] == np.count_nonzero(tagger.weights_)
    alone = Tagger(strength=tagger.strength_, **tight).fit(X[:30], y[:30])
    assert tagger.objective_ == pytest.approx(alone.objective_, rel=1e-6)
    tagger.set_params(tune=None).fit(X, y)
    assert not hasattr(tagger, "tuning_")
    assert not hasattr(tagger, "validation_score_")
    with pytest.raises(ValueError, match=r"on held-out sequences: give fit\(\.\.\., validation=\(X, y\)\)"):
        Tagger(tune="validation").fit(X, y)


def test_a_crf_can_start_from_an_m_estimate():
    X, y = toy()
    settings = {"templates": TEMPLATES, "tolerance": 1e-13}
    from_zero, started = Tagger(**settings).fit(X, y), Tagger(initialise="m-estimation", **settings).fit(X, y)
    assert started.objective_ == pytest.approx(from_zero.objective_, rel=1e-6)
    assert not started.has_base


# ---- partial labels -------------------------------------------------------------------------------------------------
def test_partial_labels():
    X, y = toy()
    partial = [[None if (i + t) % 3 == 0 else label for t, label in enumerate(row)] for i, row in enumerate(y)]
    partial[1] = [{"A", label} for label in y[1]]
    tagger = Tagger(templates=TEMPLATES, strength=0.1, tolerance=1e-13).fit(X, partial)
    assert tagger.classes_ == ["A", "B", "C"]
    weights, expected = tagger.weights_, 0.05 * float(tagger.weights_ @ tagger.weights_)
    for twin, row in zip(taggers.twins(tagger, X), partial):
        fits = [
            all(k is None or tagger.classes_[v] == k or (not isinstance(k, str) and tagger.classes_[v] in k)
                for k, v in zip(row, labelling))
            for labelling in twin.labellings
        ]  # fmt: skip
        expected += twin.log_z - np.logaddexp.reduce(twin.scores[fits])
    assert tagger.objective_ == pytest.approx(expected, rel=1e-9)
    assert weights.size
    for estimator in ("memm", "pseudolikelihood"):
        assert Tagger(estimator, TEMPLATES).fit(X, partial).converged_
    for estimator in ("hmm", "m-estimation"):
        with pytest.raises(ValueError, match="needs the label of every token"):
            Tagger(estimator, TEMPLATES).fit(X, partial)
    unknown = [[{"A", "B"} for _ in row] for row in y]
    with pytest.raises(ValueError, match="'memm' needs labels"):
        Tagger("memm", TEMPLATES).fit(X, unknown)


# ---- scikit-learn ---------------------------------------------------------------------------------------------------
def test_conventions_of_scikit_learn():
    X, y = words()
    tagger = Tagger("crf", strength=0.5, constraint="bio")
    assert tagger.get_params()["strength"] == 0.5
    assert clone(tagger).get_params() == tagger.get_params()
    assert repr(Tagger(strength=2.0)) == "Tagger(strength=2.0)"
    assert tagger.set_params(strength=3.0).strength == 3.0
    scores = cross_val_score(tagger, X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.5
    search = GridSearchCV(Tagger(), {"strength": [0.1, 10.0]}, cv=2).fit(X, y)
    assert search.best_params_["strength"] == 0.1
    assert search.best_estimator_.predict(X[:1])
    for encoded in (AttributeSequences.from_lists(X), Columns.from_lists(taggers.columns_of(X))):
        model = Tagger(templates=TEMPLATES if isinstance(encoded, Columns) else None)
        assert cross_val_score(model, encoded, y, cv=2).min() > 0.3


def test_copies_predict_the_same(tagger):
    X, _ = toy()
    for other in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger), copy.copy(tagger)):
        assert other.predict(X) == tagger.predict(X)
        np.testing.assert_array_equal(other.marginal_array(X), tagger.marginal_array(X))
        assert other.predict(X, constraint=[("A", "B")]) == tagger.predict(X, constraint=[("A", "B")])
    assert not hasattr(clone(tagger), "weights_")
    assert pickle.loads(pickle.dumps(Tagger())).get_params() == Tagger().get_params()


def test_generators_and_encoded_inputs():
    X, y = words()
    tagger = Tagger().fit(X, y)
    lazy = Tagger().fit((list(s) for s in X), (list(labels) for labels in y))
    encoded = Tagger().fit(AttributeSequences.from_lists(X), y)
    np.testing.assert_array_equal(tagger.weights_, lazy.weights_)
    np.testing.assert_array_equal(tagger.weights_, encoded.weights_)
    assert tagger.predict(iter(X)) == tagger.predict(X)


# ---- going on -------------------------------------------------------------------------------------------------------
def start_objective(tagger, X, y):
    """What a further fit begins with: no step is taken."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone_with(tagger, max_iterations=0).fit(X, y)


def clone_with(tagger, **settings):
    return Tagger.from_pretrained(tagger).set_params(**settings)


def test_warm_start_begins_where_it_ended():
    X, y = words()
    tagger = Tagger(warm_start=True, tolerance=1e-13).fit(X, y)
    first, steps = tagger.objective_, tagger.n_iter_
    tagger.fit(X, y)
    assert tagger.objective_ == pytest.approx(first, rel=1e-6)
    assert tagger.n_iter_ < max(steps / 2, 3)


@pytest.mark.parametrize("templates", [None, PAIRS])
@pytest.mark.parametrize("order", [1, 2])
def test_from_pretrained_with_new_labels_and_attributes(order, templates, tmp_path):
    X, y = toy()
    old = [i for i, labels in enumerate(y) if "C" not in labels]
    X = X if templates else as_dicts(X)
    small_X, small_y = [X[i] for i in old], [y[i] for i in old]
    base = Tagger(templates=templates, order=order, strength=0.1).fit(small_X, small_y)
    before, weights = base.predict(X), base.weights_.copy()
    base.save(tmp_path / "m.ll")
    more = [*X, [("zzz", "Z")] if templates else [{"w": "zzz"}]]
    labels = [*y, ["0-new"]]
    started = start_objective(base, more, labels)
    assert started.classes_ == ["A", "B", "0-new", "C"]  # old numbers stay
    old_states, new_states = base.state_features_, started.state_features_
    assert all(new_states[key] == pytest.approx(weight) for key, weight in old_states.items())
    assert all(weight == 0 or key in old_states for key, weight in new_states.items())
    assert started.transition_features_ == pytest.approx(base.transition_features_)
    again = start_objective(base, small_X, small_y)
    assert again.objective_ == pytest.approx(base.objective_, rel=1e-9)
    # what was trained on is left alone
    np.testing.assert_array_equal(base.weights_, weights)
    assert base.predict(X) == before
    tight = {"tolerance": 1e-13, "max_iterations": 5000}
    ended = clone_with(base, **tight).fit(more, labels)
    fresh = Tagger(templates=templates, order=order, strength=0.1, **tight).fit(more, labels)
    assert ended.objective_ == pytest.approx(fresh.objective_, rel=1e-5)
    from_file = Tagger.from_pretrained(tmp_path / "m.ll").fit(more, labels)
    assert from_file.predict(X) == ended.predict(X)


def test_what_cannot_go_on(tmp_path):
    with pytest.raises(ValueError, match="fit it again to all of them"):
        Tagger.from_pretrained(fitted("hmm", 1))
    with pytest.raises(NotFittedError):
        Tagger.from_pretrained(Tagger())
    MaxentClassifier().fit(["a b", "c"], ["x", "y"]).save(tmp_path / "c.ll")
    with pytest.raises(ModelFileError, match="a classifier, not a tagger; loglinear tag train makes one"):
        Tagger.from_pretrained(tmp_path / "c.ll")


@pytest.mark.parametrize("warm", [False, True])
def test_a_fit_that_fails_changes_nothing(warm):
    X, y = words()
    tagger = Tagger(warm_start=warm).fit(X[:20], y[:20])
    before = tagger.predict(X)
    with pytest.raises(ValueError, match="labels for"):
        tagger.fit(X, y[:-1])
    assert tagger.predict(X) == before
    assert hasattr(tagger, "history_")
    with pytest.raises(ValueError, match="labels for"):
        Tagger().fit(X, y[:-1])


# ---- crfsuite -------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def crfsuite(tmp_path_factory):
    """train(parameters) -> pycrfsuite's tagger, its dump and its final loss."""
    def train(**parameters):
        folder = tmp_path_factory.mktemp("crfsuite")
        X, y = words()
        trainer = pycrfsuite.Trainer(verbose=False)
        for sequence, labels in zip(X, y):
            trainer.append(pycrfsuite.ItemSequence(sequence), labels)
        trainer.set_params({"max_iterations": 3000, "epsilon": 1e-7, "delta": 1e-9, "period": 50, **parameters})
        trainer.train(str(folder / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(folder / "model"))
        tagger.dump(str(folder / "dump"))
        return tagger, folder / "dump", trainer.logparser.last_iteration["loss"]

    return train


@pytest.mark.parametrize(
    "parameters",
    [
        {"c1": 0.0, "c2": 0.5},
        {"c1": 0.0, "c2": 1.0, "feature.possible_transitions": True, "feature.possible_states": True},
        {"c1": 0.3, "c2": 0.1},
        {"c1": 0.5, "c2": 0.0},
    ],
    ids=["l2", "l2-all", "elastic-net", "l1"],
)
def test_the_objective_of_crfsuite(crfsuite, parameters):
    theirs, dump, loss = crfsuite(**parameters)
    X, y = words()
    ours = Tagger.from_crfsuite_params(
        c1=parameters["c1"],
        c2=parameters["c2"],
        all_possible_transitions=parameters.get("feature.possible_transitions", False),
        all_possible_states=parameters.get("feature.possible_states", False),
        tolerance=1e-13,
        max_iterations=5000,
    ).fit(X, y)
    assert ours.objective_ == pytest.approx(loss, rel=1e-3)
    assert ours.objective_ <= loss * (1 + 1e-6)
    read = Tagger.from_crfsuite_dump(dump)
    assert -read.log_probability(X, y).sum() == pytest.approx(-ours.log_probability(X, y).sum(), rel=5e-3)
    assert ours.predict(X) == [theirs.tag(sequence) for sequence in X]
    if parameters["c1"] == 0:  # strictly convex and smooth: the weights agree too
        theirs_states = read.state_features_
        assert all(w == pytest.approx(theirs_states[key], abs=2e-3) for key, w in ours.state_features_.items())


def test_dumped_models_of_crfsuite_predict_the_same(crfsuite, tmp_path):
    theirs, dump, _ = crfsuite(c1=0.0, c2=0.1)
    X, _ = words()
    ours = Tagger.from_crfsuite_dump(dump)
    assert set(ours.classes_) == set(theirs.labels())
    assert ours.predict(X) == [theirs.tag(sequence) for sequence in X]
    for sequence, rows in zip(X[:10], ours.predict_marginals(X[:10])):
        theirs.set(sequence)
        for t, row in enumerate(rows):
            for label, p in row.items():
                assert p == pytest.approx(theirs.marginal(label, t), abs=1e-4)  # dumps have six digits
    ours.save(tmp_path / "m.ll")
    assert loglinear.load(tmp_path / "m.ll").predict(X) == ours.predict(X)
    assert ours.explain(X[0]).tokens


def test_crfsuite_parameters():
    assert Tagger.from_crfsuite_params(c1=0, c2=0).penalty == "none"
    assert Tagger.from_crfsuite_params(c2=2.0).strength == 4.0
    assert Tagger.from_crfsuite_params(min_freq=3).min_feature_count == 3
    with pytest.raises(ValueError, match="algorithm 'ap' minimises no objective of a Tagger; loglinear"):
        Tagger.from_crfsuite_params("ap")
    with pytest.raises(ValueError, match="must not be negative"):
        Tagger.from_crfsuite_params(c1=-1)


# ---- threads --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [("crf", 1), ("crf", 2), ("memm", 1), ("m-estimation", 2)])
def test_threads_share_one_model(kind, tmp_path):
    fitted(*kind).save(tmp_path / "m.ll")
    X, _ = toy(n=8)
    X = X * 4
    alone = fitted(*kind)
    questions = [
        (lambda m: m.predict(X), alone.predict(X)),
        (lambda m: m.predict(X, constraint=[("A", "B")]), alone.predict(X, constraint=[("A", "B")])),
        (lambda m: m.marginal_array(X).tolist(), alone.marginal_array(X).tolist()),
        (lambda m: m.predict_nbest(X, 3), alone.predict_nbest(X, 3)),
    ]
    for _ in range(12):
        model = loglinear.load(tmp_path / "m.ll")  # fresh: nothing is cached, the constraint is new to it
        barrier, wrong = threading.Barrier(8), []

        def work(number, model=model, barrier=barrier, wrong=wrong):
            barrier.wait()
            for k in range(4):
                ask, expected = questions[(number + k) % 4]
                try:
                    if ask(model) != expected:
                        wrong.append(number)
                except BaseException as error:
                    wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


# ---- bad inputs -----------------------------------------------------------------------------------------------------
ONE = [[{"a": 1.0}, {"b": 2.0}]]


@pytest.mark.parametrize(
    ("X", "y", "error", "match"),
    [
        ([], [], ValueError, "no tokens to learn from"),
        ([[], []], [[], []], ValueError, "no tokens to learn from"),
        (ONE, None, ValueError, "needs y"),
        (ONE, [["x"]], ValueError, "sequence 0 has 2 tokens but 1 labels"),
        (ONE, ["xy"], ValueError, "sequence 0 has 2 tokens but 2 labels: one label per token"),
        (ONE, [5], ValueError, "sequence 0 has 2 tokens but no labels"),
        (ONE * 3, [["x", "y"]] * 2, ValueError, "3 sequences but labels for 2"),
        (ONE, [["x", "y"]] * 2, ValueError, "1 sequences but labels for 2"),
        (ONE, [["x", 1]], TypeError, "sequence 0, token 1: the label 1 is int, but others are str"),
        (ONE, [["x", 1.5]], TypeError, "sequence 0, token 1: a label must be text"),
        (ONE, [["x", set()]], TypeError, "non-empty collection"),
        (ONE, [["x", {1.5}]], TypeError, "sequence 0, token 1"),
        (ONE, [[None, None]], ValueError, "no token has a label"),
        ([[{"a": 1}, ["b"]]], [["x", "y"]], TypeError, "sequence 0, token 1 is a list, but those before are a dict"),
        ([[{"a": 1}, "b"]], [["x", "y"]], TypeError, "sequence 0, token 1 is str"),
        ([[{"a": float("nan")}]], [["x"]], ValueError, "'a' is not a finite number"),
        ([[{"a": -float("inf")}]], [["x"]], ValueError, "not a finite number"),
        ([[{"a": 10**400}]], [["x"]], ValueError, "not a finite number"),
        ("text", ["x"], TypeError, "sequence 0 is str"),
        ([5], [["x"]], TypeError, "sequence 0 is int"),
        (Columns.from_lists([["a"]]), [["x"]], TypeError, "columns need templates"),
    ],
)
def test_bad_training_data(X, y, error, match):
    with pytest.raises(error, match=match):
        Tagger().fit(X, y)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"estimator": "hcrf"}, "estimator must be one of 'crf', .*not 'hcrf'"),
        ({"base": "uniform"}, "base must be one of"),
        ({"features": "some"}, "features must be one of 'observed', 'all'"),
        ({"transitions": "none"}, "transitions must be one of"),
        ({"initialise": "zero"}, "initialise must be one of"),
        ({"order": 3}, "order must be one of 1, 2, not 3"),
        ({"order": "1"}, "order must be one of"),
        ({"strength": -1.0}, "strength must be a number of at least 0"),
        ({"strength": float("nan")}, "strength must be a number"),
        ({"strength": "strong"}, "strength must be a number"),
        ({"strength": True}, "strength must be a number"),
        ({"constraint": iter([("A", "B")])}, "read more than once"),
        ({"tune": "best"}, "tune must be None, 'validation' or a list of strengths"),
        ({"constraint": "bies"}, "no label scheme 'bies'"),
        ({"constraint": [("A", "Z")]}, "no label 'Z' in the model"),
        ({"constraint": ["AB"]}, "pairs to forbid, not 'AB'"),
        ({"constraint": "bio"}, "label 'A' is not of the scheme bio"),
        ({"machine": "quantum"}, "machine must be"),
        ({"min_count": 0}, "min_count must be"),
        ({"hash_bits": 99}, "hash_bits must be"),
        ({"templates": ""}, "templates must be a name, a file or template text"),
        ({"templates": 3}, "templates must be a name, a file or template text"),
        ({"templates": "no such set"}, "no built-in set of templates"),
        ({"templates": "U0:%x[0,7]\nB\n"}, "looks at column 7, but the data have 2"),
        ({"templates": "U0:%x[0\n"}, "1"),
        ({"penalty": "l3"}, "unknown penalty"),
        ({"solver": "magic"}, "unknown solver"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"estimator": "hmm", "smoothing": -1.0}, "smoothing must not be negative"),
        ({"estimator": "m-estimation", "expectation": "guess"}, "expectation must be 'exact' or 'sample'"),
    ],
)
def test_bad_settings(settings, match):
    X, y = toy()
    with pytest.raises((ValueError, loglinear.LoglinearError), match=match):
        Tagger(**{"templates": TEMPLATES, **settings}).fit(X, y)


def test_templates_in_a_file(tmp_path):
    X, y = toy()
    (tmp_path / "t.txt").write_text(TEMPLATES)
    for templates in (tmp_path / "t.txt", str(tmp_path / "t.txt")):
        tagger = Tagger(templates=templates, strength=0.1).fit(X, y)
        np.testing.assert_array_equal(tagger.weights_, fitted("crf", 1).weights_)
        tagger.save(tmp_path / "m.ll")
        assert loglinear.load(tmp_path / "m.ll").predict(X) == tagger.predict(X)


@pytest.mark.parametrize("settings", [{"expectation": "sample", "n_samples": 2000}, {"base": "empirical"}])
def test_m_estimation_without_templates(settings):
    """The values of the columns are then the attributes."""
    X, y = toy()
    tagger = Tagger("m-estimation", random_state=0, **settings).fit(X, y)
    assert set(tagger.attribute_names()) <= {"<oov>", *"abcABC"}
    assert tagger.score(X, y) > 0.5
    with pytest.raises(ValueError, match="exact expectations need templates"):
        Tagger("m-estimation").fit(X, y)


def test_bad_questions():
    X, y = toy()
    columns, attributes = fitted("crf", 1), Tagger().fit(as_dicts(X), y)
    with pytest.raises(TypeError, match="columns need templates"):
        attributes.predict(Columns.from_lists(X))
    with pytest.raises(TypeError, match="reads columns under templates"):
        columns.predict(AttributeSequences.from_lists(as_dicts(X)))
    with pytest.raises(TypeError, match="sequence 0, token 0 is dict"):
        columns.predict(as_dicts(X))
    with pytest.raises(IncompatibleError, match="looks at column 1, but the data have 1"):
        columns.predict([["a", "b"]])
    with pytest.raises(ValueError, match="1 columns where there were 2"):
        fitted("hmm", 1).predict([["a", "b"]])
    with pytest.raises(ValueError, match="k must be at least 1"):
        columns.predict_nbest(X, 0)
    with pytest.raises(ValueError, match="must not be negative"):
        columns.sample(X, -1)
    with pytest.raises(ValueError, match="must not be negative"):
        columns.sample(X, 1, random_state=-1)
    with pytest.raises(ValueError, match=r"label 'Q' \(sequence 1, token 0\) was not seen in training"):
        columns.log_probability(X[:2], [y[0], ["Q"] * len(X[1])])
    for ask in ("predict", "marginal_array", "explain", "save"):
        with pytest.raises(NotFittedError):
            getattr(Tagger(), ask)(X)
    with pytest.raises(NotFittedError):
        _ = Tagger().transition_features_
    assert columns.sample(X[:2], 0) == [[], []]


@pytest.mark.parametrize("machine", ["dense", "sparse"])
def test_scores_that_overflow_are_refused(machine):
    tags = [[f"t{k}" for k in range(60)]]
    tagger = Tagger(machine=machine, strength=0.01).fit([[{f"a{k}": 1.0, f"b{k % 7}": 1.0} for k in range(60)]], tags)
    huge = [[{"a1": 1e308, "b1": 1e308, "a2": -1e308, "b2": -1e308}] * 3]
    assert tagger.predict([[{"a1": 1e290}]])
    for ask in (tagger.predict, tagger.marginal_array, tagger.predict_nbest):
        with pytest.raises(ValueError, match=r"sequence 0, token 0 .* its scores overflow"):
            ask(huge)


def test_nothing_to_predict(tagger):
    assert tagger.predict([]) == []
    assert tagger.predict([[], []]) == [[], []]
    assert tagger.predict_marginals([[]]) == [[]]
    assert tagger.predict_nbest([[]], 2) == [[([], 1.0)]]
    assert tagger.log_probability([[]], [[]]) == pytest.approx([0.0])
    assert tagger.sample([[]], 2) == [[[], []]]
    assert tagger.predict([[], SHORT[0], []])[1] == tagger.predict([SHORT[0]])[0]


def test_warnings():
    X, y = toy()
    with pytest.warns(UserWarning, match="every token has the label 'A'"):
        only = Tagger(templates=TEMPLATES).fit(X, [["A"] * len(labels) for labels in y])
    assert only.predict(X[:1]) == [["A"] * len(X[0])]
    tokens = [[["x"], ["y"]], [["x"], ["y"], ["z"]]]
    with pytest.warns(UserWarning, match=r"1 labels .* illegal in the scheme 'bio', the first at sequence 0, token 1"):
        Tagger().fit(tokens, [["O", "I-X"], ["B-X", "I-X", "B-X"]])
    with pytest.warns(ConvergenceWarning, match=r"before the optimum \(max_iterations reached\)") as caught:
        Tagger(max_iterations=1, tolerance=0).fit(*words())
    assert caught[0].filename == __file__  # it points at the call
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tagger().fit(tokens, [["B-X", "I-X"], ["O", "B-X", "I-X"]])


@pytest.mark.parametrize("estimator", ["hmm", "m-estimation"])
@pytest.mark.parametrize("order", [1, 2])
def test_lengths_and_successions_never_seen_are_still_labelled(estimator, order):
    X = [[("a",), ("b",), ("c",)], [("a",), ("b",)], [("b",), ("c",), ("a",)]] * 3
    y = [["A", "B", "C"], ["A", "B"], ["B", "C", "A"]] * 3
    tagger = Tagger(estimator, "U:%x[0,0]\nB\n", order=order, verbose=0).fit(X, y)
    assert [len(labels) for labels in tagger.predict([[("c",)], [("c",), ("c",), ("b",)]])] == [1, 3]
    assert np.all(np.isfinite(tagger.input_log_probability([[("c",)], [("c",), ("c",)]])))
    explained = tagger.explain([("c",)])
    assert np.isfinite(explained.tokens[0].score)


# ---- the light predictor --------------------------------------------------------------------------------------------
def test_the_dev_set_is_read_once_per_tuning(monkeypatch):
    reads, read = [], TokenReader.read
    monkeypatch.setattr(TokenReader, "read", lambda self, X, *rest: (reads.append(rest[1:]), read(self, X, *rest))[1])
    X, y = words()
    tagger = Tagger(tune=[1.0, 0.1, 0.01]).fit(X[:20], y[:20], validation=(X[20:], y[20:]))
    assert len(tagger.tuning_) == 3
    assert reads == [("fit_transform",), ()]  # the training data and the dev set
    assert tagger.validation_score_ == tagger.score(X[20:], y[20:]) == max(row["dev_score"] for row in tagger.tuning_)
    with pytest.raises(ValueError, match="validation lacks its labels"):
        Tagger().fit(X, y, validation=(X, None))


@pytest.mark.parametrize(("estimator", "order"), KINDS)
def test_a_predictor_answers_as_the_estimator(estimator, order, tmp_path):
    tagger = fitted(estimator, order)
    tagger.save(tmp_path / "m.ll")
    light = loglinear.models.load_predictor(tmp_path / "m.ll", "tagger")
    assert type(light).__name__ == "TaggerPredictor"
    assert light.predict(SHORT) == tagger.predict(SHORT)
    np.testing.assert_array_equal(light.marginal_array(SHORT), loglinear.load(tmp_path / "m.ll").marginal_array(SHORT))
    assert str(light.explain(SHORT[0])) == str(tagger.explain(SHORT[0]))
    assert light.parameters().keys() == tagger.get_params().keys() - {"log"}  # of training, not of the model
    light.save(tmp_path / "again.ll")
    assert loglinear.load(tmp_path / "again.ll").predict(SHORT) == tagger.predict(SHORT)
    again = pickle.loads(pickle.dumps(light))
    assert again.predict(light.encode(SHORT)) == tagger.predict(SHORT)


def test_names_of_templates_do_not_change_the_weights():
    x = [[("the", "DT"), ("dog", "NN"), ("barks", "VBZ")], [("a", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]]
    y = [["B-NP", "I-NP", "B-VP"]] * 2
    named = Tagger(templates="chunking", verbose=0).fit(x, y)
    lines = TEMPLATE_SETS["chunking"].splitlines()
    text = "\n".join(f"U{i:02}:{line[line.index('%'):]}" if "%" in line else line for i, line in enumerate(lines))
    numbered = Tagger(templates=text, verbose=0).fit(x, y)
    assert "word=dog" in named.attribute_names()
    assert "U02:dog" in numbered.attribute_names()
    assert np.array_equal(named.weights_, numbered.weights_)


def test_an_estimate_without_a_finite_optimum_says_so_and_overflows_nowhere():
    """With hardly any l1, M-estimates of features that the base never expects have no end."""
    rng = np.random.default_rng(0)
    X = [[(f"w{n}",) for n in rng.integers(12, size=rng.integers(1, 6))] for _ in range(30)]
    y = [["AB"[n] for n in rng.integers(2, size=len(one))] for one in X]
    tagger = Tagger("m-estimation", templates="U%x[0,0]\nU%x[-1,0]/%x[0,0]\nB", penalty="l1", strength=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        tagger.fit(X, y)
    assert np.isfinite(tagger.weights_).all()
