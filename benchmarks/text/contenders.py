"""Contenders of the text benchmark. Training and prediction are processes of their own:

    python -m benchmarks.text.contenders train NAME FOLDER STRENGTH   (FOLDER/train.tsv -> FOLDER/model)
    python -m benchmarks.text.contenders predict NAME FOLDER STRENGTH (one thread; prints JSON)

Ours trains with the command that users have. Peers read the same file in the same process that trains.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUNDS_SECONDS = 2.0  # a prediction is repeated for as long, so that its first call does not count much
LOGLINEAR = [sys.executable, "-c", "from loglinear.cli import main; main()", "classify", "train"]


@dataclass(frozen=True)
class Contender:
    """How to train on FOLDER/train.tsv, and a function from the folder to one that classifies a list of texts."""

    train: Callable[[Path, float], None] | list[str]  # or arguments of ``loglinear classify train``
    predictor: Callable[[Path], Callable[[list[str]], Any]]


def read(path: Path) -> tuple[list[str], list[str]]:
    labels, texts = zip(*(line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()))
    return list(labels), list(texts)


# ---- ours ------------------------------------------------------------------------------------------------------------
def _ours(folder: Path) -> Callable[[list[str]], Any]:
    import loglinear

    model = loglinear.load(folder / "model")
    model.n_threads = 1
    return model.predict


# ---- scikit-learn ----------------------------------------------------------------------------------------------------
def sklearn(vectoriser: str, options: dict[str, Any], model: Callable[[float], Any]) -> Callable[[Path, float], None]:
    def train(folder: Path, strength: float) -> None:
        import joblib
        from sklearn.feature_extraction import text
        from sklearn.pipeline import make_pipeline

        labels, texts = read(folder / "train.tsv")
        pipeline = make_pipeline(getattr(text, vectoriser)(**options), model(strength))
        joblib.dump(pipeline.fit(texts, labels), folder / "model")

    return train


def _logistic(**options: Any) -> Callable[[float], Any]:
    def make(strength: float) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(**(options or {"C": 1 / strength, "max_iter": 1000}))

    return make


def _sgd(strength: float) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", alpha=1e-5, random_state=0, n_jobs=2)


def _sklearn(folder: Path) -> Callable[[list[str]], Any]:
    import joblib

    return joblib.load(folder / "model").predict


# ---- fastText --------------------------------------------------------------------------------------------------------
def fasttext(**options: Any) -> Callable[[Path, float], None]:
    def train(folder: Path, strength: float) -> None:
        import fasttext as peer

        model = peer.train_supervised(str(folder / "train.txt"), thread=2, verbose=0, **options)
        model.save_model(str(folder / "model"))

    return train


def _fasttext(folder: Path) -> Callable[[list[str]], Any]:
    import fasttext as peer

    model = peer.load_model(str(folder / "model"))

    def predict(texts: list[str]) -> list[str]:
        return [labels[0].removeprefix("__label__") for labels in model.predict([t.lower() for t in texts])[0]]

    return predict


TFIDF = ["--weighting", "log_tfidf"]
CONTENDERS = {
    "loglinear": Contender([*TFIDF, "--strength", "STRENGTH"], _ours),
    "loglinear pairs": Contender([*TFIDF, "--ngrams", "1,2", "--strength", "STRENGTH"], _ours),
    "loglinear tuned": Contender([*TFIDF, "--tune", "cv"], _ours),
    "loglinear counts tuned": Contender(["--tune", "cv"], _ours),
    "scikit-learn the same": Contender(sklearn("TfidfVectorizer", {"sublinear_tf": True}, _logistic()), _sklearn),
    "scikit-learn pairs": Contender(
        sklearn("TfidfVectorizer", {"sublinear_tf": True, "ngram_range": (1, 2)}, _logistic()), _sklearn
    ),
    "scikit-learn defaults": Contender(sklearn("TfidfVectorizer", {}, _logistic(C=1.0)), _sklearn),
    "scikit-learn hashing and SGD": Contender(sklearn("HashingVectorizer", {}, _sgd), _sklearn),
    "fastText defaults": Contender(fasttext(), _fasttext),
    "fastText pairs and 25 epochs": Contender(fasttext(lr=1.0, epoch=25, wordNgrams=2), _fasttext),
}


def training_command(name: str, folder: Path, strength: float) -> list[str]:
    """Return the command that trains a contender."""
    how = CONTENDERS[name].train
    if callable(how):
        return [sys.executable, "-m", "benchmarks.text.contenders", "train", name, str(folder), str(strength)]
    told = [str(strength) if argument == "STRENGTH" else argument for argument in how]
    return [*LOGLINEAR, str(folder / "train.tsv"), "-o", str(folder / "model"), *told, "--json"]


def predict(name: str, folder: Path) -> dict[str, Any]:
    labels, texts = read(folder / "test.tsv")
    start = time.perf_counter()
    classify = CONTENDERS[name].predictor(folder)
    loading = time.perf_counter() - start
    predicted = [str(label) for label in classify(texts)]
    times: list[float] = []
    while not times or sum(times) < ROUNDS_SECONDS:
        start = time.process_time()
        classify(texts)
        times.append(time.process_time() - start)
    right = sum(a == b for a, b in zip(labels, predicted)) / len(labels)
    return {"accuracy": right, "docs/s": len(texts) / min(times), "loading": loading}


def main() -> None:
    what, name, folder, strength = sys.argv[1:]
    if what == "train":
        how = CONTENDERS[name].train
        assert callable(how)
        how(Path(folder), float(strength))
    else:
        print(json.dumps(predict(name, Path(folder))))


if __name__ == "__main__":
    main()
