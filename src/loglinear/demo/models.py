"""One small model of each kind, trained in seconds on text that every Python carries, to try by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from loglinear.demo.code_lines import TEST_MODULES, TRAIN_MODULES, TaggedLines, identifier_roles
from loglinear.demo.docstrings import Corpus, stdlib_docstrings
from loglinear.demo.keypad import SETTINGS, keypad_text
from loglinear.demo.parsers import statements
from loglinear.demo.sentences import documentation
from loglinear.formats.bracketed import Trees
from loglinear.models import InputMethod, LanguageModel, MaxentClassifier, Parser, Tagger

# The token and its neighbours, and the shape of the token: one column, so that a line of code can be typed.
_TEMPLATES = """\
Utoken=%x[0,0]
Uprevious.token=%x[-1,0]
Unext.token=%x[1,0]
Uprevious2.token=%x[-2,0]
Unext2.token=%x[2,0]
Ushape=%s[0,0]
B
"""
_N_TREES = 400


class DemoModel(NamedTuple):
    """A trained model, and text to begin with."""

    model: Any
    example: str


def train_models(say: Callable[[str], None] = lambda message: None, *, quick: bool = False) -> dict[str, DemoModel]:
    """Train the models; ``say`` is called before each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small tolerances are not the point here
        say("reading the documentation of the standard library")
        corpus = stdlib_docstrings(quick=quick)
        return dict(_models(corpus, say))


def _models(corpus: Corpus, say: Callable[[str], None]) -> Iterator[tuple[str, DemoModel]]:
    quiet: dict[str, Any] = {"random_state": 0, "verbose": 0}
    say("a classifier of docstrings")
    classifier = MaxentClassifier(strength=0.3, ngrams=(1, 2), **quiet).fit(corpus.train_texts, corpus.train_labels)
    yield "docstrings", DemoModel(classifier, "Return the next event of the queue, or wait until a task has finished.")
    say("a tagger of names in lines of Python")
    lines, _ = identifier_roles(corpus.quick)
    tagger = Tagger("crf", _TEMPLATES, **quiet).fit(_words(lines), lines.labels)
    yield "code", DemoModel(tagger, "result = parse ( text , size = 10 ) [ 0 ]")
    say("a language model of the documentation")
    prose = documentation(corpus)
    language = LanguageModel(4, min_word_count=2, **quiet).fit(prose.train)
    yield "documentation", DemoModel(language, "this method returns the number of ")
    say("an input method for nine keys, and a reranker that adapts it")
    text = keypad_text(corpus)
    if text.background and text.train and text.dev:
        typing = InputMethod(**SETTINGS).fit(text.background, dictionary=text.train)
        yield "keypad", DemoModel(typing, "843 6263 47 668 46 843 5478")
        reranker = typing.adapt(text.train, text.dev, "blasso", max_iterations=2000)
        readings = typing.candidate_lists(text.test[:50], k=5)
        yield "adapted", DemoModel(reranker, _listed(readings))
    say("a parser of Python's statements")
    trees = Trees.of(statements(TRAIN_MODULES + " " + TEST_MODULES, 100 if corpus.quick else _N_TREES))
    parser = Parser("crf", max_iterations=30, verbose=0).fit(trees)
    yield "statements", DemoModel(parser, "self . size = len ( text )")


def _words(lines: TaggedLines) -> list[list[str]]:
    return [[(token[0],) for token in line] for line in lines.sequences]  # type: ignore[misc]


def _listed(lists: Any) -> str:
    """Return the candidates of the first list with several, a line each: score, tab, text."""
    one = next(found for found in lists if len(found.candidates) >= 4)
    return "\n".join(f"{candidate.scores['score']:.3f}\t{candidate.text}" for candidate in one.candidates)
