"""Taggers for people: heat map, attributes and scores as tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from loglinear import Tagger
from loglinear.display.tables import to_records
from loglinear.metrics.evaluation import evaluate_tagger
from loglinear.metrics.span_f1 import span_scores
from loglinear.report.model import describe_model
from loglinear.report.spans import score_facts, score_tables
from loglinear.report.tagger import tagger_facts, tagger_sections

X = [[("the", "D"), ("dog", "N"), ("barks", "V")], [("it", "P"), ("sees", "V"), ("a", "D"), ("cat", "N")]]
Y = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP", "B-NP", "I-NP"]]


@pytest.fixture(scope="module", params=["crf", "m-estimation", "hmm"])
def model(request: pytest.FixtureRequest) -> Tagger:
    return Tagger(request.param, "hmm", strength=0.1, verbose=0).fit(X, Y)


def test_sections_show_what_the_model_holds(model: Tagger, tmp_path: Path) -> None:
    heat_map, *attributes = tagger_sections(model, top=2)
    cells = to_records(heat_map.tables[0])
    assert [row["from \\ to"] for row in cells] == model.classes_
    first = model.transition_matrix()[0, 1]
    assert cells[0][model.classes_[1]] == pytest.approx(first, abs=0.006)
    facts = tagger_facts(model, top=2)
    assert facts["scheme"] == "bio"
    assert bool(attributes) == bool(facts["top_features"]) == (model.estimator != "hmm")
    model.save(tmp_path / "m.ll")
    described = describe_model(tmp_path / "m.ll", 2)
    assert described.intact
    assert described.to_dict()["labels"] == model.classes_
    assert "Transitions" in [section.title for section in described.sections()]


def test_few_labels_of_many_are_shown() -> None:
    labels = [f"L{i:02}" for i in range(30)]
    many = Tagger(templates="U:%x[0,0]\nB\n", verbose=0).fit([labels], [labels])
    assert 4 <= len(tagger_sections(many)[0].tables[0].rows) <= 12
    assert len(tagger_sections(many, most=20)[0].tables[0].rows) == 20


def test_tables_of_scores() -> None:
    predicted = [["B-NP", "I-NP", "B-NP"], ["B-NP", "B-VP", "B-NP", "B-NP"]]
    scores = span_scores(Y, predicted).to_dict()
    types, confusion = score_tables(scores)
    assert [row["type"] for row in to_records(types)] == ["NP", "VP"]
    rows = {row["gold \\ predicted"]: row for row in to_records(confusion)}
    assert rows["VP"]["NP"] == 1
    assert rows["NP"]["(missed)"] == 1
    assert rows["(spurious)"]["NP"] == 2
    assert dict(score_facts(scores))["F1"] == f"{scores['f1']:.4f}"


def test_tables_of_labels_without_a_scheme() -> None:
    scores = span_scores([["D", "N", "V"]], [["D", "V", "V"]]).to_dict()
    labels, wrong = score_tables(scores)
    assert [row["label"] for row in to_records(labels)] == ["D", "N", "V"]
    assert to_records(wrong) == [{"gold": "N", "predicted": "V", "tokens": 1}]
    assert "macro F1" in dict(score_facts(scores))
    assert len(score_tables(span_scores([["D"]], [["D"]]).to_dict())) == 1


def test_labels_a_tagger_never_saw_are_counted(model: Tagger) -> None:
    result = evaluate_tagger(model, X, [["B-NP", "I-NP", "B-NEW"], ["B-NP", "B-VP", "B-NP", "I-NP"]], "bio")
    assert result.unseen == {"B-NEW": 1}
    assert result.scores.f1 is not None
    assert result.to_dict()["unseen_labels"] == {"B-NEW": 1}
    types = score_tables(result.to_dict())[0]
    assert [row["type"] for row in to_records(types)] == ["NEW *", "NP", "VP"]
    assert types.note == "* never occurred in training, so it is never predicted"


def test_a_label_that_is_new_for_a_known_type_does_not_mark_the_type() -> None:
    scores = span_scores([["B-NP", "I-NP"]], [["B-NP", "B-NP"]], "bio").to_dict()
    assert [row["type"] for row in to_records(score_tables({**scores, "unseen_labels": {"I-NP": 1}})[0])] == ["NP"]


def test_labels_without_a_scheme_are_marked_if_they_are_new() -> None:
    scores = span_scores([["D", "N"]], [["D", "D"]]).to_dict()
    table = score_tables({**scores, "unseen_labels": {"N": 1}})[0]
    assert [row["label"] for row in to_records(table)] == ["D", "N *"]
