"""Telling inputs apart by p(x): one joint model per class of inputs, the class of highest p(x) p(class) wins.

All models share the words of all training sentences that occur twice or more; others are one symbol. A model knows the
words of its own class, and its probability of an unknown word is shared equally by all words of the others, so that all
models are distributions over the same sentences.
"""

from __future__ import annotations

import functools
import gzip
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.m_estimation.beyond import kept
from experiments.m_estimation.parts import Experiment
from experiments.m_estimation.task import Part, chunking, entities, speech
from experiments.record import Json, say
from loglinear import MaxentClassifier, Tagger
from loglinear.arrays import FloatArray

RARE = "<rare>"
TEMPLATES = "Uword=%x[0,0]\nUprevious.word/word=%x[-1,0]/%x[0,0]\nB\n"
SAMPLES = 5_000  # for log Z


class Sentence(NamedTuple):
    """Words, their labels, and the document that they are from (-1: none)."""

    words: list[str]
    labels: list[str]
    document: int


Split = dict[str, list[Sentence]]  # by class


def languages(folder: Path, quick: bool) -> list[Split]:
    """Return sentences of English (EWT) and Turkish (IMST): training, tuning and test."""
    return _splits({"English": speech(folder, quick), "Turkish": speech(folder, quick, "imst")})


def styles(folder: Path, quick: bool) -> list[Split]:
    """Return sentences of the news (CoNLL-2000), of the web (EWT) and of tweets and comments (WNUT-17)."""
    corpora = {"news": chunking(folder, quick), "web": speech(folder, quick), "tweets": entities(folder, quick)}
    return _splits(corpora)


def _splits(corpora: dict[str, Any]) -> list[Split]:
    def sentences(part: Part) -> list[Sentence]:
        return [Sentence([token[0].lower() for token in x], y, -1) for x, y in zip(part.X, part.y) if y]

    return [{name: sentences(getattr(c, part)) for name, c in corpora.items()} for part in ("train", "tune", "test")]


