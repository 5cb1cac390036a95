"""Beyond the paper's tables: what its sections 4.1.1, 5.2 and 6 leave open, measured part by part."""

from __future__ import annotations

import functools
import itertools
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.origin import commit
from experiments.m_estimation.parts import Experiment, summary
from experiments.m_estimation.task import TEMPLATES, Chain, Corpus, Family, Part, entities, speech
from experiments.record import Json, say
from loglinear import Tagger
from loglinear.arrays import FloatArray
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.hmm.counts import mean_counts
from loglinear.hmm.sampled import sampled_expectations
from loglinear.hmm.templates import column_attributes
from loglinear.losses.m_estimation import MEstimationLoss, rank_features

GAPS = {  # added to a set of templates: tags, or words, anywhere before and after the token
    "noun phrases": "Utag.before=%x[<,1]\nUtag.after=%x[>,1]\nUtag/tag.before=%x[0,1]/%x[<,1]\n"
    "Utag/tag.after=%x[0,1]/%x[>,1]\n",
    "entities": "Uword.before=%X[<,0]\nUword.after=%X[>,0]\nUcapital/word.before=%t[0,0,\"^\\u\"]/%X[<,0]\n"
    "Ucapital/word.after=%t[0,0,\"^\\u\"]/%X[>,0]\n",
}

UNLABELLED = 4000  # sentences, those after the labelled ones


class Task(NamedTuple):
    """Sentences to label, the templates to do it with, and the measure."""

    corpus: Callable[[Experiment], Corpus]
    templates: str
    order: int
    spans: bool  # F1 of spans, else the share of right labels
    grid: list[float]  # values of c to try


TASKS = {
    "noun phrases": Task(lambda e: e.corpus, TEMPLATES["extended"], 2, True, [0.1, 0.4642, 1.0, 2.154, 4.642]),
    "entities": Task(lambda e: entities(e.folder, e.quick), "ner", 1, True, [1.0, 4.642, 21.54, 100.0, 464.2]),
    "parts of speech": Task(lambda e: speech(e.folder, e.quick), "pos", 1, False, [1.0, 4.642, 10.0, 21.54, 46.42]),
}


def kept(e: Experiment, key: list[Any], compute: Callable[[], Json]) -> Json:
    """Return a run from the results, or compute and store it."""
    name = json.dumps([*key, e.quick])
    if name not in e.results.runs:
        e.results.runs[name] = {**compute(), "commit": commit()}
        e.results.save()
        say(*key, {k: round(v, 3) for k, v in e.results.runs[name].items() if isinstance(v, float)})
    e._commits.add(e.results.runs[name]["commit"])
    return e.results.runs[name]


def figure(task: Task, chain: Chain, part: Part, weights: FloatArray | None) -> float:
    """Return the F1 of spans, or the percentage of right labels."""
    weights = np.zeros(chain.features.n_weights) if weights is None else weights
    return chain.score(part, weights).f1 if task.spans else chain.accuracy(part, weights)


def best_c(e: Experiment, name: str, family: Family, key: list[Any]) -> Json:
    """Return the run at the c that is best on the tuning sentences, and the tuning figures of all."""
    task, chain, runs = TASKS[name], None, []
    for c in [1.0] if e.quick else task.grid:

        def compute(c: float = c) -> Json:
            nonlocal chain
            corpus = task.corpus(e)
            chain = chain or Chain(family, corpus.train, e.iterations, e.n_threads)
            solution = chain.solve(c)
            figures = {part: figure(task, chain, getattr(corpus, part), solution.weights) for part in ("tune", "test")}
            preparation = sum(chain.seconds[step] for step in ("base", "precomputation"))
            found = {"c": c, **figures, "preparation": preparation, "n_features": chain.features.n_weights}
            return {**found, **summary(solution)}

        runs.append(kept(e, [*key, c], compute))
    return {**max(runs, key=lambda run: run["tune"]), "by_c": [[run["c"], run["tune"]] for run in runs]}


# ---- section 5.2 ----------------------------------------------------------------------------------------------------
def inputs(e: Experiment) -> None:
    """Add n-grams of the input alone, whatever the labels, on three tasks."""
    rows: Json = {}
    for name, task in TASKS.items():
        for longest in (0, 1, 2, 3):
            family = Family("m-estimation", task.templates, input_only=longest, order=task.order)
            rows[f"{name}/{longest}"] = best_c(e, name, family, ["inputs", name, longest])
        hmm = Chain(Family("hmm", task.templates, order=task.order), task.corpus(e).train, 1, e.n_threads)
        rows[f"{name}/hmm"] = {"test": figure(task, hmm, task.corpus(e).test, None)}
    e.keep("inputs", {"rows": rows})


