"""The parts of the experiment: the table of estimators, learning curves, and the speed of parsing."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

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
    "m-estimation": ({"estimator": "m-estimation"}, [10.0, 3.0, 1.0, 0.5]),
    "m-estimation, parents": ({"estimator": "m-estimation", "vertical": 2}, [3.0, 1.0]),
    "crf, rules": ({"estimator": "crf", "features": "rules"}, [1.0]),
    "crf": ({"estimator": "crf"}, [1.0]),
}
CURVE = ("pcfg", "m-estimation", "crf")


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

    def run(self, name: str, n_trees: int | None = None) -> dict[str, Any]:
        """Train a model, its strength tuned on the dev set, and test it; a run in the file is not repeated."""
        train, dev, test = self.split
        n = len(train) if n_trees is None else min(n_trees, len(train))
        key = f"{name}/{n}/{self.passes}"
        if key in self.results.runs:
            return self.results.runs[key]
        say(f"{name} on {n} trees")
        settings, strengths = MODELS[name]
        tune = strengths[:1] if self.quick or len(strengths) < 2 else strengths
        model = Parser(
            **settings, verbose=0, n_threads=self.n_threads, max_iterations=5 if self.quick else self.passes,
            strength=strengths[0] if strengths else 1.0,
        )  # fmt: skip
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
                    best = (score, strength, model.fit_seconds_, model.weights_, model.features_, model.status_)
            model._learn(best[4], best[3])
            tested = time.perf_counter()
            found = score_trees(test, model.predict_trees(test)).to_dict()
        seconds = time.perf_counter() - tested
        run = {
            **found, "dev_f1": best[0], "strength": best[1], "train_seconds": best[2], "all_seconds": tested - began,
            "sentences_per_second": len(test) / seconds, "weights": int(best[3].size), "status": best[5],
            "tuning": table, "symbols": len(model.grammar_.rules.symbols), "rules": model.grammar_.rules.n_rules,
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
    names = experiment.chosen or list(MODELS)
    rows = {name: experiment.run(name) for name in names}
    test = experiment.split[2]
    rows["right-branching"] = {**score_trees(test, right_branching(test)).to_dict(), "commit": commit()}
    experiment.keep("table", {"rows": rows})


def curves(experiment: Experiment) -> None:
    """Learning curves."""
    sizes = [20, 40] if experiment.quick else [375, 750, 1500, 3000]
    names = experiment.chosen or CURVE
    experiment.keep("curves", {"sizes": sizes, "rows": {n: [experiment.run(n, s)["f1"] for s in sizes] for n in names}})


def speed(experiment: Experiment) -> None:
    """Exact parsing of sentences of up to 40 words beside NLTK's Viterbi parser, with the same grammar."""
    train, _, test = experiment.split
    model = Parser("pcfg", n_threads=experiment.n_threads).fit(train)
    sentences = [words for words in test.sentences() if len(words) <= 40]
    model.predict_trees(sentences[:10])
    began = time.perf_counter()
    model.predict_trees(sentences)
    seconds = time.perf_counter() - began
    found: dict[str, Any] = {
        "sentences": len(sentences), "words": sum(map(len, sentences)), "seconds": seconds,
        "rules": model.grammar_.rules.n_rules,
    }  # fmt: skip
    short = sorted(sentences, key=len)[len(sentences) // 20 : len(sentences) // 6 : 20][:3]  # NLTK takes minutes
    began = time.perf_counter()
    ours = model._charts(short).best()[1].tolist()
    found |= {"short": [len(words) for words in short], "short_seconds": time.perf_counter() - began}
    try:
        theirs, found["nltk_seconds"] = nltk_scores(model, short)
        found["nltk_agrees"] = bool(np.allclose(ours, theirs, rtol=1e-6))
    except ImportError:
        say("NLTK is not installed: it is left out")
    experiment.keep("speed", found)


def nltk_scores(model: Any, sentences: list[list[str]]) -> tuple[list[float], float]:
    """Return the log-probabilities of NLTK's best trees under the same grammar, and the seconds it took."""
    import nltk

    grammar, lexicon = model.grammar_.grammar, model.grammar_.lexicon
    names = [nltk.Nonterminal(name) for name in grammar.symbols]
    wanted = {w for words in sentences for w in lexicon.numbers(words).tolist()}
    rules = [
        nltk.ProbabilisticProduction(names[a], [names[b], names[c]], prob=p)
        for a, b, c, p in zip(grammar.parent, grammar.left, grammar.right, grammar.binary.tolist())
    ]
    rules += [
        nltk.ProbabilisticProduction(names[a], [names[b]], prob=p)
        for a, b, p in zip(grammar.unary_parent, grammar.unary_child, grammar.unary.tolist())
    ]
    rules += [
        nltk.ProbabilisticProduction(names[a], [grammar.words[w]], prob=p)
        for a, w, p in zip(grammar.lexical_symbol, grammar.lexical_word, grammar.lexical.tolist())
        if w in wanted
    ]
    missing = {}
    for rule in rules:
        missing[rule.lhs()] = missing.get(rule.lhs(), 1.0) - rule.prob()
    rules += [nltk.ProbabilisticProduction(a, ["<rest>"], prob=p) for a, p in missing.items() if p > 1e-9]
    parser = nltk.ViterbiParser(nltk.PCFG(names[grammar.start], rules), max_time=None)
    scores, began = [], time.perf_counter()
    for words in sentences:
        tree = next(iter(parser.parse([grammar.words[w] for w in lexicon.numbers(words).tolist()])))
        scores.append(float(np.log(tree.prob())))
    return scores, time.perf_counter() - began


PARTS = {"table": table, "curves": curves, "speed": speed}
