"""Pages of evaluations and of models: the figures are those of ``evaluate``, and every page fits its window."""

from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from commands import invoke

from loglinear import LanguageModel, MaxentClassifier, Reranker, Tagger
from loglinear.report.evaluation import classifier_sections, language_model_sections, tagger_sections
from loglinear.report.reranker import model_sections
from loglinear.report.tagger import tagger_sections as sections_of_model

WORDS = ["the", "old", "dog", "barks", "a", "cat", "sleeps", "near", "it", "runs"]
rng = np.random.default_rng(0)
SENTENCES = [[(word,) for word in rng.choice(WORDS, 5)] for _ in range(40)]
GOLD = [["B-X" if w < "c" or rng.random() < 0.2 else "B-Y" if w < "o" else "O" for (w,) in s] for s in SENTENCES]


@pytest.fixture(scope="module")
def tagger():
    return Tagger("crf", "U:%x[0,0]\nB\n", verbose=0).fit(SENTENCES[:30], GOLD[:30])


@pytest.fixture(scope="module")
def reranker():
    scored = {"the dig": -1.0, "the dog": -1.5, "a dig": -3.0}
    hypotheses = [{"text": text, "score": score} for text, score in scored.items()]
    return Reranker("maxent", units="characters").fit([{"hypotheses": hypotheses, "reference": "the dog"}] * 3)


def test_calibration_of_a_tagger_is_that_of_its_marginals(tagger):
    X, y = SENTENCES[30:], GOLD[30:]
    found = tagger.evaluate(X, y, errors=3)
    shares, predicted = np.concatenate(tagger.predict_marginals(X)), np.concatenate(tagger.predict(X))
    sure = np.array([row[label] for row, label in zip(shares, predicted)])
    right = predicted == np.concatenate(y)
    bins = found["calibration"]["bins"]
    assert sum(b["n"] for b in bins) == len(right)
    for b in bins:
        inside = (sure >= b["low"]) & (sure < b["high"])
        assert (b["n"], b["probability"]) == (inside.sum(), pytest.approx(sure[inside].mean()))
        assert b["accuracy"] == pytest.approx(right[inside].mean())
    assert [one["probability"] for one in found["errors"]] == pytest.approx(sorted(sure[~right], reverse=True)[:3])
    assert "calibration" not in tagger.evaluate(X, y)
    titles = [section.title for section in tagger_sections(found)]
    assert titles == ["Results", "Spans", "Calibration", "Most confident mistakes"]


def test_a_classifier_is_told_by_its_figures():
    texts, labels = ["good film", "bad film", "good plot", "bad plot"], ["pos", "neg", "pos", "neg"]
    found = MaxentClassifier().fit(texts, labels).evaluate([*texts, "good"], [*labels, "neg"], errors=2)
    first, classes, sure, mistakes = classifier_sections(found)
    assert dict(first.tables[0].rows)["accuracy"] == f"{found['accuracy']:.4f}" == "0.8000"
    assert dict(classes.bars[0].rows) == {row["label"]: row["f1"] for row in found["classes"]}
    assert (sure.title, [row[2:4] for row in mistakes.tables[0].rows]) == ("Calibration", [("neg", "pos")])


def test_a_language_model_is_told_beside_another():
    text = ["the dog barks", "the cat sleeps", "a dog sleeps"]
    one, other = (LanguageModel(order, "kneser-ney").fit(text).evaluate(text) for order in (2, 1))
    first, _ = language_model_sections(one, other, "unigrams")
    assert dict(first.bars[0].rows) == {"this model": one["perplexity"], "unigrams": other["perplexity"]}
    assert any("unigrams" in name for name, _ in first.tables[0].rows)


def test_weights_are_bars_on_pages_and_tables_on_terminals(tagger, reranker):
    attributes = sections_of_model(tagger, 3)[-1]
    assert [one.title for one in attributes.bars] == tagger.classes_
    weights = tagger.state_features_
    for one in attributes.bars:
        assert all(weights[name, one.title] == value for name, value in one.rows)
    assert (attributes.tables, len(attributes.plain)) == ([], 1)
    features = next(section for section in model_sections(reranker, 5) if section.title.startswith("Features"))
    known = dict(reranker.feature_weights())
    assert all(known[name] == value for one in features.bars for name, value in one.rows)
    assert [table.rows for table in features.plain] == [one.rows for one in features.bars]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: Debian's package is called chromium")
def test_no_page_is_wider_than_its_window(tagger, reranker, tmp_path: Path):
    labelled = "\n\n".join("\n".join(f"{w} {y}" for (w,), y in zip(s, ys)) for s, ys in zip(SENTENCES, GOLD))
    (tmp_path / "d.conll").write_text(labelled + "\n", encoding="utf-8")
    (tmp_path / "d.tsv").write_text("pos\tgood film\nneg\tbad\npos\t" + "unbreakable" * 30 + "\n", encoding="utf-8")
    made = {
        "tagger": tagger, "reranker": reranker, "classifier": MaxentClassifier().fit(["good", "bad"], ["pos", "neg"]),
        "model": LanguageModel(2, "kneser-ney").fit(["the dog barks", "the cat sleeps"]),
    }  # fmt: skip
    for name, model in made.items():
        model.save(tmp_path / f"{name}.ll")
        done = invoke("inspect", tmp_path / f"{name}.ll", "--html", tmp_path / f"{name}.html")
        assert done.exit_code == 0, done.stderr
    evaluated = {("tag", "tagger"): "d.conll", ("classify", "classifier"): "d.tsv", ("lm", "model"): "d.tsv"}
    for (group, name), data in evaluated.items():
        page = tmp_path / f"{name}-eval.html"
        done = invoke(group, "eval", tmp_path / f"{name}.ll", tmp_path / data, "--html", page)
        assert done.exit_code == 0, done.stderr
    pages = sorted(tmp_path.glob("*.html"))
    assert len(pages) == 7
    with Browser() as browser:
        for page in pages:
            for width, dark in ((360, False), (1400, True)):
                browser.size(width, 800, dark)
                browser.go(page.as_uri())
                assert browser.run("document.documentElement.scrollWidth <= innerWidth"), (page.name, width)
                assert browser.run("getComputedStyle(document.body).backgroundColor") == (
                    "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)"
                )
