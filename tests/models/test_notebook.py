"""What notebooks show of models, explanations and paths: escaped, small, without scripts."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from loglinear import InputMethod, LanguageModel, MaxentClassifier, Parser, Reranker, Tagger
from loglinear.formats.trees import parse_trees

EVIL = "<script>alert(1)</script>"
TEXTS, LABELS = [f"good {EVIL}", "bad film", "good plot", "bad plot"], [f"pos{EVIL}", "neg", f"pos{EVIL}", "neg"]
WORDS = [[("the",), (EVIL,), ("barks",)], [("a",), ("cat",), ("sleeps",)]]
TAGS = [["D", f"N{EVIL}", "V"], ["D", f"N{EVIL}", "V"]]
TREES = list(parse_trees("(S (NP (D the) (N dog)) (V barks)) (S (NP (D a) (N cat)) (V sleeps))"))
HYPOTHESES = [{"text": f"the {EVIL}", "score": -1.0}, {"text": "the dog", "score": -0.8}]
LISTS = [{"hypotheses": HYPOTHESES, "reference": "the dog"}] * 3


class Tags(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def shown() -> dict[str, Any]:
    classifier = MaxentClassifier(strength=0.1).fit(TEXTS, LABELS, validation=(TEXTS, LABELS))
    tagger = Tagger("crf", "U:%x[0,0]\nB\n").fit(WORDS, TAGS)
    parser, reranker = Parser("pcfg", min_word_count=1).fit(TREES), Reranker("boosting").fit(LISTS, validation=LISTS)
    language = LanguageModel(2, "kneser-ney").fit([f"the {EVIL} barks", "the cat sleeps"])
    typing = InputMethod(2, readings="keypad").fit(["the dog", "a cat"])
    return {
        "classifier": classifier, "its explanation": classifier.explain(TEXTS[0]), "tagger": tagger,
        "a sequence": tagger.explain(WORDS[0]), "parser": parser, "a tree": parser.explain(["the", "dog", "barks"]),
        "language model": language, "a sentence": language.explain(f"the {EVIL} barks"), "input method": typing,
        "a reading": typing.explain("843 364"), "reranker": reranker, "a list": reranker.explain(LISTS[0]),
        "path of a reranker": reranker.path_,
        "path of a classifier": classifier.regularization_path(TEXTS, LABELS, [1.0, 0.1], validation=(TEXTS, LABELS)),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_everything_is_shown_escaped_and_small() -> None:
    for name, one in shown().items():
        html = one._repr_html_()
        found = Tags(html)
        assert "script" not in found.names, name
        assert html.startswith('<div class="loglinear">'), name
        assert len(html) < 40_000, name
        assert one._repr_mimebundle_() == {"text/plain": repr(one), "text/html": html}, name
        assert ("svg" in found.names) == name.startswith("path"), name


def test_a_model_shows_how_training_ended_and_what_differs_from_the_defaults() -> None:
    model = MaxentClassifier("l1", strength=0.1)
    text = Tags(model._repr_html_()).text
    assert "MaxentClassifier, not trained" in text
    assert "'l1'" in text
    assert "tolerance" not in text
    text = Tags(model.fit(TEXTS, LABELS, validation=(TEXTS, LABELS))._repr_html_()).text
    assert "not trained" not in text
    assert all(told in text for told in ("score on held-out data", "converged", "objective", "passes over the data"))
    assert "all settings have their defaults" in Tags(LanguageModel()._repr_html_()).text


def test_an_explanation_shows_what_adds_up() -> None:
    model = MaxentClassifier(strength=0.1).fit(TEXTS, LABELS)
    found = model.explain("good plot")
    text = Tags(found._repr_html_()).text
    for push in found.top():
        assert push.feature in text
        assert f"{push.contribution:+.3f}".replace("-", "−") in text
    assert f"score of {found.predicted}" in text
