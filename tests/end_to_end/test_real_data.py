"""Real corpora, where LOGLINEAR_DATA names a folder that has them."""

import gzip
import os
import time
from pathlib import Path

import numpy as np
import pytest
from commands import figures, invoke
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from loglinear import LanguageModel, MaxentClassifier, kenlm
from loglinear.formats.svmlight import read_svmlight
from loglinear.formats.tsv import read_tsv

FOLDER = os.environ.get("LOGLINEAR_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="LOGLINEAR_DATA is not set: no corpora to test on")


def test_r8_from_files_on_the_command_line(tmp_path):
    r8 = Path(FOLDER) / "r8"

    def run(*arguments):
        return figures(invoke("classify", *arguments, "--json"))

    model = tmp_path / "r8.ll"
    trained = run("train", r8 / "train.tsv.gz", "-o", model, "--ngrams", "1,2", "--tolerance", "1e-5")
    assert trained["converged"]
    assert trained["examples"] == 5485
    assert run("eval", model, r8 / "test.tsv.gz")["accuracy"] > 0.955
    sparse_model = tmp_path / "l1.ll"
    trained = run("train", r8 / "train.tsv.gz", "-o", sparse_model, "--ngrams", "1,2", "--penalty", "l1")
    assert trained["nonzero_weights"] < 1000
    assert run("eval", sparse_model, r8 / "test.tsv.gz")["accuracy"] > 0.96
    assert sparse_model.stat().st_size < model.stat().st_size / 100


def test_r8_with_a_weighting():
    """Seen: 0.957 with counts. The strength is about what --tune cv chooses on the training part."""
    (labels, texts), (gold, new) = (read_tsv(Path(FOLDER) / "r8" / f"{part}.tsv.gz") for part in ("train", "test"))
    model = MaxentClassifier(weighting="log_tfidf", strength=0.002).fit(texts, labels)
    assert model.score(new, gold) >= 0.972


@pytest.mark.parametrize("corpus", ["ptb", "brown/lm"])
def test_small_and_instant_ngram_files(corpus, tmp_path):
    """Seen: 22.9 bytes per n-gram, and seconds to open a large file."""
    folder = Path(FOLDER) / corpus
    train, test = (next(folder.glob(pattern)) for pattern in ("*train*", "*test*"))
    model = LanguageModel(order=5, estimator="kneser-ney").fit(train)
    model.save(tmp_path / "exact.ll")
    model.to_binary(tmp_path / "small.bin", quantise=8)
    small = LanguageModel.load(tmp_path / "small.bin")
    assert (tmp_path / "small.bin").stat().st_size <= 6 * sum(model.n_ngrams_)
    assert small.perplexity(test) == pytest.approx(model.perplexity(test), rel=0.005)
    for path in (tmp_path / "exact.ll", tmp_path / "small.bin"):
        seconds = []
        for _ in range(5):
            start = time.process_time()
            kenlm.Model(path).score("the market is up")
            seconds.append(time.process_time() - start)
        assert min(seconds) <= 0.05


def test_solvers_agree_on_r8_unigrams():
    labels, texts = read_tsv(Path(FOLDER) / "r8" / "train.tsv.gz")
    values = {}
    for solver in ("auto", "newton", "clustered"):
        model = MaxentClassifier(solver=solver, tolerance=1e-13).fit(texts[::3], labels[::3])
        values[solver] = model.objective_
    assert max(values.values()) - min(values.values()) < 1e-6 * min(values.values())


def test_a9a():
    parts = []
    for name in ("a9a.gz", "a9a.t.gz"):
        with gzip.open(Path(FOLDER) / "a9a" / name) as file:
            assert file.read(1)
        data = read_svmlight(Path(FOLDER) / "a9a" / name, n_features=123)
        X = sparse.csr_matrix((data.values, data.indices, data.indptr), shape=(len(data.labels), 123))
        parts.append((X, np.array([float(label) for label in data.labels])))
    (X, y), (X_test, y_test) = parts
    model = MaxentClassifier().fit(X, y)
    assert model.score(X_test, y_test) > 0.849


def test_reuters_with_several_labels(tmp_path):
    parts = {"train": [], "test": []}
    with gzip.open(Path(FOLDER) / "reuters" / "modapte.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            part, _, rest = line.partition("\t")
            parts[part].append(rest)
    parts["train"] = parts["train"][::4]  # the time is that of one model for each of the labels
    for name, lines in parts.items():
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    command = ("train", tmp_path / "train.tsv", "-o", tmp_path / "m.ll", "--label-separator", ",", "--strength", "0.1")
    trained = figures(invoke("classify", *command, "--weighting", "log_tfidf", "--json"))
    assert (trained["examples"], trained["converged"]) == (2401, True)
    found = figures(invoke("classify", "eval", tmp_path / "m.ll", tmp_path / "test.tsv", "--json"))
    assert found["micro_f1"] == pytest.approx(0.7428, abs=0.003)  # as measured at this strength, which is not tuned
    few = {"earn", "grain"}
    labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in parts["train"]))
    sets = [few.intersection(label.split(",")) for label in labels]
    model = MaxentClassifier(strength=0.1, weighting="log_tfidf", tolerance=1e-11).fit(list(texts), sets)
    indptr, indices, values = model.featuriser_.transform(list(texts), 2)
    matrix = sparse.csr_matrix((values, indices, indptr), shape=(len(texts), model.n_features_in_))
    for label, weights in zip(model.classes_, model.coef_):
        theirs = LogisticRegression(C=10, tol=1e-9, solver="newton-cg").fit(matrix, [label in one for one in sets])
        np.testing.assert_allclose(weights, theirs.coef_[0], atol=1e-4)