# ---- section 4.1.1 --------------------------------------------------------------------------------------------------
def gaps(e: Experiment) -> None:
    """Add templates that look at any row before or after, to CRFs and to M-estimation on two bases."""
    rows: Json = {}
    for name, more in GAPS.items():
        task = TASKS[name]
        for label, text in (("none", task.templates), ("gaps", TEMPLATE_SETS[task.templates] + more)):
            for method, (estimator, base) in {
                "CRF": ("crf", "hmm"), "M-est., HMM": ("m-estimation", "hmm"),
                "M-est., empirical": ("m-estimation", "empirical"),
            }.items():  # fmt: skip
                family = Family(estimator, text, base, order=task.order)
                rows[f"{name}/{method}/{label}"] = best_c(e, name, family, ["gaps", name, method, label])
    e.keep("gaps", {"rows": rows})


# ---- equation 7 -----------------------------------------------------------------------------------------------------
def samples(e: Experiment) -> None:
    """Replace exact expectations by sampled ones: their error, and the F1 that is left."""
    chain = Chain(Family("m-estimation", TEMPLATES["extended"]), e.corpus.train, e.iterations, e.n_threads)
    assert chain.problem is not None
    exact: MEstimationLoss = chain.problem.loss
    grid = [1.0] if e.quick else [0.4642, 1.0, 2.154]
    sizes = [50, 100] if e.quick else [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000]
    before = {"seconds of expectations": chain.seconds["precomputation"]}
    rows: Json = {"exact": [_trained(e, chain, exact, grid, before)]}
    for n, smoothing, seed in itertools.product(sizes, (0.0, 1.0), range(1 if e.quick else 3)):
        compute = functools.partial(_sampled, e, chain, exact, n, smoothing, seed, grid)
        found = kept(e, ["samples", n, smoothing, seed], compute)
        rows.setdefault(f"{n}/{smoothing:g}", []).append(found)
    e.keep("samples", {"rows": rows, "n_features": exact.n_weights})


