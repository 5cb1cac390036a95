"""Contenders of the benchmark of tree penalties. Each runs in a process of its own, for its time and peak memory:

python -m benchmarks.tree.contenders ROLE '{"option": value, ...}'        (prints JSON)
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

N_THREADS = 2
AGREEMENT = 1e-8  # largest difference allowed between two results of the same prox
PENALTIES = ("tree-l2", "tree-linf")


def forest_of(text: str, order: int, n_tokens: int | None = None) -> np.ndarray:
    """Return the parents of the n-grams of order 2 and above of a text, or of its first sentences; -1 at bigrams."""
    from loglinear.data.corpus import read_corpus
    from loglinear.data.ngram import build_trie
    from loglinear.data.sentences import Sentences

    sentences, _ = read_corpus(text, n_threads=N_THREADS)
    if n_tokens is not None:
        k = int(np.searchsorted(sentences.sentence_ptr, n_tokens))
        k = min(k, sentences.n_sentences)
        ptr = sentences.sentence_ptr[: k + 1]
        sentences = Sentences(sentences.n_words, sentences.words[: ptr[-1]].copy(), ptr.copy())
    trie = build_trie(sentences, order, n_threads=N_THREADS)
    parent = trie.entry_parent[trie.n_words :].astype(np.int64) - trie.n_words
    parent[: trie.entry_start[2] - trie.n_words] = -1
    return parent


def preorder(parent: np.ndarray) -> np.ndarray:
    """Return the place of each node in depth-first order, parents before children: [n].

    It works level by level: a node follows its parent and the subtrees of its earlier siblings.
    """
    levels, level = [np.flatnonzero(parent < 0)], np.where(parent < 0, 0, -1)
    while True:
        below = np.flatnonzero((level < 0) & (level[parent] == len(levels) - 1))
        if below.size == 0:
            break
        level[below] = len(levels)
        levels.append(below)
    size = np.ones(parent.size, dtype=np.int64)
    for nodes in reversed(levels[1:]):
        np.add.at(size, parent[nodes], size[nodes])
    place = np.empty(parent.size, dtype=np.int64)
    place[levels[0]] = np.cumsum(size[levels[0]]) - size[levels[0]]
    for nodes in levels[1:]:
        nodes = nodes[np.argsort(parent[nodes], kind="stable")]
        above, before = parent[nodes], np.cumsum(size[nodes]) - size[nodes]
        eldest = np.flatnonzero(np.r_[True, above[1:] != above[:-1]])
        family = np.repeat(before[eldest], np.diff(np.r_[eldest, nodes.size]))
        place[nodes] = place[above] + 1 + before - family
    return place


class Spams:
    """The forest in the form of SPAMS: one root, groups and variables numbered depth first, one variable per group.

    Group 0 joins the trees; it has no variable of its own and weight zero.
    """

    def __init__(self, parent: np.ndarray) -> None:
        import scipy.sparse as sp
        import spams

        self._prox, n = spams.proximalTree, parent.size
        self.place = preorder(parent)
        above = np.where(parent < 0, 0, self.place[parent] + 1)
        links = (np.ones(n, dtype=bool), (self.place + 1, above))  # group i is a child of group j
        weight, first, own = np.ones(n + 1), np.zeros(n + 1, dtype=np.int32), np.ones(n + 1, dtype=np.int32)
        weight[0], own[0] = 0.0, 0
        first[1:] = np.arange(n)
        groups = sp.csc_matrix(links, shape=(n + 1, n + 1), dtype=bool)
        self.tree = {"eta_g": weight, "groups": groups, "own_variables": first, "N_own_variables": own}

    def ordered(self, z: np.ndarray) -> np.ndarray:
        out = np.empty((z.size, 1), order="F")
        out[self.place, 0] = z
        return out

    def prox(self, z: np.ndarray, penalty: str, strength: float, n_threads: int) -> np.ndarray:
        """Return the prox of what ``ordered`` returned."""
        return self._prox(z, self.tree, False, lambda1=strength, regul=penalty, numThreads=n_threads)


def ours(tree: Any, penalty: str, strength: float, n_threads: int) -> Any:
    from loglinear.penalties import TreeL2, TreeLinf

    return (TreeL2 if penalty == "tree-l2" else TreeLinf)(tree, strength, n_threads=n_threads)


def prox(text: str, order: int, strengths: list[float], repeat: int = 5) -> dict:
    """Time a prox of random values by SPAMS and by us at several strengths, and compare the results."""
    from benchmarks.kernels import best_of
    from loglinear.structure.tree import Tree

    parent = forest_of(text, order)
    tree, peer = Tree(parent), Spams(parent)
    z = np.random.default_rng(0).standard_normal(parent.size)
    given, out, rows = peer.ordered(z), np.empty_like(z), []
    for penalty in PENALTIES:
        for strength in strengths:
            row: dict = {"penalty": penalty, "strength": strength}
            for n_threads in (1, N_THREADS):
                theirs = peer.prox(given, penalty, strength, n_threads)
                row[f"SPAMS on {n_threads}, s"] = best_of(
                    lambda p=penalty, s=strength, n=n_threads: peer.prox(given, p, s, n), repeat
                )
                mine = ours(tree, penalty, strength, n_threads)
                row[f"ours on {n_threads}, s"] = best_of(lambda mine=mine: mine.prox(z, 1.0, out), repeat)
                difference = float(np.abs(out - theirs[peer.place, 0]).max())
                if not difference <= AGREEMENT:
                    raise SystemExit(f"{penalty} at {strength:g}: {difference:.1e} from what SPAMS finds")
            row |= {"difference": difference, "not zero": float(np.mean(out != 0))}
            row["ratio"] = min(row[f"SPAMS on {n}, s"] for n in (1, N_THREADS)) / row[f"ours on {N_THREADS}, s"]
            rows.append(row)
    return {"nodes": parent.size, "rows": rows}


def scaling(text: str, order: int, tokens: list[int], strength: float, peer_nodes: int) -> dict:
    """Time a prox of random values against the number of nodes; SPAMS runs up to ``peer_nodes`` nodes."""
    return {"rows": [_milliseconds(forest_of(text, order, n), strength, peer_nodes) for n in tokens]}


def _milliseconds(parent: np.ndarray, strength: float, peer_nodes: int) -> dict:
    from benchmarks.kernels import best_of
    from loglinear.structure.tree import Tree

    tree, z = Tree(parent), np.random.default_rng(0).standard_normal(parent.size)
    out, row = np.empty_like(z), {"nodes": parent.size}
    for penalty in PENALTIES:
        for n_threads in (1, N_THREADS):
            mine = ours(tree, penalty, strength, n_threads)
            row[f"{penalty} on {n_threads}, ms"] = 1e3 * best_of(lambda mine=mine: mine.prox(z, 1.0, out), 5)
    if parent.size <= peer_nodes:
        peer = Spams(parent)
        given = peer.ordered(z)
        for penalty in PENALTIES:
            seconds = best_of(lambda p=penalty: peer.prox(given, p, strength, 1), 3)
            row[f"SPAMS {penalty} on 1, ms"] = 1e3 * seconds
    return row


def weights_of(text: str, order: int, penalty: str) -> Any:
    """Return the weights that a penalty is on: those of all n-grams, or of the collapsed tree."""
    from loglinear.data.corpus import read_corpus
    from loglinear.data.ngram import build_trie
    from loglinear.data.suffix_tree import build_suffix_tree
    from loglinear.models.language_model.tree_training import OnSuffixTree, OnTrie

    sentences, vocabulary = read_corpus(text, n_threads=N_THREADS)
    if penalty == "tree-linf":
        return OnSuffixTree(build_suffix_tree(sentences, order, n_threads=N_THREADS), vocabulary, N_THREADS)
    return OnTrie(build_trie(sentences, order, n_threads=N_THREADS), vocabulary, N_THREADS)


def train(text: str, order: int, penalty: str, steps: int, gap: float) -> dict:
    """Time a gradient and a prox, then ``steps`` steps from Kneser-Ney.

    Also find how soon the objective is within a relative gap of the lowest value that these steps reach.
    """
    from benchmarks.processes import megabytes
    from loglinear.models.language_model.penalty import DEFAULTS
    from loglinear.optimise.training import Settings
    from loglinear.optimise.training import train as minimise

    start = time.perf_counter()
    weights = weights_of(text, order, penalty)
    preparing = time.perf_counter() - start
    objective = weights.objective(DEFAULTS[penalty])
    sweep, shrinking = gradient_and_prox(objective, weights.start)
    settings = Settings(
        solver="fista", tolerance=0.0, max_iterations=steps, n_threads=N_THREADS, verbose=0
    )
    history = minimise(objective, settings, weights.start).result.history
    values = np.minimum.accumulate(history.objective)
    found = {"weights": int(weights.start.size), "preparing": preparing, "gradient": sweep, "prox": shrinking}
    found["both"] = sweep + shrinking
    for limit, suffix in ((gap, ""), (gap / 10, f" to {gap / 10:g}")):
        at = int(np.argmax(values <= values[-1] * (1 + limit)))
        found[f"evaluations{suffix}"], found[f"seconds{suffix}"] = int(history.passes[at]), float(history.time[at])
    found["gap at the start"] = float(values[0] / values[-1] - 1)
    found["won by the last step"] = float(values[-2] / values[-1] - 1)
    found["steps"], found["peak MB"] = len(values) - 1, megabytes()
    return found


def gradient_and_prox(objective: Any, w: np.ndarray) -> tuple[float, float]:
    """Return the seconds of each at the start of training; a separable ridge belongs to the gradient."""
    from benchmarks.kernels import best_of
    from loglinear.protocols import Split

    penalty = objective.penalty.rest if isinstance(objective.penalty, Split) else objective.penalty
    gradient, out = np.empty(w.size), np.empty(w.size)
    sweep = best_of(lambda: objective.loss.value_and_gradient(w, gradient), 3)
    step = 1.0 / (4.0 * metric_of(objective, w))  # backtracking settles near 4
    gradient *= step
    z = w - gradient
    return sweep, best_of(lambda: penalty.prox(z, step, out), 3)


def metric_of(objective: Any, w: np.ndarray) -> np.ndarray:
    """Return the diagonal metric of FISTA's steps."""
    from loglinear.protocols import OwnMetric
    from loglinear.solvers.metric import curvature_unit

    metric = curvature_unit(objective, w) ** -2
    if isinstance(objective.penalty, OwnMetric):
        objective.penalty.own_metric(metric)
    return metric


ROLES = {f.__name__: f for f in (prox, scaling, train)}


if __name__ == "__main__":
    print(json.dumps(ROLES[sys.argv[1]](**json.loads(sys.argv[2]))))
