"""The measurements, part by part. Every run is kept in the results, so parts share runs."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.origin import commit
from experiments.m_estimation.task import TEMPLATES, Chain, Corpus, Family, chunking, entities, one_type
from experiments.record import Json, Results, say
from loglinear.optimise.minimise import History
from loglinear.optimise.training import Solution

METHODS = {"CRF": "crf", "PL": "pseudolikelihood", "MEMM": "memm", "M-est.": "m-estimation"}
BASES = {"HMM": "hmm", "l.u.": "locally-uniform", "emp.": "empirical"}
GAPS = (1e-2, 1e-3, 1e-4)
UNBOUNDED = -1e6  # an objective this low has no minimum: likelihoods are positive, M-estimates end above -1000


class Experiment:
    """Corpora, settings and results of one call of the script."""

    def __init__(
        self,
        folder: Path,
        results: Results,
        *,
        quick: bool = False,
        n_grid: int = 7,
        iterations: int = 100,
        long_iterations: int = 400,
        budget: float = 1800.0,
        n_threads: int | None = None,
        command: str = "",
    ) -> None:
        self.folder, self.results, self.quick = folder, results, quick
        # Rounded, so that a finer grid finds the runs of a coarser one.
        self.grid = [*(float(f"{c:.4g}") for c in np.geomspace(0.1, 10.0, n_grid)), math.inf]
        self.iterations, self.long_iterations = iterations, long_iterations
        self.budget, self.n_threads, self.command = budget, n_threads, command
        self._commits: set[str] = set()  # of the runs that the present part has used
        self._chain: tuple[Any, Chain] | None = None
        self._all_labels: Corpus | None = None
        self._corpus: Corpus | None = None

    @property
    def all_labels(self) -> Corpus:
        """Return the chunking corpus with all its labels."""
        if self._all_labels is None:
            self._all_labels = chunking(self.folder, self.quick)
        return self._all_labels

    @property
    def corpus(self) -> Corpus:
        """Return the chunking corpus reduced to noun phrases."""
        if self._corpus is None:
            self._corpus = self.all_labels.map(lambda part: one_type(part, "NP"))
        return self._corpus

    def keep(self, part: str, found: Json) -> None:
        """Store what a part found, with its origin."""
        commits, self._commits = self._commits, set()
        self.results.keep(part, found, self.command, self.n_threads, commits=commits)

    # ---- single runs --------------------------------------------------------------------------------------------
    def chain(self, family: Family, n: int | None = None) -> Chain:
        """Return the chain of a family; the last one is cached, since strengths are tried one after another."""
        if self._chain is None or self._chain[0] != (family, n):
            self._chain = None
            train = self.corpus.train.first(n)
            self._chain = (family, n), Chain(family, train, self.iterations, self.n_threads)
        return self._chain[1]

    def run(self, family: Family, c: float, n: int | None = None) -> Json:
        """Train on the first n sentences at one c and score, or return the stored result."""
        key = json.dumps([family.estimator, family.templates, family.base, family.input_only, str(c), n, self.quick])
        if key not in self.results.runs:
            chain = self.chain(family, n)
            found: Json = {"c": str(c), "seconds": 0.0, "preparation": chain.seconds}  # str: JSON has no infinity
            found |= {"n_features": chain.features.n_weights, "commit": commit()}
            weights = None
            if chain.problem is not None:
                solution = chain.solve(c, callback=unbounded if math.isinf(c) else None)
                weights = solution.weights
                found |= summary(solution)
            for part in ("tune", "test"):
                found[part] = asdict(chain.score(getattr(self.corpus, part), weights))
            self.results.runs[key] = found
            self.results.save()
            say(f"{family.estimator} {family.templates} {family.base} c={c:g} n={n}: {found['seconds']:.1f} s,",
                f"F1 {found['tune']['f1']:.2f} {found['test']['f1']:.2f}")  # fmt: skip
        self._commits.add(self.results.runs[key]["commit"])
        return self.results.runs[key]

    def tuned(self, family: Family, measure: str = "f1", n: int | None = None) -> Json:
        """Return the run whose c is best on the tuning sentences; an HMM has no c."""
        grid = self.grid if family.estimator != "hmm" else [math.inf]
        runs = [self.run(family, c, n) for c in grid]
        return max(runs, key=lambda found: found["tune"][measure])


def unbounded(iteration: int, state: Any, history: History) -> bool:
    """Return whether to give up: without a penalty the objective of M-estimation need not have a minimum."""
    return state.value < UNBOUNDED


def summary(solution: Solution) -> Json:
    """Return the seconds, the steps and the status of a solution."""
    result = solution.result
    return {
        "seconds": result.history.time[-1],
        "iterations": result.n_iterations,
        "evaluations": result.history.passes[-1],
        "objective": result.value,
        "status": "unbounded below" if result.value < UNBOUNDED else result.status,
        "largest": float(np.max(np.abs(solution.weights), initial=0.0)),
    }


def reached(history: History, target: float) -> Json | None:
    """Return seconds and evaluations of the first step on all weights at or below the target; None if there is none."""
    for seconds, value, violation, evaluations in zip(
        history.time, history.objective, history.violation, history.passes
    ):
        if value <= target and math.isfinite(violation):
            return {"seconds": seconds, "evaluations": evaluations}
    return None


# ---- tables 1 and 2 -------------------------------------------------------------------------------------------------
def table1(e: Experiment) -> None:
    """Run every method on both feature sets, and record the counts that check the replication."""
    rows: Json = {}
    hmm = Family("hmm", TEMPLATES["hmm"])
    rows["hmm/HMM"] = e.tuned(hmm)
    base = e.chain(hmm)
    assert base.hmm is not None
    assert base.columns is not None
    words, tags = (len(vocabulary) for vocabulary in base.columns.vocabularies)
    counts: Json = {"words": words, "tags": tags, "hmm parameters": base.hmm.n_parameters}
    counts |= {"train": len(e.corpus.train), "tune": len(e.corpus.tune), "test": len(e.corpus.test)}
    counts["locally uniform F1"] = locally_uniform_alone(e)
    for features, templates in TEMPLATES.items():
        for method, estimator in METHODS.items():
            rows[f"{features}/{method}"] = e.tuned(Family(estimator, templates))
        counts[f"{features} features"] = rows[f"{features}/CRF"]["n_features"]
    e.keep("table1", {"rows": rows, "counts": counts})


def locally_uniform_alone(e: Experiment) -> float:
    """Return the F1 of the locally uniform model without any weights."""
    chain = e.chain(Family("m-estimation", TEMPLATES["hmm"], "locally-uniform"))
    return chain.score(e.corpus.test, None).f1


def table2(e: Experiment) -> None:
    """Compare base models, with c chosen by F1 or by precision, and input-only features (section 5.2)."""
    families = {name: Family("m-estimation", TEMPLATES["extended"], base) for name, base in BASES.items()}
    rows = {f"{name}/{how}": e.tuned(family, how) for name, family in families.items() for how in ("f1", "precision")}
    families["input-only"] = Family("m-estimation", TEMPLATES["extended"], input_only=3)
    rows["input-only/f1"] = e.tuned(families["input-only"])
    by_c = {}
    for name, family in families.items():
        runs = [e.run(family, c) for c in e.grid]
        by_c[name] = [[run["c"], run["tune"]["f1"], run["status"]] for run in runs]
    e.keep("table2", {"rows": rows, "by_c": by_c})


# ---- times and curves -----------------------------------------------------------------------------------------------
def times(e: Experiment) -> None:
    """Time up to 100 iterations at c = 1 on extended features, and the parts of M-estimation (figure 1)."""
    rows: Json = {}
    hmm = Chain(Family("hmm", TEMPLATES["hmm"]), e.corpus.train, e.iterations, e.n_threads)
    rows["HMM"] = {"preparation": hmm.seconds, "seconds": 0.0, "iterations": 0, "evaluations": 0}
    for method, estimator in METHODS.items():
        chain = Chain(Family(estimator, TEMPLATES["extended"]), e.corpus.train, e.iterations, e.n_threads)
        rows[method] = {"preparation": chain.seconds, **summary(chain.solve(1.0))}
        say(f"{method}: {rows[method]['seconds']:.1f} s for {rows[method]['iterations']} iterations")
    e.keep("times", {"rows": rows})


def curves(e: Experiment) -> None:
    """Run the methods on growing numbers of training sentences (figure 2), at all strengths (figure 3)."""
    whole = len(e.corpus.train)
    sizes = [n for n in ((30, 60) if e.quick else (500, 1000, 2000, 4000)) if n < whole]
    curve: Json = {"HMM": []}
    cloud: Json = {}
    for n in [*sizes, None]:
        hmm = e.tuned(Family("hmm", TEMPLATES["hmm"]), n=n)
        curve["HMM"].append({"n": n or whole, "test": hmm["test"]["f1"], "tune": hmm["tune"]["f1"]})
        for method, estimator in METHODS.items():
            family = Family(estimator, TEMPLATES["extended"])
            best = e.tuned(family, n=n)
            curve.setdefault(method, []).append(
                {"n": n or whole, "c": best["c"], "test": best["test"]["f1"], "tune": best["tune"]["f1"]}
            )
            points = [(c, e.run(family, c, n)) for c in e.grid]
            cloud.setdefault(method, []).append(
                {"n": n or whole, "points": [[str(c), total_seconds(run), run["tune"]["f1"]] for c, run in points]}
            )
    e.keep("curves", {"curve": curve, "cloud": cloud})


def total_seconds(run: Json) -> float:
    """Return the seconds of training and its precomputation, without those of features, which are equal for all."""
    before = run["preparation"]
    return run["seconds"] + before["precomputation"] + before["base"]


# ---- beyond the paper -----------------------------------------------------------------------------------------------
def initialiser(e: Experiment) -> None:
    """Train a CRF from zero and from M-estimates: how soon does each reach the objective of 100 plain iterations?"""
    chain = Chain(Family("crf", TEMPLATES["extended"]), e.corpus.train, e.iterations, e.n_threads)
    problem = chain.problem
    assert problem is not None
    starts: dict[str, Callable[[], Any]] = {
        "zero": lambda: None,
        "M-estimate, c = 0.1": lambda: problem.m_estimate(10.0),
        "M-estimate, c = 1": lambda: problem.m_estimate(1.0),
    }
    rows, solutions, before = {}, {}, {}
    for name, start in starts.items():
        mark = time.perf_counter()
        w0 = start()
        before[name] = time.perf_counter() - mark
        solutions[name] = chain.solve(1.0, start=w0, max_iterations=e.long_iterations)
        say(f"from {name}: {solutions[name].result.value:.4f} in {solutions[name].result.history.time[-1]:.1f} s")
    best = polish(chain, solutions.values(), e.long_iterations)
    history = solutions["zero"].result.history
    paper = history.objective[min(e.iterations, len(history.objective) - 1)]
    for name, solution in solutions.items():
        history = solution.result.history
        rows[name] = {
            "before": before[name],
            "first objective": history.objective[0],
            "to plain": reached(history, paper),
            "to optimum": reached(history, best * (1 + 1e-4)),
            "curve": thin(history, before[name]),
        }
    e.keep("initialiser", {"rows": rows, "plain objective": paper, "best": best})


def polish(chain: Chain, solutions: Iterable[Solution], iterations: int) -> float:
    """Return the best known objective: that of the best solution, improved with a longer memory."""
    leader = min(solutions, key=lambda solution: solution.result.value)
    options = {"memory": 20}
    final = chain.solve(1.0, start=leader.weights, max_iterations=iterations, solver="lbfgs", solver_options=options)
    return min(final.result.value, leader.result.value)


def thin(history: History, seconds: float = 0.0) -> list[list[float]]:
    """Return (seconds, objective) at about sixty steps."""
    places = np.unique(np.geomspace(1, len(history.time), 60).astype(int) - 1)
    return [[seconds + history.time[i], history.objective[i]] for i in places]


def clustered(e: Experiment) -> None:
    """Compare clustered with plain L-BFGS on CRFs."""
    tasks = {"noun phrases": (Family("crf", TEMPLATES["extended"]), lambda: e.corpus)}
    words = Family("crf", "ner", order=1, oov=False)
    tasks["entities"] = words, lambda: entities(e.folder, e.quick)
    tasks["persons"] = words, lambda: entities(e.folder, e.quick).map(lambda part: one_type(part, "person"))
    found = {}
    for task, (family, load) in tasks.items():
        corpus = load()
        chain = Chain(family, corpus.train, e.long_iterations, e.n_threads)
        runs, scores = {}, {}
        for solver in ("lbfgs", "clustered"):
            runs[solver], scores[solver] = watched(chain, corpus, solver)
            say(f"{task}, {solver}: {runs[solver].result.value:.4f}, {runs[solver].result.history.time[-1]:.1f} s")
        best = polish(chain, runs.values(), e.long_iterations)
        found[task] = {
            "n_features": chain.features.n_weights,
            "best": best,
            "solvers": {
                solver: {
                    "to": [reached(run.result.history, best * (1 + gap)) for gap in GAPS],
                    "curve": thin(run.result.history),
                    "scores": scores[solver],
                    "final": asdict(chain.score(corpus.test, run.weights)),
                }
                for solver, run in runs.items()
            },
        }
    e.keep("clustered", {"tasks": found})


def watched(chain: Chain, corpus: Corpus, solver: str) -> tuple[Solution, list[list[float]]]:
    """Return a run at c = 1, and (seconds, test F1) at steps ever further apart; scoring is not timed."""
    scores: list[list[float]] = []

    def look(iteration: int, state: Any, history: History) -> None:
        if iteration >= 1.25 * len(scores) ** 1.5:
            scores.append([history.time[-1], chain.score(corpus.test, state.best()[0]).f1])

    return chain.solve(1.0, solver=solver, callback=look), scores


def labels22(e: Experiment) -> None:
    """Compare M-estimation and a CRF on all chunk labels; only the CRF pays for labels cubed at every step."""
    rows = {}
    corpus = e.all_labels
    for method in ("M-est.", "CRF"):
        chain = Chain(Family(METHODS[method], TEMPLATES["extended"]), corpus.train, e.iterations, e.n_threads)
        began = time.perf_counter()
        solution = chain.solve(1.0, callback=lambda *_, began=began: time.perf_counter() - began > e.budget)
        rows[method] = {
            "labels": len(chain.classes),
            "n_features": chain.features.n_weights,
            "preparation": chain.seconds,
            "test": asdict(chain.score(corpus.test, solution.weights)),
            **summary(solution),
        }
        say(f"{len(chain.classes)} labels, {method}: {solution.result.history.time[-1]:.1f} s")
    e.keep("labels22", {"rows": rows})


PARTS: dict[str, Callable[[Experiment], None]] = {
    "table1": table1,
    "table2": table2,
    "times": times,
    "curves": curves,
    "initialiser": initialiser,
    "clustered": clustered,
    "labels22": labels22,
}
