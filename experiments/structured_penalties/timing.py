"""Measurements of the prox of tree-linf (Nelakanti et al. 2013, figure 3, table 1 and section 4.5).

They are time by method, memory, and the distribution of k, the number of values above the pivot.

A prox is timed where training needs it: at the end of a gradient step, after some steps of training.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.record import say
from experiments.structured_penalties.corpora import Piece, Sizes, deal, ptb
from experiments.structured_penalties.parts import Experiment, with_iterations
from experiments.structured_penalties.task import KINDS, Text
from loglinear.arrays import FloatArray
from loglinear.models.language_model.penalty import TreePenalty
from loglinear.models.language_model.tree_training import OnSuffixTree, OnTrie
from loglinear.optimise.training import train
from loglinear.penalties import L1, L2, TreeL2, TreeLinf

METHODS = {  # name: (on the tree T or the trie S, method)
    "random pivot on S": ("S", "pivot"),
    "random pivot on T": ("T", "pivot"),
    "heap on T": ("T", "heap"),
    "heap on S": ("S", "heap"),
}
LIPSCHITZ = 4.0  # backtracking settles near it
STEPS = 10  # of training before a prox is timed
Json = dict[str, Any]


class Place:
    """A point of training on S or on T, the gradient step from it, and penalties whose prox can follow."""

    def __init__(self, text: Text, where: str, strength: float) -> None:
        weights: OnTrie | OnSuffixTree = text.on_suffix_tree if where == "T" else text.on_trie
        trie = text.on_suffix_tree.loss.tree.trie if where == "T" else text.on_trie.loss.trie
        n_words = trie.n_words
        objective = weights.objective(TreePenalty("tree-linf", strength, 1.0))
        settings = with_iterations(text.settings, STEPS)
        w = train(objective, settings, weights.start.copy()).weights
        gradient, curvature = np.empty(w.size), np.empty(w.size)
        weights.loss.value_and_gradient(w, gradient)
        weights.loss.curvature_estimate(curvature)
        self.step = 1.0 / (LIPSCHITZ * curvature[n_words:])
        self.z = w[n_words:] - self.step * gradient[n_words:]
        self.tree, self.strength = weights.tree, strength
        self.multiplicity: FloatArray | None = None
        if where == "T":
            self.multiplicity = text.on_suffix_tree.loss.multiplicity[n_words:]
        self.scale = np.maximum(trie.entry_count[n_words:], 0.5).astype(np.float64)

    def linf(self, method: str, n_threads: int = 1) -> TreeLinf:
        return TreeLinf(
            self.tree, self.strength, multiplicity=self.multiplicity, method=method, nonnegative=True,
            n_threads=n_threads,
        )  # fmt: skip

    def l2(self, n_threads: int = 1) -> TreeL2:
        return TreeL2(self.tree, self.strength, scale=self.scale, nonnegative=True, n_threads=n_threads)

    def l1(self, n_threads: int = 1) -> L1:
        return L1(self.strength, scale=self.multiplicity, nonnegative=True, n_threads=n_threads)

    def ridge(self, n_threads: int = 1) -> L2:
        return L2(self.strength, scale=self.multiplicity, n_threads=n_threads)

    def seconds(self, penalty: Any, repeats: int, step: FloatArray | None = None) -> float:
        """Return the median seconds of a prox."""
        out, taken = np.empty_like(self.z), []
        for _ in range(repeats):
            start = time.perf_counter()
            penalty.prox(self.z, self.step if step is None else step, out)
            taken.append(time.perf_counter() - start)
        return statistics.median(taken)


def method_times(text: Text, strength: float, repeats: int) -> Json:
    found: Json = {}
    for where in ("S", "T"):
        place = Place(text, where, strength)
        for name, (on, method) in METHODS.items():
            if on == where:
                found[name] = place.seconds(place.linf(method), repeats)
        found[f"nodes of {where}"] = place.z.size
    return found


def timing(experiment: Experiment) -> None:
    """Measure figure 3, table 1 and k on PTB, the only long corpus that is like the paper's."""
    began = time.perf_counter()
    strength = experiment.chosen("ptb", "tree-linf")[0]
    found: Json = {"of": ["tuning", "orders", "sizes of text", "table", "k"], "strength": strength}
    piece = experiment.pieces("ptb").subsets[0]
    found["orders"] = {}
    for order in experiment.orders:
        text = Text(piece, order, experiment.settings)
        run = experiment.once(f"orders/{order}", lambda text=text: method_times(text, strength, experiment.repeats))
        found["orders"][str(order)] = run
        say(f"order {order}: " + ", ".join(f"{name} {1e3 * run[name]:.2f} ms" for name in METHODS))
    found["sizes"] = {}
    order = max(experiment.orders)
    for n_words in lengths(experiment):
        part = stretch(experiment.folder, n_words)
        text = Text(part, order, experiment.settings)
        run = experiment.once(
            f"sizes of text/{n_words}", lambda text=text: method_times(text, strength, experiment.repeats)
        )
        found["sizes"][str(n_words)] = run
        say(f"{n_words:,} words: " + ", ".join(f"{name} {1e3 * run[name]:.2f} ms" for name in METHODS))
    found["table"] = table(experiment, strength)
    found["k"] = {
        str(factor): experiment.once(f"k/{factor}", lambda factor=factor: distribution(experiment, strength * factor))
        for factor in (0.1, 1.0, 10.0)
    }
    experiment.keep("timing", found, began)