def genres(folder: Path, quick: bool) -> list[Split]:
    """Return sentences of the genres of Brown, by document: of ten, one is for tuning and two are for testing."""
    splits: list[Split] = [{}, {}, {}]
    numbers: dict[str, int] = {}
    seen: Counter[str] = Counter()
    with gzip.open(folder / "brown" / "brown.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            document, genre, text = line.rstrip("\n").split("\t")
            if document not in numbers:
                seen[genre] += 1
                numbers[document] = len(numbers)
                place = {4: 1, 7: 2, 9: 2}.get(seen[genre] % 10, 0)
            tokens = [token.rsplit("/", 1) for token in text.split(" ")]
            tags = [tag.split("-")[0].split("+")[0].rstrip("*$") or tag for _, tag in tokens]
            words = [word.lower() for word, _ in tokens]
            splits[place].setdefault(genre, []).append(Sentence(words, tags, numbers[document]))
    if quick:
        splits = [{genre: found[:15] for genre, found in split.items()} for split in splits]
    return splits


TASKS = {"languages": languages, "styles": styles, "genres of Brown": genres}


class Scorer:
    """One joint model per class; ``constant`` is what is taken off the scores of each."""

    def __init__(self, train: Split, shared: set[str], settings: dict[str, Any], n_threads: int | None) -> None:
        self.classes, self.models, self.unseen = list(train), [], []
        total = sum(map(len, train.values()))
        self.prior = np.array([np.log(len(sentences) / total) for sentences in train.values()])
        for sentences in train.values():
            X = [[(word,) for word in s.words] for s in sentences]
            model = Tagger(**settings, max_iterations=100, n_threads=n_threads, verbose=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.models.append(model.fit(X, [s.labels for s in sentences]))
            known = set(model.reader_.oov.vocabularies[0])
            self.unseen.append((known, np.log(max(len(shared - known), 1))))

    def scores(self, sentences: list[Sentence]) -> FloatArray:
        """Return log of the sum over labellings, shared among unknown words, of each class [n, classes]."""
        X = [[(word,) for word in s.words] for s in sentences]
        out = np.empty((len(X), len(self.classes)))
        for k, (model, (known, share)) in enumerate(zip(self.models, self.unseen)):
            n_unknown = np.array([sum(word not in known for word in s.words) for s in sentences])
            out[:, k] = model.input_log_probability(X) - share * n_unknown
        return out

    def log_normalisers(self, n_samples: int) -> tuple[FloatArray, float]:
        """Return the estimates of log Z, and the largest of their standard errors."""
        pairs = [model.log_normaliser(n_samples) for model in self.models]
        return np.array([z for z, _ in pairs]), max(error for _, error in pairs)


def calibrated(scores: FloatArray, classes: FloatArray, sweeps: int = 3) -> FloatArray:
    """Return one constant per class that make most sentences right: each in turn, the others as they are."""
    bias = np.zeros(scores.shape[1])
    for _ in range(sweeps):
        for k in range(bias.size):
            others = np.delete(scores + bias, k, axis=1).max(axis=1)
            margins = np.quantile(others - scores[:, k], np.linspace(0, 1, 101))
            right = [np.mean(_with(scores, bias, k, b).argmax(axis=1) == classes) for b in margins]
            now = np.mean((scores + bias).argmax(axis=1) == classes)
            if max(right) > now:
                bias[k] = margins[int(np.argmax(right))]
    return bias


def _with(scores: FloatArray, bias: FloatArray, k: int, value: float) -> FloatArray:
    changed = bias.copy()
    changed[k] = value
    return scores + changed


def accuracies(scores: FloatArray, prior: FloatArray, classes: FloatArray, documents: FloatArray) -> Json:
    """Return the shares of right sentences and, where there are documents, of right documents, in percent."""
    found = {"sentences": 100 * float(np.mean((scores + prior).argmax(axis=1) == classes))}
    if documents.min() >= 0:
        names, place = np.unique(documents, return_inverse=True)
        sums = np.tile(prior, (names.size, 1))
        np.add.at(sums, place, scores)
        gold = np.zeros(names.size, dtype=int)
        gold[place] = classes
        found["documents"] = 100 * float(np.mean(sums.argmax(axis=1) == gold))
    return found


def scoring(e: Experiment) -> None:
    """Classify sentences by p(x) of joint models, and by a classifier of words that is trained for nothing else."""
    models: dict[str, dict[str, Any]] = {
        "HMM": {"estimator": "hmm"},
        "M-est.": {"estimator": "m-estimation", "templates": TEMPLATES},
        "M-est., input-only": {"estimator": "m-estimation", "templates": TEMPLATES, "input_only": 2},
    }
    rows: Json = {}
    for task, load in TASKS.items():
        splits, shared = _shared(load(e.folder, e.quick))
        for name, settings in models.items():
            for c in [1.0] if name == "HMM" or e.quick else [1.0, 10.0, 100.0]:
                compute = functools.partial(_scored, e, splits, shared, settings | {"strength": 1 / c})
                rows[f"{task}/{name}/{c:g}"] = kept(e, ["scoring", task, name, c], compute)
        compute = functools.partial(_classified, e, splits)
        rows[f"{task}/classifier/1"] = kept(e, ["scoring", task, "classifier"], compute)
    e.keep("scoring", {"rows": rows, "samples": 100 if e.quick else SAMPLES})


def _shared(splits: list[Split]) -> tuple[list[Split], set[str]]:
    """Return the sentences with rare words replaced, and the words that are left."""
    counts = Counter(word for sentences in splits[0].values() for s in sentences for word in s.words)
    shared = {word for word, n in counts.items() if n > 1} | {RARE}
    return [
        {
            name: [s._replace(words=[word if word in shared else RARE for word in s.words]) for s in sentences]
            for name, sentences in split.items()
        }
        for split in splits
    ], shared


def _flat(split: Split, classes: list[str]) -> tuple[list[Sentence], Any, Any]:
    sentences = [s for name in classes for s in split.get(name, [])]
    gold = np.array([k for k, name in enumerate(classes) for _ in split.get(name, [])])
    return sentences, gold, np.array([s.document for s in sentences])


def _scored(e: Experiment, splits: list[Split], shared: set[str], settings: dict[str, Any]) -> Json:
    began = time.perf_counter()
    scorer = Scorer(splits[0], shared, settings, e.n_threads)
    seconds = time.perf_counter() - began
    (tune, tune_gold, _), (test, gold, documents) = (_flat(split, scorer.classes) for split in splits[1:])
    scores, held_out = scorer.scores(test), scorer.scores(tune)
    log_z, error = scorer.log_normalisers(100 if e.quick else SAMPLES)
    bias = calibrated(held_out + scorer.prior, tune_gold)
    variants = {"as it is": 0.0, "less log Z": -log_z, "constants of tuning sentences": bias}
    found: Json = {"seconds": seconds, "error of log Z": error, "log Z": log_z.tolist(), "classes": scorer.classes}
    for name, change in variants.items():
        found[name] = accuracies(scores + change, scorer.prior, gold, documents)
        found[name]["tuning"] = accuracies(held_out + change, scorer.prior, tune_gold, np.array([-1]))["sentences"]
    say({name: found[name] for name in variants})
    return found


def _classified(e: Experiment, splits: list[Split]) -> Json:
    classes = list(splits[0])
    (train, gold, _), (test, test_gold, documents) = (_flat(splits[k], classes) for k in (0, 2))
    began = time.perf_counter()
    model = MaxentClassifier(strength=1.0, n_threads=e.n_threads, verbose=0, max_iterations=300)
    model.fit([" ".join(s.words) for s in train], gold.tolist())
    seconds = time.perf_counter() - began
    scores = np.log(np.maximum(model.predict_proba([" ".join(s.words) for s in test]), 1e-300))
    order = [list(model.classes_).index(k) for k in range(len(classes))]
    return {"seconds": seconds, "as it is": accuracies(scores[:, order], np.zeros(len(classes)), test_gold, documents)}
