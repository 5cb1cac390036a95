"""Taggers on numbers: dense arrays beside attributes, sparse matrices, and scores of labels that are given."""

import itertools
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from peak import PEAK
from scipy import sparse
from scipy.special import logsumexp

import loglinear
from loglinear import Tagger, TokenArrays

LABELS = ["A", "B", "C"]


def problem(seed=0, lengths=(4, 1, 3, 5, 2), width=6):
    rng = np.random.default_rng(seed)
    numbers = [rng.normal(size=(n, width)).astype(np.float32) for n in lengths]
    words = [[{"w": str(rng.integers(4))} for _ in range(n)] for n in lengths]
    y = [[LABELS[int(np.argmax(x[:3]))] for x in one] for one in numbers]
    return numbers, words, y


def enumerated(N, M):
    """Return (log Z, marginals) of emissions N [T, L] and transitions M [L, L], over all labellings."""
    T, L = N.shape
    paths = np.array(list(itertools.product(range(L), repeat=T)))
    scores = N[np.arange(T), paths].sum(axis=1) + M[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    log_z = logsumexp(scores)
    p = np.exp(scores - log_z)
    return log_z, np.array([[p[paths[:, t] == y].sum() for y in range(L)] for t in range(T)])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("beside", [False, True])
def test_numbers_train_as_attributes_with_the_same_values(beside, order):
    numbers, words, y = problem()
    X = TokenArrays(numbers, attributes=words if beside else None)
    tagger = Tagger(tolerance=1e-9, order=order).fit(X, y)
    named = [[{**(token if beside else {}), **{f"numbers[{k}]": float(v) for k, v in enumerate(row)}}
              for token, row in zip(tokens, array)] for tokens, array in zip(words, numbers)]  # fmt: skip
    twin = Tagger(tolerance=1e-9, order=order, features="all").fit(named, y)
    if not beside:
        assert tagger.objective_ == pytest.approx(twin.objective_, rel=1e-7)
        ours, theirs = tagger.state_features_, twin.state_features_
        assert ours.keys() == theirs.keys()
        assert max(abs(ours[key] - theirs[key]) for key in ours) < 1e-3
    new, more, _ = problem(seed=1)
    other = TokenArrays(new, attributes=more if beside else None)
    assert tagger.predict(other)[0] == tagger.predict(other[:1])[0]
    assert tagger.score(X, y) > 0.9


@pytest.mark.parametrize("solver", ["owlqn", "stochastic", "working_set", "lbfgs"])
def test_every_solver_and_penalty_takes_numbers(solver):
    numbers, words, y = problem()
    penalty = "l2" if solver == "lbfgs" else "elastic_net"
    X = TokenArrays(numbers, attributes=words)
    one = Tagger(penalty=penalty, strength=0.5, solver=solver, tolerance=1e-6, random_state=0).fit(X, y)
    two = Tagger(penalty=penalty, strength=0.5, tolerance=1e-6).fit(X, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)


def test_marginals_and_normalisers_are_those_of_an_independent_implementation():
    numbers, _, y = problem()
    rng = np.random.default_rng(5)
    emissions = [rng.normal(size=(len(x), 3), scale=3).astype(np.float32) for x in numbers]
    X = TokenArrays(numbers, emissions=emissions, labels=LABELS)
    tagger = Tagger(strength=0.3, tolerance=1e-8).fit(X, y)
    W = np.zeros((6, 3))
    for (name, label), w in tagger.state_features_.items():
        W[int(name[8:-1]), LABELS.index(label)] = w
    marginals, at = tagger.marginal_array(X), 0
    total = 0.0
    for x, e, labels in zip(numbers, emissions, y):
        N = x.astype(float) @ W + e
        log_z, expected = enumerated(N, tagger.transition_matrix())
        np.testing.assert_allclose(marginals[at : at + len(x)], expected, atol=1e-5)
        k = [LABELS.index(label) for label in labels]
        score = N[np.arange(len(k)), k].sum() + sum(tagger.transition_matrix()[a, b] for a, b in itertools.pairwise(k))
        total += log_z - score
        at += len(x)
    assert -tagger.log_probability(X, y).sum() == pytest.approx(total, rel=1e-5)


def test_emissions_alone_learn_transitions():
    rng = np.random.default_rng(0)
    emissions = [rng.normal(size=(n, 3)).astype(np.float32) for n in (6, 5, 7)]
    y = [["A", "B"] * 3, ["A", "B", "A", "B", "A"], ["A", "B", "A", "B", "A", "B", "A"]]
    tagger = Tagger(strength=0.01).fit(TokenArrays(emissions=emissions, labels=LABELS), y)
    assert tagger.classes_ == LABELS
    assert set(tagger.transition_features_) == {("A", "B"), ("B", "A")}
    assert tagger.state_features_ == {}
    with pytest.raises(ValueError, match="emissions for the labels"):
        tagger.predict(TokenArrays(emissions=emissions, labels=["B", "A", "C"]))


def test_one_array_with_lengths_is_not_copied():
    numbers = np.random.default_rng(0).normal(size=(40_000, 64)).astype(np.float32)
    lengths = np.full(2000, 20)
    y = [[LABELS[k % 3] for k in range(20)] for _ in range(2000)]
    X = TokenArrays(numbers, lengths=lengths)
    assert all(np.shares_memory(numbers, one) for one in (X.numbers[0], X.numbers[-1]))
    tracemalloc.start()
    tagger = Tagger(max_iterations=2, tolerance=1.0, n_threads=1).fit(X, y)
    tagger.marginal_array(X[:10])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * numbers.nbytes + 8e6  # labels of Python objects, and the like, do not grow with the width


def test_sparse_matrices_are_attributes():
    numbers, _, y = problem()
    matrices = [sparse.csr_matrix(np.where(np.abs(x) > 0.5, x, 0)) for x in numbers]
    listed = Tagger().fit(matrices, y)
    whole = TokenArrays(sparse.vstack(matrices).tocsr(), lengths=[len(x) for x in numbers])
    assert Tagger().fit(whole, y).state_features_ == listed.state_features_
    assert listed.predict(matrices) == listed.predict(whole)
    assert ("0", "A") in listed.state_features_


def test_models_are_saved_explained_and_split(tmp_path):
    numbers, words, y = problem()
    X = TokenArrays(numbers, attributes=words)
    tagger = Tagger(penalty="l1", strength=0.4).fit(X, y)
    tagger.save(tmp_path / "m.ll")
    again = loglinear.load(tmp_path / "m.ll")
    np.testing.assert_array_equal(again.marginal_array(X), tagger.marginal_array(X))
    explanation = tagger.explain(X[0])
    token = explanation.tokens[0]
    assert any(push.feature.startswith("numbers[") for push in token.pushes)
    total = sum(t.score for t in explanation.tokens)
    lattices = tagger._lattices(X[:1])
    assert total == pytest.approx(float(lattices.scores(lattices.best())[0]))
    assert tagger.evaluate(X, y, errors=1)["accuracy"] > 0.5
    assert len(X[[0, 2]]) == 2
    assert repr(X) == "TokenArrays(5 sequences, 15 tokens, 6 numbers each)"


def test_bad_arrays_are_refused():
    numbers, words, y = problem()
    nan = [x.copy() for x in numbers]
    nan[2][1, 3] = np.nan
    tagger = Tagger().fit(numbers, y)
    for call, message in [
        (lambda: TokenArrays(), "needs numbers or emissions"),
        (lambda: TokenArrays(numbers[0]), "need lengths"),
        (lambda: TokenArrays(numbers[0], lengths=[9]), "the lengths add up to 9, but numbers have 4 rows"),
        (lambda: TokenArrays([numbers[0], numbers[1][:, :2]]), "numbers of sequence 1 have 2 columns, those before 6"),
        (lambda: TokenArrays(numbers, attributes=words[:2]), "5 sequences of numbers, but 2 beside them"),
        (lambda: TokenArrays(numbers, attributes=[w * 2 for w in words]), "sequence 0 has 4 tokens in one array and 8"),
        (lambda: TokenArrays(emissions=numbers, labels=LABELS), "3 labels for emissions of 6 columns"),
        (lambda: Tagger().fit(nan, y), "sequence 2, token 1, column 3: the number is not finite"),
        (lambda: Tagger().fit(TokenArrays(emissions=numbers), y), "emissions need the label of each column"),
        (lambda: Tagger("hmm").fit(numbers, y), "a base distribution is counted from columns"),
        (lambda: tagger.predict([x[:, :3] for x in numbers]), "trained with 6 numbers per token and no emissions"),
        (lambda: tagger.predict(TokenArrays(numbers, attributes=words)), "attributes beside the numbers must be there"),
        (lambda: Tagger.from_pretrained(tagger).fit(numbers, y), "cannot be continued"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="numbers of sequence 0 must be a 2-D array of numbers"):
        TokenArrays([["a"]])
    with pytest.raises(TypeError, match="the model reads numbers beside attributes: give TokenArrays"):
        tagger.predict(words)


MEMORY = (
    PEAK
    + """
import warnings
import numpy as np
from loglinear import Tagger, TokenArrays

warnings.simplefilter("ignore")
numbers = np.ones((160_000, 128), np.float32)
numbers[:, :2] = np.random.default_rng(0).normal(size=(160_000, 2))
y = [["A" if x > 0 else "B" for x in row] for row in numbers[:, 0].reshape(8000, 20).tolist()]
Tagger(max_iterations=2).fit([numbers[:20]], [["A", "B"] * 10])
before = peak()
sequences = np.split(numbers, 8000)
model = Tagger(max_iterations=5, n_threads=2).fit(TokenArrays(sequences), y)
print(1 + (peak() - before) / numbers.nbytes, model.score(TokenArrays(sequences), y))
"""
)


def test_memory_is_that_of_the_array():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    memory, score = map(float, done.stdout.split())
    assert score > 0.9
    assert memory < 1.2
