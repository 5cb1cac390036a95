"""EM over sequences whose labels are unknown: what is drawn, what is kept, and that it learns."""

import numpy as np
import pytest
import taggers
from taggers import TEMPLATES, toy

from loglinear import Tagger, load
from loglinear.features.columns import Columns
from loglinear.features.sequences import FlatLabels
from loglinear.models.tagger.em import completed, fully_labelled

KINDS = [("hmm", {}), ("m-estimation", {"strength": 1.0}), ("m-estimation", {"strength": 1.0, "order": 2})]


def hidden(y, every=4):
    """The labels of one sequence in ``every``; of the others, all but the first are unknown."""
    return [row if i % every == 0 else [row[0], *[None] * (len(row) - 1)] for i, row in enumerate(y)]


def sticky(n, seed, length=12):
    """(X, y): two states that last, each with words of its own, half of which the labelled sequences never have."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        state, words, labels = int(rng.integers(2)), [], []
        for _ in range(length):
            state = state if rng.random() < 0.9 else 1 - state
            word = rng.integers(3) if i < 10 else rng.integers(30)
            words.append(f"{'ab'[state]}{word}")
            labels.append("XY"[state])
        X.append(words)
        y.append(labels)
    return X, y


@pytest.mark.parametrize(("estimator", "settings"), KINDS)
def test_known_labels_stay_and_unknown_ones_are_drawn_from_the_model(estimator, settings):
    X, y = toy(n=24, longest=4)
    partial = hidden(y)
    tagger = Tagger(estimator, TEMPLATES, em=2, random_state=0, **settings).fit(X, partial)
    inputs = tagger.reader_.read(X, 1)
    data = tagger._training_data(inputs, partial, tagger.classes_)
    assert not np.all(fully_labelled(data))
    n, counts = 2000, {}
    draws = [completed(tagger, inputs, data, seed).labels for seed in range(n)]
    for drawn in draws[:20]:
        np.testing.assert_array_equal(drawn[data.labels >= 0], data.labels[data.labels >= 0])
    i = next(k for k, row in enumerate(partial) if row.count(None) == 2)
    a, b = inputs.sequence_ptr[i : i + 2]
    for drawn in draws:
        key = tuple(drawn[a:b].tolist())
        counts[key] = counts.get(key, 0) + 1
    twin = list(taggers.twins(tagger, X))[i]
    fits = np.array([labelling[0] == data.labels[a] for labelling in twin.labellings])
    p = np.where(fits, np.exp(twin.scores - np.logaddexp.reduce(twin.scores[fits])), 0.0)
    for labelling, share in zip(twin.labellings, p):
        assert abs(counts.get(labelling, 0) - n * share) <= 5 * np.sqrt(n * share * (1 - share)) + 1
    best = completed(tagger, inputs, data, 0, best=True).labels
    assert tuple(best[a:b].tolist()) == twin.labellings[int(np.argmax(p))]


@pytest.mark.parametrize(
    ("estimator", "settings"), [*KINDS, ("m-estimation", {"strength": 1.0, "em_labels": "best"})]
)
def test_it_learns_from_unlabelled_sequences(estimator, settings):
    X, y = sticky(300, seed=0)
    new, right = sticky(60, seed=1)
    templates = "U:%x[0,0]\nB\n"
    alone = Tagger(estimator, templates, **settings).fit(X[:10], y[:10])
    rounds = Tagger(estimator, templates, em=8, random_state=0, **settings)
    rounds.fit(X, [*y[:10], *([None] * len(x) for x in X[10:])], validation=(new[10:], right[10:]))
    before, after = alone.score(new[10:], right[10:]), rounds.score(new[10:], right[10:])
    assert after > before + 0.05
    assert [row["round"] for row in rounds.em_] == list(range(9))
    assert rounds.em_[-1]["dev_score"] == after == rounds.validation_score_
    assert rounds.em_[-1]["changed"] < rounds.em_[1]["changed"] == 1.0


def test_it_is_the_same_again_and_in_files(tmp_path):
    X, y = toy(n=24)
    first, second = (Tagger("m-estimation", TEMPLATES, em=3, random_state=1).fit(X, hidden(y)) for _ in range(2))
    np.testing.assert_array_equal(first.weights_, second.weights_)
    first.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").predict(X) == first.predict(X)


def test_labels_as_numbers_may_be_unknown():
    X, y = toy(n=24)
    columns, partial = Columns.from_lists(X), hidden(y)
    names = sorted({label for row in y for label in row})
    numbers = np.array([-1 if k is None else names.index(k) for row in partial for k in row], dtype=np.int32)
    flat = FlatLabels(numbers, columns.sequence_ptr, names)
    ours = Tagger("hmm", em=2, random_state=0).fit(columns, flat)
    np.testing.assert_array_equal(ours.hmm_.start, Tagger("hmm", em=2, random_state=0).fit(X, partial).hmm_.start)


def test_columns_one_after_another():
    a, b = [[("x", "1"), ("y", "2")], []], [[("y", "3"), ("z", "1")]]
    joined = Columns.from_lists(a).followed_by(Columns.from_lists(b))
    assert list(joined) == [*a, *b]
    with pytest.raises(ValueError, match="1 columns after 2"):
        Columns.from_lists(a).followed_by(Columns.from_lists([["q"]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs the label of every token: set em, a number of rounds"),
        ({"em": -1}, "em must be a number of rounds, 0 or more, not -1"),
        ({"em": 3, "estimator": "crf"}, "em is for joint models, 'hmm' and 'm-estimation', not for 'crf'"),
        ({"em": 3, "em_labels": "all"}, "em_labels must be one of 'sample', 'best', not 'all'"),
        ({"em": 3, "checkpoint": "c"}, "a checkpoint cannot resume"),
    ],
)
def test_refusals(settings, message):
    X, y = toy()
    with pytest.raises(ValueError, match=message):
        Tagger(**{"estimator": "m-estimation", "templates": TEMPLATES, **settings}).fit(X, hidden(y))


def test_it_needs_some_labelled_sequences():
    X, y = toy()
    with pytest.raises(ValueError, match="EM starts from sequences whose labels are all known, and there are none"):
        Tagger("hmm", em=2).fit(X, [[*row[:-1], {"A", "B"}] for row in y])
    message = "to start from or to rank features under, needs the label of every token: leave out initialise"
    with pytest.raises(ValueError, match=message):
        Tagger(templates=TEMPLATES, initialise="m-estimation").fit(X, hidden(y))
