"""One model, many threads and processes: the answers of one thread, and no memory that grows.

LOGLINEAR_CALLS=100000 makes the mixed calls of threads, and those of the test of memory, as many.
"""

import gc
import multiprocessing
import os
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from composite_problems import DOCUMENTS

import loglinear
from loglinear import _core
from loglinear.formats.bracketed import parse_bracketed
from loglinear.formats.nbest import Candidate, CandidateList

TEXTS = ["the film is good", "a bad plot", "good", "the plot of the film is bad bad bad"]
SENTENCES = [[{"w": word} for word in t.split()] for t in TEXTS]
TREES = parse_bracketed(
    b"(S (NP (D the) (N film)) (VP (V is) (A good))) (S (NP (D the) (N plot)) (VP (V is) (A bad))) (S (A good))"
)
READINGS = ["里|さと へ|へ 行く|いく", "里|さと と|と 佐藤|さとう", "佐藤|さとう へ|へ", "屁|へ"]
LISTS = [
    CandidateList(str(i), [Candidate(t, {"score": float(t == right)}) for t in TEXTS], reference=right)
    for i, right in enumerate(TEXTS)
]
HISTORY = {"words": ["the"], "tags": ["D"], "topic": "cars"}  # of the composite language model
N_THREADS = 32
LONG = int(os.environ.get("LOGLINEAR_CALLS", "0"))  # of the long run, 0: none


def calls(models):
    """Return calls of many kinds, each of which gives a value that can be compared."""
    classifier, tagger, language, cached, composite, parser, method, reranker = models
    found = [lambda t=t: classifier.predict_proba([t]).tolist() for t in TEXTS]
    found += [lambda t=t: language.queries_.score(t) for t in TEXTS]
    found += [lambda: language.sample(3), lambda: language.top("the", 3), lambda: classifier.predict(TEXTS).tolist()]
    found += [lambda s=s: tagger.predict([s]) for s in SENTENCES]
    found += [lambda: tagger.predict_nbest(SENTENCES, 2), lambda: tagger.predict_marginals(SENTENCES)]
    found += [lambda: cached.score(TEXTS), lambda: cached.next_distribution("the").tolist()]
    found += [lambda: composite.score(DOCUMENTS), lambda: composite.top(HISTORY, 2)]
    found += [lambda: str(parser.predict([TEXTS[0].split()])), lambda: str(parser.predict_nbest([["good"]], 2))]
    found += [lambda: list(map(str, method.convert(["さとへいく", "さとうへ"]))), lambda: reranker.predict(LISTS)]
    return found


@pytest.fixture(scope="module")
def models():
    labels = ["pos", "neg", "pos", "neg"]
    tags = [["D" if word == "the" else "N" for word in t.split()] for t in TEXTS]
    return (
        loglinear.MaxentClassifier(verbose=0, n_threads=2).fit(TEXTS, labels),
        loglinear.Tagger(verbose=0, n_threads=2).fit(SENTENCES, tags),
        loglinear.LanguageModel(2, estimator="kneser-ney-single", verbose=0, n_threads=2, random_state=1).fit(TEXTS),
        loglinear.LanguageModel(2, cache=True, verbose=0, n_threads=2).fit(TEXTS, validation=TEXTS),
        loglinear.LanguageModel(sources="words:2,topic,tags:2", verbose=0, n_threads=2).fit(DOCUMENTS),
        loglinear.Parser(min_word_count=1, verbose=0, n_threads=2).fit(TREES),
        loglinear.InputMethod(2, n_threads=2).fit(READINGS),
        loglinear.Reranker(min_count=1, verbose=0, n_threads=2).fit(LISTS),
    )


def test_thirty_two_threads_get_the_answers_of_one(models):
    own = calls(models)
    expected = [call() for call in own]
    order = np.random.default_rng(0).integers(0, len(own), LONG or 1000).tolist()
    with ThreadPoolExecutor(N_THREADS) as executor:
        found = list(executor.map(lambda i: own[i](), order))
    assert found == [expected[i] for i in order]


def test_memory_does_not_grow_with_calls(models):
    own = calls(models)
    if not _core.resident_bytes():
        pytest.skip("this system does not tell what a process uses")
    for i in range(200):
        own[i % len(own)]()
    gc.collect()
    before = _core.resident_bytes()
    for i in range(LONG or 5000):
        own[i % len(own)]()
    gc.collect()
    assert _core.resident_bytes() - before < 8 << 20


def _answers(path):
    model = loglinear.load(path)
    return model.predict(TEXTS).tolist()


@pytest.mark.parametrize("method", sorted({"fork", "spawn"} & set(multiprocessing.get_all_start_methods())))
def test_processes_get_the_answers_of_one(method, models, tmp_path):
    models[0].save(tmp_path / "m.ll")
    expected = models[0].predict(TEXTS).tolist()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as executor:
        assert list(executor.map(_answers, [tmp_path / "m.ll"] * 4)) == [expected] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_uses_the_model_of_its_parent(models):
    """The threads of the parent's pool do not exist in the child, which makes its own."""
    own = calls(models)
    expected = [call() for call in own]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of any fork of a process with threads
        child = os.fork()
    if child == 0:
        os._exit(0 if [call() for call in own] == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
