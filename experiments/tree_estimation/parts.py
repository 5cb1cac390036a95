"""The parts of the experiment: the table of estimators, F1 against time, and learning curves."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.origin import commit
from experiments.record import Results, say
from loglinear import Parser
from loglinear.formats.bracketed import Trees
from loglinear.formats.trees import Tree
from loglinear.metrics.brackets import score_trees
from loglinear.models.parser.files import read_trees

# Name -> settings, and the strengths that are tried on the dev set.
MODELS: dict[str, tuple[dict[str, Any], list[float]]] = {
    "pcfg": ({"estimator": "pcfg"}, []),
    "pcfg, parents": ({"estimator": "pcfg", "vertical": 2}, []),
    "m-estimation, rules": ({"estimator": "m-estimation", "features": "rules"}, [10.0, 1.0]),
    "m-estimation": ({"estimator": "m-estimation"}, [3.0, 1.0, 0.5]),
    "crf, rules": ({"estimator": "crf", "features": "rules"}, [0.1]),
    "crf": ({"estimator": "crf"}, [1.0]),
}
CURVE = ("pcfg", "m-estimation", "crf")
TIMES = {"pcfg": [1.0], "m-estimation": [30.0, 10.0, 3.0, 1.0, 0.5], "crf": [10.0, 3.0, 1.0, 0.3]}
VARIANTS: dict[str, dict[str, Any]] = {
    "as in the table": {},
    "pruned at 1e-4": {"pruning": 1e-4},
    "no siblings": {"horizontal": 0},
    "parents": {"vertical": 2},
    "tags of heads": {"annotate_heads": True},
}


@dataclass
class Experiment:
    folder: Path
    results: Results
    quick: bool
    passes: int
    n_threads: int | None
    command: str
    chosen: list[str] | None = None

    @cached_property
    def trees(self) -> Trees:
        return read_trees(self.folder / "treebank" / "wsj_sample.mrg.gz")

    @cached_property
    def split(self) -> tuple[Trees, Trees, Trees]:
        a, b, c = (40, 60, 80) if self.quick else (3000, 3400, 3914)
        return self.trees.take(range(a)), self.trees.take(range(a, b)), self.trees.take(range(b, c))

    def parser(self, name: str, strength: float) -> Parser:
        return Parser(
            **MODELS[name][0], strength=strength, max_iterations=self.passes_of(name), n_threads=self.n_threads,
            verbose=0,
        )  # fmt: skip

    def passes_of(self, name: str) -> int:
        """Passes at most: those of M-estimation need no inference, so it has five times as many."""
        return 5 if self.quick else self.passes * (5 if name.startswith("m-estimation") else 1)

    def run(self, name: str, n_trees: int | None = None) -> dict[str, Any]:
        """Train a model, its strength tuned on the dev set, and test it; a run in the file is not repeated."""
        train, dev, test = self.split
        n = len(train) if n_trees is None else min(n_trees, len(train))
        key = f"{name}/{n}/{self.passes_of(name)}"
        if key in self.results.runs:
            return self.results.runs[key]
        say(f"{name} on {n} trees")
        strengths = MODELS[name][1]
        tune = strengths[:1] if self.quick or len(strengths) < 2 else strengths
        model = self.parser(name, strengths[0] if strengths else 1.0)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = []
            best: Any = None
            for strength in tune or [1.0]:
                model.set_params(strength=strength).fit(train.take(range(n)))
                score = model.score(dev)
                seconds = model.fit_seconds_
                table.append({"strength": strength, "dev": score, "seconds": seconds, "passes": model.n_iter_})
                if best is None or score > best[0]:
                    best = (score, strength, model.fit_seconds_, model.weights_, model.features_, model.status_,
                            model.n_iter_)  # fmt: skip
            model._learn(best[4], best[3])
            tested = time.perf_counter()
            found = score_trees(test, model.predict_trees(test)).to_dict()
        seconds = time.perf_counter() - tested
        run = {
            **found, "dev_f1": best[0], "strength": best[1], "train_seconds": best[2], "all_seconds": tested - began,
            "sentences_per_second": len(test) / seconds, "weights": int(best[3].size), "status": best[5],
            "tuning": table, "passes": best[6], "symbols": len(model.grammar_.rules.symbols),
            "rules": model.grammar_.rules.n_rules,
            "pruning": getattr(model, "pruning_cost_", None), "commit": commit(),
        }  # fmt: skip
        self.results.runs[key] = run
        self.results.save()
        say(f"  F1 {100 * run['f1']:.2f}, trained in {run['train_seconds']:.1f} s")
        return run

    def keep(self, part: str, found: dict[str, Any]) -> None:
        self.results.keep(part, found, self.command, self.n_threads)


def right_branching(trees: Trees) -> Trees:
    """Return trees in which every constituent is S and begins one word later; tags are gold."""
    out = []
    for words, tags in zip(trees.sentences(), trees.tags()):
        tree = Tree(tags[-1], words[-1])
        for word, tag in reversed(list(zip(words[:-1], tags[:-1]))):
            tree = Tree("S", None, [Tree(tag, word), tree])
        out.append(tree if tree.children else Tree("S", None, [tree]))
    return Trees.of(out)


def table(experiment: Experiment) -> None:
    """All estimators on all training trees."""
    names = [name for name in MODELS if experiment.chosen is None or name in experiment.chosen]
    rows = {name: experiment.run(name) for name in names}
    test = experiment.split[2]
    rows["right-branching"] = {**score_trees(test, right_branching(test)).to_dict(), "commit": commit()}
    experiment.keep("table", {"rows": rows})


def curves(experiment: Experiment) -> None:
    """Learning curves."""
    sizes = [20, 40] if experiment.quick else [375, 750, 1500, 3000]
    names = [name for name in CURVE if experiment.chosen is None or name in experiment.chosen]
    runs = {name: [experiment.run(name, size) for size in sizes] for name in names}
    kept = ("f1", "train_seconds", "passes", "strength")
    experiment.keep(
        "curves",
        {"sizes": sizes, "rows": {name: [{k: run[k] for k in kept} for run in row] for name, row in runs.items()}},
    )


def on_dev(experiment: Experiment, name: str, strength: float, **settings: Any) -> dict[str, Any]:
    """Train on a quarter of the trees and score on the dev set; a run in the file is not repeated."""
    train, dev, _ = experiment.split
    n = len(train) // 4
    changes = ", ".join(f"{key} {value}" for key, value in settings.items())
    key = f"dev/{name}/{n}/{strength:g}/{experiment.passes_of(name)}/{changes}"
    if key in experiment.results.runs:
        return experiment.results.runs[key]
    model = experiment.parser(name, strength).set_params(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train.take(range(n)))
        f1 = model.score(dev)
    run = {
        "strength": strength, "dev": f1, "seconds": model.fit_seconds_, "passes": model.n_iter_,
        "symbols": len(model.grammar_.rules.symbols), "pruning": getattr(model, "pruning_cost_", None),
        "commit": commit(),
    }  # fmt: skip
    experiment.results.runs[key] = run
    experiment.results.save()
    say(f"{name} at {strength:g}, {changes or 'defaults'}: F1 {100 * f1:.2f} in {model.fit_seconds_:.1f} s")
    return run


def times(experiment: Experiment) -> None:
    """F1 on the dev set and seconds of training at each of several strengths, on a quarter of the trees."""
    rows = {
        name: [on_dev(experiment, name, s) for s in (strengths[:1] if experiment.quick else strengths)]
        for name, strengths in TIMES.items()
        if experiment.chosen is None or name in experiment.chosen
    }
    experiment.keep("times", {"trees": len(experiment.split[0]) // 4, "rows": rows})


def variants(experiment: Experiment) -> None:
    """Random fields with other symbols and other pruning, on a quarter of the trees."""
    rows = {name: on_dev(experiment, "crf", 1.0, **settings) for name, settings in VARIANTS.items()}
    experiment.keep("variants", {"trees": len(experiment.split[0]) // 4, "rows": rows})


PARTS = {"table": table, "times": times, "curves": curves, "variants": variants}
