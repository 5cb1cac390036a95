"""Every later version must prove that it still reads what version 0.1.0 wrote.

The files of tests/saved_models were written by version 0.1.0, and `expected.json` holds what it answered. They are
never regenerated: where one of these tests fails, it is the code that is wrong. They were trained on the text of
Python's own standard library: docstrings, lines of modules, pydoc's topics. Numbers may differ in the last digits from
one processor to another; words and labels may not.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import loglinear
from loglinear.formats.nbest import Candidate, CandidateList

FOLDER = Path(__file__).parent.parent / "saved_models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def read(name):
    return loglinear.load(FOLDER / f"{name}.ll", verify=True)


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-11, atol=1e-14)


def test_every_file_is_asked():
    assert {path.stem for path in FOLDER.glob("*.ll")} == set(EXPECTED)


@pytest.mark.parametrize("name", ["classifier", "classifier_of_a_matrix"])
def test_classifier(name):
    model, said = read(name), EXPECTED[name]
    examples = said["examples"] if "examples" in said else np.array(said["matrix"])
    assert model.predict(examples).tolist() == said["labels"]
    close(model.predict_proba(examples), said["probabilities"])


@pytest.mark.parametrize("name", ["tagger", "tagger_on_an_hmm"])
def test_tagger(name):
    model, said = read(name), EXPECTED[name]
    sequences = [[tuple(token) for token in sequence] for sequence in said["sequences"]]
    assert model.predict(sequences) == said["labels"]
    close(model.marginal_array(sequences), said["marginals"])


@pytest.mark.parametrize("name", ["language_model", "language_model_of_a_tree"])
def test_language_model(name):
    model, said = read(name), EXPECTED[name]
    close(model.queries_.score_batch(said["sentences"]), said["log10"])
    close(model.perplexity(said["sentences"]), said["perplexity"])
    for context, expected in zip(said["contexts"], said["top"]):
        found = model.top(context, len(expected))
        assert [word for word, _ in found] == [word for word, _ in expected]
        close([p for _, p in found], [p for _, p in expected])


def test_input_method():
    model, said = read("input_method"), EXPECTED["input_method"]
    assert model.convert(said["readings"]) == said["texts"]
    for found, expected in zip(model.candidates(said["readings"], 3), said["candidates"]):
        assert [" ".join(words) for words, _ in found] == [text for text, _ in expected]
        close([score for _, score in found], [score for _, score in expected])


def test_reranker():
    model, said = read("reranker"), EXPECTED["reranker"]
    lists = [CandidateList(name, [Candidate(*candidate) for candidate in found]) for name, found in said["lists"]]
    assert model.predict(lists) == said["texts"]
    for found, expected in zip(model.candidate_scores(lists), said["scores"]):
        close(found, expected)
    weights = model.feature_weights(len(said["weights"]))
    assert [name for name, _ in weights] == [name for name, _ in said["weights"]]
    close([weight for _, weight in weights], [weight for _, weight in said["weights"]])