def _sampled(
    e: Experiment, chain: Chain, exact: MEstimationLoss, n: int, smoothing: float, seed: int, grid: list[float]
) -> Json:
    assert chain.hmm is not None
    assert chain.columns is not None
    assert chain.reader.featuriser is not None
    began = time.perf_counter()
    attributes = column_attributes(chain.reader.featuriser, chain.columns.vocabularies, e.n_threads or 1)
    estimated = sampled_expectations(
        chain.hmm, chain.features, attributes, n, np.random.default_rng(seed), smoothing=smoothing,
        prior=mean_counts(exact.counts), n_threads=e.n_threads,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    true = exact.expectations
    found = {
        "seconds of expectations": seconds,
        "error": float(np.abs(estimated - true).sum() / true.sum()),
        "never drawn": float(np.mean(estimated == smoothing * mean_counts(exact.counts) / (n + smoothing))),
    }
    return _trained(e, chain, MEstimationLoss(exact.counts, estimated, e.n_threads), grid, found)


def _trained(e: Experiment, chain: Chain, loss: MEstimationLoss, grid: list[float], found: Json) -> Json:
    """Train at each c; the F1 on the test sentences is that of the best c on the tuning sentences."""
    assert chain.problem is not None
    before, chain.problem.loss = chain.problem.loss, loss
    try:
        weights = {c: chain.solve(c).weights for c in grid}
    finally:
        chain.problem.loss = before
    tuned = {c: chain.score(e.corpus.tune, w).f1 for c, w in weights.items()}
    best = max(tuned, key=lambda c: tuned[c])
    scores = {"tune": tuned[best], "test": chain.score(e.corpus.test, weights[best]).f1, "c": best}
    return {**found, **scores, "test at c = 1": chain.score(e.corpus.test, weights[1.0]).f1}


# ---- section 6: choosing features -----------------------------------------------------------------------------------
def selection(e: Experiment) -> None:
    """Rank features in four ways, and train a CRF on the best k of each: F1 and seconds."""
    train = e.corpus.train
    joint = Chain(Family("m-estimation", TEMPLATES["extended"]), train, e.iterations, e.n_threads)
    crf = Chain(Family("crf", TEMPLATES["extended"]), train, e.iterations, e.n_threads)
    assert joint.problem is not None
    assert crf.problem is not None
    loss: MEstimationLoss = joint.problem.loss
    n = int(crf.features.offsets[2])  # features of attributes; transitions are always kept
    rankings, seconds = _rankings(joint, loss, n)
    sizes = [100, 1000] if e.quick else [1000, 3000, 10_000, 30_000, 100_000, 300_000]
    rows: Json = {}
    everything = np.ones(crf.features.n_weights, dtype=bool)
    rows["all"] = {str(n): kept(e, ["selection", "all"], lambda: _selected(e, crf, everything))}
    for ranking, order in rankings.items():
        for k in sizes:
            chosen = everything.copy()
            chosen[order[k:]] = False
            found = kept(e, ["selection", ranking, k], functools.partial(_selected, e, crf, chosen))
            rows.setdefault(ranking, {})[str(k)] = found
    e.keep("selection", {"rows": rows, "ranking seconds": seconds, "n": n})


def _rankings(joint: Chain, loss: MEstimationLoss, n: int) -> tuple[dict[str, Any], Json]:
    """Return the features of attributes from the best to the worst, and the seconds that each ranking took."""
    rankings, seconds = {}, {}
    prepared = joint.seconds["base"] + joint.seconds["precomputation"]
    began = time.perf_counter()
    weights = joint.solve(1.0).weights
    rankings["M-estimate"] = np.argsort(-np.abs(weights[:n]), kind="stable")
    seconds["M-estimate"] = prepared + time.perf_counter() - began
    began = time.perf_counter()
    rankings["gradient at zero"] = rank_features(loss)
    rankings["gradient at zero"] = rankings["gradient at zero"][rankings["gradient at zero"] < n]
    seconds["gradient at zero"] = prepared + time.perf_counter() - began
    began = time.perf_counter()
    rankings["frequency"] = np.argsort(-mean_counts(loss.counts)[:n], kind="stable")
    seconds["frequency"] = time.perf_counter() - began
    rankings["random"], seconds["random"] = np.random.default_rng(0).permutation(n), 0.0
    return rankings, seconds


def _selected(e: Experiment, crf: Chain, chosen: Any) -> Json:
    """Train a CRF on the chosen features at c = 1, up to 100 iterations, and score it."""
    assert crf.problem is not None
    before = crf.problem, crf.features
    crf.features = crf.features.keep(chosen)
    crf.problem = replace(crf.problem, features=crf.features)
    try:
        solution = crf.solve(1.0)
        figures = {part: crf.score(getattr(e.corpus, part), solution.weights).f1 for part in ("tune", "test")}
    finally:
        crf.problem, crf.features = before
    return {**figures, **summary(solution)}


# ---- section 6: hidden variables ------------------------------------------------------------------------------------
def em(e: Experiment) -> None:
    """Learn from few labelled sentences and many unlabelled ones, by EM: HMMs, and M-estimation inside EM."""
    sizes, rounds = ([10], 2) if e.quick else ([30, 100, 300, 1000], 8)
    rows: Json = {}
    for name in ("noun phrases", "parts of speech"):
        corpus = TASKS[name].corpus(e)
        templates = "chunking" if name == "noun phrases" else "pos"
        methods: dict[str, dict[str, Any]] = {
            "HMM": {"estimator": "hmm"},
            "M-est.": {"estimator": "m-estimation", "templates": templates},
            "CRF": {"templates": templates},
        }
        for n, (method, settings) in itertools.product(sizes, methods.items()):
            for labels in ("sample", "best") if method != "CRF" else ("sample",):
                compute = functools.partial(_by_em, e, corpus, n, settings, labels, 0 if method == "CRF" else rounds)
                rows[f"{name}/{n}/{method}/{labels}"] = kept(e, ["em", name, n, method, labels], compute)
    e.keep("em", {"rows": rows, "rounds": rounds, "unlabelled": 20 if e.quick else UNLABELLED})


def _by_em(
    e: Experiment, corpus: Corpus, n: int, settings: dict[str, Any], labels: str, rounds: int
) -> Json:
    """Train on n labelled sentences, c by the tuning sentences, and then with the unlabelled ones after them."""
    train, tune, test = corpus.train, (corpus.tune.X, corpus.tune.y), (corpus.test.X, corpus.test.y)
    common = {**settings, "n_threads": e.n_threads, "verbose": 0, "max_iterations": e.iterations, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        strengths = [1.0] if e.quick or settings.get("estimator") == "hmm" else [10.0, 3.0, 1.0, 0.3]
        alone = Tagger(**common, tune=strengths).fit(train.X[:n], train.y[:n], validation=tune)
        found: Json = {"alone": 100 * alone.score(*test), "strength": alone.strength_}
        if rounds:
            more = train.y[n : n + (20 if e.quick else UNLABELLED)]
            X, y = train.X[: n + len(more)], [*train.y[:n], *([None] * len(row) for row in more)]
            began = time.perf_counter()
            joint = Tagger(**common, strength=alone.strength_, em=rounds, em_labels=labels).fit(X, y, validation=test)
            found |= {"seconds": time.perf_counter() - began}
            found |= {"by round": [100 * row["dev_score"] for row in joint.em_]}
            found |= {"changed": [row["changed"] for row in joint.em_[1:]]}
    return found


MORE_PARTS: dict[str, Callable[[Experiment], None]] = {
    "inputs": inputs,
    "gaps": gaps,
    "samples": samples,
    "selection": selection,
    "em": em,
}