def lengths(experiment: Experiment) -> list[int]:
    """Return sizes of text, doubling up to all of PTB."""
    largest = 800_000 if experiment.sizes.train >= 100_000 else 4 * experiment.sizes.train
    return [largest >> k for k in range(6, -1, -1)]


def stretch(folder: Path, n_words: int) -> Piece:
    """Return the first ``n_words`` words of PTB."""
    return deal(ptb(folder), Sizes(tuning=n_words, validation=1, subsets=0), shuffle=False).tuning


def distribution(experiment: Experiment, strength: float) -> Json:
    """Count the groups with k values above the pivot, for every k; the mean ignores groups that vanish."""
    text = Text(experiment.pieces("ptb").subsets[0], max(experiment.orders), experiment.settings)
    place = Place(text, "T", strength)
    counts = np.asarray(place.linf("heap").pivot_counts(place.z, place.step))
    alive, k = counts[1:], np.arange(1, counts.size)
    total = max(int(alive.sum()), 1)
    return {"counts": counts.tolist(), "mean": float(alive @ k / total), "largest": int(k[alive > 0].max(initial=0))}


# ---- table 1 ---------------------------------------------------------------------------------------------------------
ROWS = {  # name: where, what
    "ℓ1": ("T", "l1"),
    "ℓ2²": ("T", "ridge"),
    "ℓ2ᵀ": ("S", "l2"),
    "ℓ∞ᵀ, random pivot": ("T", "pivot"),
    "ℓ∞ᵀ, heap": ("T", "heap"),
}


def table(experiment: Experiment, strength: float) -> Json:
    """Measure nodes, seconds of a prox and memory of training, at two orders, on the longest text."""
    rows: Json = {}
    n_words = lengths(experiment)[-1]
    for order in (min(5, max(experiment.orders)), max(experiment.orders)):
        text = Text(stretch(experiment.folder, n_words), order, experiment.settings)
        for where in ("S", "T"):
            names = [name for name, row in ROWS.items() if row[0] == where]
            if all(f"table/{order}/{name}" in experiment.results.runs for name in names):
                continue
            place = Place(text, where, strength)
            for name in names:
                experiment.once(f"table/{order}/{name}", lambda p=place, n=name: prox_row(p, n, experiment.repeats))
        for where, kind in (("S", "tree-l2"), ("T", "tree-linf")):
            memory = experiment.once(
                f"table/{order}/memory of {where}",
                lambda kind=kind, text=text: peak(text, kind, strength),
            )
            rows[f"{order}/memory of {where}"] = memory
        rows |= {f"{order}/{name}": experiment.results.runs[f"table/{order}/{name}"] for name in ROWS}
    return {"rows": rows, "words": n_words}


def prox_row(place: Place, name: str, repeats: int) -> Json:
    what = ROWS[name][1]
    step = place.step
    if what == "l2":  # the steps that its norm asks for
        penalty: Any = place.l2()
        step = 1.0 / (LIPSCHITZ * place.scale)
    else:
        penalty = place.linf(what) if what in ("pivot", "heap") else getattr(place, what)()
    return {"nodes": place.z.size, "seconds": place.seconds(penalty, repeats, step)}


def peak(text: Text, kind: str, strength: float) -> Json:
    """Return the peak memory of some steps of training in a process of its own, beyond Python's and the text's."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    given = (sender, Text(text.piece, text.order, with_iterations(text.settings, STEPS)), kind, strength)
    process = context.Process(target=_train_in_process, args=given)
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        raise SystemExit(f"training {KINDS[kind].title} at order {text.order} ended without an answer") from None
    finally:
        process.join()


def _train_in_process(sender: Any, text: Text, kind: str, strength: float) -> None:
    before = megabytes()
    weights: OnTrie | OnSuffixTree = text.on_suffix_tree if kind == "tree-linf" else text.on_trie
    train(weights.objective(TreePenalty(kind, strength, 1.0)), text.settings, weights.start)
    sender.send({"megabytes": megabytes() - before, "nodes": int(weights.start.size - text.piece.vocabulary.n_words)})


def megabytes() -> float:
    """Return the peak memory of this process; unlike getrusage, /proc does not count that of the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        peaks = [line.split()[1] for line in status.read_text(encoding="utf-8").splitlines() if "VmHWM" in line]
        if peaks:
            return int(peaks[0]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
