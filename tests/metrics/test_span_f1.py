"""Span scores against the CoNLL scorer's own way of counting, token by token, and by hand."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from loglinear.metrics.accuracy import score_labels
from loglinear.metrics.span_f1 import span_scores

LABELS = ["O", "B-NP", "I-NP", "B-VP", "I-VP", "I-X-Y"]


def begins(before: str, part: str, type_before: str, kind: str) -> bool:
    return part == "B" or (part == "I" and before == "O") or (part != "O" and kind != type_before)


def ends(before: str, part: str, type_before: str, kind: str) -> bool:
    return (before in "BI" and part in "BO") or (before != "O" and kind != type_before)


def count_as_the_scorer_does(gold: list[list[str]], predicted: list[list[str]]) -> tuple[Counter, Counter, Counter]:
    """One pass that only remembers whether the span under way is right so far; a sequence ends with O on both sides."""
    due, found, correct = Counter(), Counter(), Counter()
    last, under_way = [("O", ""), ("O", "")], False
    for truth, guess in zip(gold, predicted):
        for pair in zip([*truth, "O"], [*guess, "O"]):
            now = [(label[0], label[2:]) for label in pair]
            closing = [ends(a, b, s, t) for (a, s), (b, t) in zip(last, now)]
            opening = [begins(a, b, s, t) for (a, s), (b, t) in zip(last, now)]
            if under_way and all(closing) and last[0][1] == last[1][1]:
                correct[last[0][1]] += 1
                under_way = False
            elif under_way and (closing[0] != closing[1] or now[0][1] != now[1][1]):
                under_way = False
            if all(opening) and now[0][1] == now[1][1]:
                under_way = True
            due[now[0][1]] += opening[0]
            found[now[1][1]] += opening[1]
            last = now
    return due, found, correct


@pytest.mark.parametrize("seed", range(20))
def test_counts_agree_with_the_scorer_on_legal_and_illegal_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold = [rng.choice(LABELS, size=n).tolist() for n in rng.integers(0, 15, size=40)]
    predicted = [[a if rng.random() < 0.7 else str(rng.choice(LABELS)) for a in labels] for labels in gold]
    scores = span_scores(gold, predicted)
    due, found, correct = count_as_the_scorer_does(gold, predicted)
    for row in scores.types:
        assert (row.gold, row.predicted, row.correct) == (due[row.type], found[row.type], correct[row.type])
    assert {row.type for row in scores.types} == {kind for kind, n in (due + found).items() if n}
    assert (scores.n_gold, scores.n_predicted, scores.n_correct) == (
        sum(due.values()), sum(found.values()), sum(correct.values()),
    )  # fmt: skip
    twins = Counter({a: sum(row.values()) for a, row in scores.confusion.items()})
    assert twins + Counter(scores.missed) == +due
    assert sum(scores.spurious.values()) + sum(twins.values()) == scores.n_predicted
    assert {kind: row[kind] for kind, row in scores.confusion.items() if kind in row} == dict(+correct)


def test_by_hand() -> None:
    gold = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "O"], ["O"]]
    predicted = [["B-NP", "I-NP", "O", "B-NP"], ["O", "B-VP"], ["O"]]
    scores = span_scores(gold, predicted)
    assert scores.scheme == "bio"
    assert (scores.n_sequences, scores.n_tokens) == (3, 7)
    assert scores.accuracy == pytest.approx(4 / 7)
    assert scores.sequence_accuracy == pytest.approx(1 / 3)
    assert (scores.precision, scores.recall, scores.f1) == (1 / 3, 1 / 3, 1 / 3)
    assert scores.confusion == {"NP": {"NP": 1}, "VP": {"NP": 1}}
    assert scores.missed == {"NP": 1}
    assert scores.spurious == {"VP": 1}
    assert scores.conlleval() == (
        "processed 7 tokens with 3 phrases; found: 3 phrases; correct: 1.\n"
        "accuracy:  57.14%; precision:  33.33%; recall:  33.33%; FB1:  33.33\n"
        "               NP: precision:  50.00%; recall:  50.00%; FB1:  50.00  2\n"
        "               VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
    )
    assert json.loads(json.dumps(scores.to_dict()))["types"][0]["f1"] == 0.5


def test_nothing_found_and_nothing_due() -> None:
    nothing_found = span_scores([["B-x", "O"]], [["O", "O"]])
    assert (nothing_found.precision, nothing_found.recall, nothing_found.f1) == (0.0, 0.0, 0.0)
    assert nothing_found.missed == {"x": 1}
    nothing_due = span_scores([["O", "O"]], [["O", "O"]], scheme="bio")
    assert (nothing_due.n_gold, nothing_due.f1, nothing_due.accuracy, nothing_due.types) == (0, 0.0, 1.0, [])
    assert "with 0 phrases; found: 0 phrases; correct: 0." in nothing_due.conlleval()


def test_iobes_spans_are_those_of_the_same_bio_labels() -> None:
    bio = span_scores([["B-x", "B-x", "I-x"]], [["B-x", "B-x", "I-x"]])
    iobes = span_scores([["S-x", "B-x", "E-x"]], [["S-x", "B-x", "E-x"]])
    assert iobes.scheme == "iobes"
    assert iobes.types == bio.types


def test_labels_of_no_scheme_are_scored_one_by_one() -> None:
    gold, predicted = [["NN", "VB"], ["NN"]], [["NN", "NN"], ["DT"]]
    scores = span_scores(gold, predicted)
    assert (scores.scheme, scores.precision, scores.recall, scores.f1) == (None, None, None, None)
    assert scores.accuracy == pytest.approx(1 / 3)
    assert scores.labels == score_labels(["NN", "VB", "NN"], ["NN", "NN", "DT"])


def test_refusals() -> None:
    with pytest.raises(ValueError, match="sequence 1 has 2 gold labels, but 1 predicted ones"):
        span_scores([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="2 sequences of gold labels, but 1 of predicted"):
        span_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="no tokens to score"):
        span_scores([[]], [[]])
    with pytest.raises(ValueError, match="'NN' is not of the scheme bio"):
        span_scores([["NN"]], [["NN"]], scheme="bio")
