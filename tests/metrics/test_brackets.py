"""Labelled bracketing, by hand."""

import pytest

from loglinear.formats.bracketed import parse_bracketed
from loglinear.metrics.brackets import score_trees

GOLD = parse_bracketed(b"(TOP (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB up))) (. .)))")


def test_constituents_are_counted_without_punctuation_and_functions():
    found = parse_bracketed(b"(S (NP (DT the) (NN dog)) (VP (VBZ barks) (PRT (RB up)) (. .)))")
    scores = score_trees(GOLD, found)
    assert (scores.gold, scores.predicted, scores.correct, scores.exact) == (4, 4, 4, 1)
    assert scores.to_dict()["tag_accuracy"] == 1.0


def test_precision_recall_and_chains():
    found = parse_bracketed(b"(S (NP (NP (DT the) (NN dog))) (VBZ barks) (NP (IN up)) (. .))")
    scores = score_trees(GOLD, found)
    assert (scores.gold, scores.predicted, scores.correct, scores.exact) == (4, 4, 2, 0)
    assert scores.f1 == 0.5
    assert scores.to_dict()["tag_accuracy"] == 0.75


def test_trees_of_other_sentences_are_refused():
    with pytest.raises(ValueError, match="tree 1: 1 words are predicted where the gold tree has 5"):
        score_trees(GOLD, parse_bracketed(b"(S (NN dog))"))
    with pytest.raises(ValueError, match="2 predicted trees for 1 gold"):
        score_trees(GOLD, GOLD.take([0, 0]))
