"""Docstrings of public classes are true: they name settings and fitted attributes, and arrays have the sizes told."""

import inspect
import re
import warnings

import numpy as np
import pytest

import loglinear
from loglinear import (
    InputMethod,
    LanguageModel,
    MaxentClassifier,
    Parser,
    Reranker,
    Tagger,
    WordClasses,
    crfsuite,
    penalties,
    protocols,
    solvers,
)
from loglinear.formats import Candidate, CandidateList
from loglinear.formats.bracketed import parse_bracketed

TEXT = ["the dog sees a cat", "a dog barks", "the cat sleeps"] * 5
TREES = b"(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))(S (NP (DT a) (NN dog)) (VP (VBZ barks)))"
TOKENS, LABELS = [[["a"], ["b"]], [["a"], ["a"], ["b"]]], [["x", "y"], ["x", "x", "y"]]
# What only other parts of the package look at.
INTERNAL = {
    "featuriser_", "label_form_", "reader_", "features_", "hmm_", "input_only_", "coarse_", "root_", "grammar_",
    "plan_", "stage_seconds_", "state_features_", "transition_features_",
}  # fmt: skip
_ITEM = re.compile(r"^(\w+_(?:, \w+_)*(?:,\n\w+_)*) : (.*(?:\n    .*)*)", re.MULTILINE)


def public_classes():
    found = [getattr(home, name) for home in (loglinear, penalties, solvers, crfsuite) for name in home.__all__]
    found += [value for value in vars(protocols).values() if getattr(value, "__module__", "") == protocols.__name__]
    return [cls for cls in dict.fromkeys(found) if inspect.isclass(cls)]


def lists():
    def one(i):
        nbest = [Candidate("their house", {"score": -1.0}), Candidate("there house", {"score": -0.5 * (i % 3)})]
        return CandidateList(str(i), nbest, "their house")

    return [one(i) for i in range(20)]


def fitted():
    """Return models of every class, of several settings each."""
    texts, classes = ["a b", "c d", "e f", "a c", "c e"] * 5, ["x", "y", "z", "x", "y"] * 5
    readings = [" ".join(f"{word}|{word[0]}" for word in line.split()) for line in TEXT]
    keyboard = InputMethod(spaces=True).fit(readings, validation=readings[:2])
    trees = parse_bracketed(TREES)
    return [
        MaxentClassifier(tune="cv").fit(texts, classes),
        MaxentClassifier(tune=[1, 2]).fit(texts, ["x", "y"] * 12 + ["x"], validation=(["a", "c"], ["x", "y"])),
        Tagger(tune=[1, 2]).fit(TOKENS, LABELS, validation=(TOKENS, LABELS)),
        Tagger("m-estimation", "U:%x[0,0]\nB", em=1).fit([*TOKENS, [["b"]]], [*LABELS, [None]]),
        Parser(min_word_count=1, tune=[1, 2]).fit(trees, validation=trees),
        LanguageModel(3, tune="validation").fit(TEXT, validation=TEXT),
        LanguageModel(3, "kneser-ney").fit(TEXT),
        LanguageModel(3, penalty="tree-l2").fit(TEXT),
        LanguageModel(3, classes=3).fit(TEXT),
        Reranker(max_iterations=20).fit(lists(), validation=lists()),
        keyboard,
        keyboard.adapt_language_model(readings[:3], readings[3:6]),
        WordClasses(n_classes=3).fit(TEXT),
    ]


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted()


def told(cls):
    """Return the fitted attributes that the docstring of a class names, each with what it says."""
    text = inspect.getdoc(cls).split("Attributes\n----------\n")[1]
    return {name.strip(): says for names, says in _ITEM.findall(text) for name in names.split(",")}


def has(model):
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith(("_", "dev_"))]
    return {name: value for name in names if not callable(value := getattr(model, name, len))}


def test_fitted_attributes_are_those_that_docstrings_name(models):
    found = {}
    for model in models:
        found.setdefault(type(model), set()).update(has(model))
    for cls, names in found.items():
        assert names - INTERNAL - set(told(cls)) == set(), cls
        assert set(told(cls)) - names == set(), cls


def test_arrays_have_the_sizes_that_docstrings_tell(models):
    checked = 0
    for model in models:
        sizes = {}
        for name, value in has(model).items():
            shape = re.search(r"\[([\w, ]+)\]", told(type(model)).get(name, ""))
            if isinstance(value, np.ndarray):
                assert shape, f"{type(model).__name__}.{name} is an array: say its size"
            if shape and isinstance(value, (np.ndarray, list, tuple)):
                dimensions = value.shape if isinstance(value, np.ndarray) else (len(value),)
                for symbol, size in zip(shape[1].split(", "), dimensions, strict=True):
                    known = getattr(model, symbol, None) or getattr(model, symbol + "_", size)
                    assert sizes.setdefault(symbol, size) == size == known, f"{type(model).__name__}.{name}: {symbol}"
                    checked += 1
    assert checked > 15


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_setting_is_described_and_arrays_that_methods_return_have_sizes(cls):
    if hasattr(cls, "fit"):
        described = re.findall(r"\w+", " ".join(re.findall(r"^([\w, \n]+?) : ", inspect.getdoc(cls), re.MULTILINE)))
        assert set(inspect.signature(cls).parameters) - set(described) == set()
    missing = []
    for method, function in inspect.getmembers(cls, inspect.isfunction):
        returns = str(function.__annotations__.get("return", ""))
        if not method.startswith("_") and re.search(r"\b(FloatArray|IntArray|ndarray|NDArray)\b", returns):
            missing += [] if "[" in (inspect.getdoc(function) or "") else [f"{method} returns {returns}"]
    assert missing == []
