"""The measurements, part by part.

Every run is kept in the results, so an interrupted experiment continues where it stopped, and parts can be run
separately.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.origin import commit
from experiments.approximation_lasso.lists import DOMAINS, SPEECH, Conversions, Problem, Speech, size_of
from experiments.approximation_lasso.methods import METHODS, STEP, STEPS, stagewise_settings
from experiments.record import Json, Results, say
from loglinear.arrays import FloatArray
from loglinear.metrics.error_rate import compare_errors

BETWEEN_SAVES = 2.0  # seconds; many runs are shorter than writing all results
ALL = "all"  # the sample of speech lists, which are used whole
CURVES = ("blasso", "f-boosting", "fslr")
COMPARED = [  # (first, second): does the second make fewer errors?
    ("baseline", "map"), ("baseline", "boosting"), ("baseline", "blasso"), ("map", "boosting"), ("map", "blasso"),
    ("boosting", "blasso"), ("boosting", "blasso-step"), ("boosting-errors", "blasso-errors"),
    ("f-boosting", "blasso"), ("fslr", "blasso"), ("perceptron", "blasso"), ("log/l2", "blasso"),
]  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """Sizes of samples, and steps of paths (``steps_all`` for samples above ``middle``; small steps take more)."""

    train: tuple[int, ...] = (800, 8000)  # and all sentences
    middle: int = 8000  # the sample of the figures
    steps: int = 40_000
    steps_all: int = 60_000
    limit: int | None = None  # sentences of each part


QUICK = Sizes(train=(20,), middle=40, steps=60, steps_all=60, limit=60)


class Experiment:
    """Lists, settings and results of one call of the script."""

    def __init__(
        self, folder: Path, work: Path, results: Results, *, sizes: Sizes, n_threads: int | None = None,
        command: str = "",
    ) -> None:  # fmt: skip
        self.folder, self.work, self.results, self.sizes = folder, work, results, sizes
        self.n_threads, self.command, self._saved = n_threads, command, time.perf_counter()
        self._texts: tuple[str, Conversions] | None = None
        self._problem: tuple[str, Problem] | None = None

    def text(self, domain: str) -> Conversions:
        """Return the conversions of a domain; those of the last domain are cached."""
        if self._texts is None or self._texts[0] != domain:
            self._texts = domain, Conversions(self.folder, self.work, domain, self.sizes.limit, self.n_threads)
        return self._texts[1]

    def problem(self, name: str, sample: str, features: str = "words") -> Problem:
        """Return a problem; the last one is cached."""
        key = f"{name}/{sample}/{features}"
        if self._problem is None or self._problem[0] != key:
            self._problem = None
            if name in DOMAINS:
                made = self.text(name).problem(sample, features)
            else:
                made = Speech(self.folder, name, self.sizes.limit, self.n_threads).problem()
            self._problem = key, made
        return self._problem[1]

    def once(self, key: str, measure: Callable[[], Json]) -> Json:
        """Return the stored result of a run, or measure and store it."""
        if key not in self.results.runs:
            self.results.runs[key] = {**packed(measure()), "commit": commit()}
            if time.perf_counter() - self._saved > BETWEEN_SAVES:
                self.save()
        return self.results.runs[key]

    def save(self) -> None:
        self.results.save()
        self._saved = time.perf_counter()

    def keep(self, part: str, found: Json, began: float) -> None:
        """Store what a part found, with its origin."""
        commits, seconds = self.results.commits_of(found["of"]), time.perf_counter() - began
        self.results.keep(part, found, self.command, self.n_threads, seconds=seconds, commits=commits)
        self._saved = time.perf_counter()

    def samples_of(self, domain: str) -> list[str]:
        """Return the names of samples of the training sentences; the last one is all of them."""
        n = self.facts(domain)["sentences"]["train"]
        smaller = [size for size in self.sizes.train if size < n]
        return [name for size in smaller for name in (f"first-{size}", str(size))] + [str(n)]

    def middle(self, domain: str) -> str:
        return str(min(self.sizes.middle, self.facts(domain)["sentences"]["train"]))

    def facts(self, domain: str) -> Json:
        return self.once(f"facts/{domain}", lambda: self.text(domain).facts())

    # ---- runs -------------------------------------------------------------------------------------------------------
    def run(self, method: str, settings: Json, name: str, sample: str = ALL, features: str = "words") -> Json:
        """Run one method with one setting on one problem."""
        told = settings | ({"max_iterations": self.n_steps(settings, sample)} if "method" in settings else {})
        spelt = ",".join(f"{k}={f'{v[0]}..{v[-1]}' if k == 'strengths' else v}" for k, v in told.items()) or method

        def measure() -> Json:
            problem = self.problem(name, sample, features)
            found = METHODS[method].train(problem, told | {"n_threads": self.n_threads})
            rate = 100 * found["n_errors"] / problem.test.length.sum()
            say(
                f"{name} {sample} {features}, {METHODS[method].title} ({spelt}): {rate:.2f}% at {found['at']}, "
                f"{found['n_nonzero']:,} weights, {found['seconds']:.1f} s"
            )
            return {**found, "settings": told}

        return self.once(f"run/{name}/{sample}/{features}/{spelt}", measure)

    def n_steps(self, settings: Json, sample: str) -> int:
        large = sample != ALL and size_of(sample) > self.sizes.middle
        n = self.sizes.steps_all if large else self.sizes.steps
        return round(n * max(1.0, 0.2 / settings.get("step", 1.0)))

    def best(self, method: str, name: str, sample: str = ALL) -> Json:
        """Return the run of a method with the fewest dev errors, with the dev and test errors of all its settings."""
        runs = [self.run(method, settings, name, sample) for settings in METHODS[method].settings]
        chosen = min(runs, key=lambda run: run["dev"])
        tried = [{"settings": r["settings"], "dev": r["dev"], "n_errors": r["n_errors"]} for r in runs]
        return chosen | {"tried": tried, "seconds_tried": sum(run["seconds"] for run in runs)}

    def described(self, name: str, sample: str = ALL, features: str = "words") -> Json:
        """Return the sizes of a problem, its baseline and its oracle."""

        def measure() -> Json:
            problem = self.problem(name, sample, features)
            train, test = problem.train, problem.test
            counts = {"lists": train.n_lists, "dev": problem.dev.n_lists, "test": test.n_lists}
            counts |= {"pairs": train.n_pairs, "features": train.n_features, "nonzeros": int(train.rows.indptr[-1])}
            baseline, oracle = float(problem.baseline.sum()), float(test.reference_errors.sum())
            counts |= {"n_errors": baseline, "oracle": oracle, "length": float(test.length.sum())}
            return {**counts, "errors": problem.baseline, "lengths": test.length, "seconds": problem.seconds}

        return self.once(f"problem/{name}/{sample}/{features}", measure)


def packed(run: Json) -> Json:
    """Return arrays as lines of text: the file, which is rewritten often, would be large otherwise."""
    made: Json = {}
    for name, value in run.items():
        if isinstance(value, np.ndarray):
            made[name] = " ".join(f"{x:.8g}" for x in value.tolist())
        else:
            made[name] = packed(value) if isinstance(value, dict) else value
    return made


def unpacked(text: str) -> FloatArray:
    return np.array(text.split(), dtype=np.float64)


def curve_of(run: Json) -> dict[str, list[float]]:
    return {name: unpacked(text).tolist() for name, text in run["curve"].items()}


def figures(run: Json) -> Json:
    """Return what a page shows of a run."""
    return {name: value for name, value in run.items() if name not in ("errors", "lengths", "curve", "commit", "base")}


def comparisons(runs: Json, lengths: str) -> Json:
    """Compare pairs of systems on the same lists: {'first/second': difference, reduction and p-values}."""
    made = {}
    for first, second in COMPARED:
        if first in runs and second in runs:
            told = compare_errors(*(unpacked(runs[name]["errors"]) for name in (first, second)), unpacked(lengths))
            chosen = ("difference", "reduction", "p_bootstrap", "p_matched_pairs", "n_better", "n_worse")
            made[f"{first}/{second}"] = {name: getattr(told, name) for name in chosen}
    return made


def measured(experiment: Experiment, domain: str, what: str, sample: str) -> Json:
    """Return ``what`` (a method's name) of the conversions of a domain; they are made only when this is called."""
    return getattr(experiment.text(domain), what)(sample)


# ---- parts -----------------------------------------------------------------------------------------------------------
def lists(experiment: Experiment) -> None:
    """Describe the task: entropies, baselines, oracles, features, overlap of headword and word bigrams."""
    began = time.perf_counter()
    found: Json = {"of": ["facts", "problem", "overlap"], "domains": {}}
    for domain in DOMAINS:
        rows = {n: figures(experiment.described(domain, n)) for n in experiment.samples_of(domain)}
        middle = experiment.middle(domain)
        rows[f"{middle} with headwords"] = figures(experiment.described(domain, middle, "headwords"))
        overlap = experiment.once(f"overlap/{domain}", partial(measured, experiment, domain, "overlap", middle))
        facts = experiment.facts(domain)
        found["domains"][domain] = {"facts": facts, "overlap": overlap, "rows": rows, "middle": middle}
    experiment.keep("lists", found, began)


def table1(experiment: Experiment) -> None:
    """Run all methods at all sizes."""
    began = time.perf_counter()
    found: Json = {"of": ["facts", "problem", "map", "run"], "domains": {}}
    for domain in DOMAINS:
        found["domains"][domain] = {"bits": experiment.facts(domain)["bits"], "samples": {}}
        for sample in experiment.samples_of(domain):
            task = experiment.described(domain, sample)
            adapted = experiment.once(
                f"map/{domain}/{sample}", partial(measured, experiment, domain, "adapted", sample)
            )
            runs = {method: experiment.best(method, domain, sample) for method in METHODS}
            told = {"baseline": task, "map": adapted, **runs}
            adapted_errors = float(unpacked(adapted["errors"]).sum())
            found["domains"][domain]["samples"][sample] = {
                "task": figures(task),
                "map": figures(adapted) | {"n_errors": adapted_errors},
                "methods": {method: figures(run) for method, run in runs.items()},
                "comparisons": comparisons(told, task["lengths"]),
            }
    experiment.keep("table1", found, began)


def curves(experiment: Experiment) -> None:
    """Measure the L1 norm and test errors along paths, with and without headword bigrams (figures 3 to 8)."""
    began = time.perf_counter()
    found: Json = {"of": ["facts", "problem", "run"], "domains": {}}
    for domain in DOMAINS:
        middle = experiment.middle(domain)
        task = experiment.described(domain, middle)
        shown: Json = {"sample": middle, "length": task["length"], "baseline": task["n_errors"]}
        for features in ("words", "headwords"):
            runs = {m: experiment.run(m, METHODS[m].settings[0], domain, middle, features) for m in CURVES}
            shown[features] = {m: figures(run) | {"curve": curve_of(run)} for m, run in runs.items()}
        found["domains"][domain] = shown
    experiment.keep("curves", found, began)


def steps(experiment: Experiment) -> None:
    """Measure the sensitivity to the step of BLasso and FSLR, and to the smoothing of boosting."""
    began = time.perf_counter()
    found: Json = {"of": ["facts", "problem", "run"], "domains": {}, "step": STEP}
    for domain in DOMAINS:
        middle = experiment.middle(domain)
        task = experiment.described(domain, middle)
        shown: Json = {"sample": middle, "length": task["length"], "baseline": task["n_errors"]}
        for method in ("blasso", "fslr"):
            settings = stagewise_settings(method, step=STEPS)
            shown[method] = {str(s["step"]): row(experiment.run(method, s, domain, middle)) for s in settings}
        settings = METHODS["boosting"].settings
        shown["boosting"] = {str(s["smoothing"]): row(experiment.run("boosting", s, domain, middle)) for s in settings}
        found["domains"][domain] = shown
    experiment.keep("steps", found, began)


def row(run: Json) -> Json:
    """Return a run with the test errors of its path within 20,000 steps: the fewest, and those at the end."""
    curve = curve_of(run)
    reached = [errors for step, errors in zip(curve["step"], curve["test"]) if step <= 20_000]
    return figures(run) | {"least": min(reached), "last": reached[-1]}


def speech(experiment: Experiment) -> None:
    """Run all methods on lists of speech recognisers."""
    began = time.perf_counter()
    found: Json = {"of": ["problem", "run"], "tasks": {}}
    for name, base in SPEECH.items():
        task = experiment.described(name)
        runs = {method: experiment.best(method, name) for method in METHODS}
        found["tasks"][name] = {
            "task": figures(task) | {"base": list(base)},
            "methods": {method: figures(run) for method, run in runs.items()},
            "comparisons": comparisons({"baseline": task, **runs}, task["lengths"]),
        }
    experiment.keep("speech", found, began)


PARTS = {"lists": lists, "table1": table1, "curves": curves, "steps": steps, "speech": speech}
