"""The measurements on texts, part by part: perplexities and numbers of parameters.

Every run is kept in the results, so an interrupted experiment continues where it stopped, and parts can be run
separately.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.origin import commit
from experiments.record import Json, Results, say
from experiments.structured_penalties.corpora import TITLES, Piece, Pieces, Sizes, pieces_of
from experiments.structured_penalties.task import BY_ORDER, FIGURE_2A, FIGURE_2B, KINDS, Text, search
from loglinear.data.ngram import build_trie
from loglinear.data.suffix_tree import build_suffix_tree
from loglinear.optimise.training import Settings

MOVES = (1.6, 1.2, 2.0)  # first factors of the search: of strength, depth growth and ridge
SHALLOW = 5  # order at which strengths of unweighted kinds are chosen; of weighted ones it is the highest


class Experiment:
    """Corpora, settings and results of one call of the script."""

    def __init__(
        self,
        folder: Path,
        results: Results,
        *,
        corpora: list[str],
        orders: list[int],
        sizes: Sizes,
        rounds: int = 3,
        repeats: int = 5,
        n_threads: int | None = None,
        command: str = "",
    ) -> None:
        self.folder, self.results, self.corpora, self.orders, self.sizes = folder, results, corpora, orders, sizes
        self.rounds, self.repeats, self.n_threads, self.command = rounds, repeats, n_threads, command
        # On Brown at order 8, perplexity changes by at most 0.05% from here to the optimum for most kinds, 0.2% for l1.
        self.settings = Settings(
            solver="auto", tolerance=1e-4, max_iterations=300, n_threads=n_threads, verbose=0
        )
        self._pieces: tuple[str, Pieces] | None = None

    def pieces(self, corpus: str) -> Pieces:
        """Return the pieces of a corpus; those of the last corpus are cached."""
        if self._pieces is None or self._pieces[0] != corpus:
            self._pieces = corpus, pieces_of(corpus, self.folder, self.sizes, self.n_threads)
        return self._pieces[1]

    def once(self, key: str, measure: Callable[[], Json]) -> Json:
        """Return the stored result of a run, or measure and store it."""
        if key not in self.results.runs:
            self.results.runs[key] = {**measure(), "commit": commit()}
            self.results.save()
        return self.results.runs[key]

    def keep(self, part: str, found: Json, began: float) -> None:
        """Store what a part found, with its origin; runs of earlier calls count among its seconds."""
        commits = self.results.commits_of(found["of"])
        runs = (run for key, run in self.results.runs.items() if key.split("/")[0] in found["of"])
        seconds = max(time.perf_counter() - began, sum(run.get("seconds", 0.0) for run in runs))
        self.results.keep(part, found, self.command, self.n_threads, seconds=seconds, commits=commits)

    def chosen(self, corpus: str, kind: str) -> tuple[float, float, float]:
        """Return strength, depth growth and ridge of a kind of model, chosen by validation perplexity."""
        k = KINDS[kind]
        order = max(self.orders) if k.weighted else min(SHALLOW, max(self.orders))
        return self._searched(f"tuning/{corpus}/{kind}", corpus, kind, order, k.values, MOVES, self.rounds)

    def chosen_at(self, corpus: str, kind: str, order: int) -> tuple[float, float, float]:
        """The same at one order: from the third on, a finer search from what was chosen at the order before."""
        at = self.orders.index(order)
        start = KINDS[kind].values if at == 0 else self.chosen_at(corpus, kind, self.orders[at - 1])
        moves, rounds = MOVES, self.rounds
        if at > 1:
            moves, rounds = tuple(factor**0.5 for factor in MOVES), min(self.rounds, 2)
        return self._searched(f"tuning by order/{corpus}/{kind}/{order}", corpus, kind, order, start, moves, rounds)

    def _searched(
        self,
        key: str,
        corpus: str,
        kind: str,
        order: int,
        start: tuple[float, ...],
        moves: tuple[float, ...],
        rounds: int,
    ) -> tuple[float, float, float]:
        k = KINDS[kind]
        if k.counted:
            return k.values

        def measure() -> Json:
            began = time.perf_counter()
            text, last = Text(self.pieces(corpus).tuning, order, self.settings), None

            def judge(values: tuple[float, ...]) -> float:
                nonlocal last
                strength, growth, ridge = values
                fit = text.fit(k, (strength, growth, ridge), last)
                last = fit.weights  # start for the next settings, which are near
                return fit.perplexity

            tuned = k.tuned[0], k.tuned[1] and order > 2, k.tuned[2]  # all bigrams have one depth
            free = tuple(factor if chosen else 1.0 for factor, chosen in zip(moves, tuned))
            best, trials = search(judge, start, free, rounds)
            seconds = time.perf_counter() - began
            say(
                f"{corpus}, order {order}, {k.title}: {', '.join(f'{x:g}' for x in best)} ({len(trials)} trials, "
                f"{seconds:.0f} s)"
            )
            return {"values": best, "order": order, "trials": trials, "seconds": seconds}

        strength, growth, ridge = self.once(key, measure)["values"]
        return strength, growth, ridge

    def fit(self, corpus: str, subset: int, text: Text, kind: str, *, by_order: bool = False) -> Json:
        values = self.chosen_at(corpus, kind, text.order) if by_order else self.chosen(corpus, kind)

        def measure() -> Json:
            found = text.fit(KINDS[kind], values).figures()
            say(
                f"{corpus} {subset}, order {text.order}, {KINDS[kind].title}: {found['perplexity']:.2f}, "
                f"{found['n_parameters']:,} parameters, {found['evaluations']} evaluations, {found['seconds']:.2f} s"
            )
            return found

        return self.once(f"fit{' by order' * by_order}/{corpus}/{subset}/{text.order}/{kind}", measure)


def perplexity(experiment: Experiment) -> None:
    """Measure perplexities (figures 2(a) and 2(b)), and the parameters of the same models."""
    began, kinds = time.perf_counter(), list(dict.fromkeys(FIGURE_2A + FIGURE_2B))
    found: Json = {"of": ["tuning", "fit"], "orders": experiment.orders, "corpora": {}}
    for corpus in experiment.corpora:
        tuned = {kind: experiment.chosen(corpus, kind) for kind in kinds}
        found["corpora"][TITLES[corpus]] = {
            "values": {kind: tuned[kind] for kind in kinds if not KINDS[kind].counted},
            "texts": [described(piece) for piece in experiment.pieces(corpus).subsets],
            "rows": fitted(experiment, corpus, kinds),
        }
    experiment.keep("perplexity", found, began)


def norms(experiment: Experiment) -> None:
    """Figures 2(a) and 2(b) with strengths chosen at every order, for both definitions of the norms."""
    began = time.perf_counter()
    found: Json = {"of": ["tuning by order", "fit by order"], "orders": experiment.orders, "corpora": {}}
    for corpus in experiment.corpora:
        tuned = {
            kind: [experiment.chosen_at(corpus, kind, order) for order in experiment.orders]
            for kind in BY_ORDER
            if not KINDS[kind].counted
        }
        found["corpora"][TITLES[corpus]] = {
            "values": tuned,
            "texts": [described(piece) for piece in experiment.pieces(corpus).subsets],
            "rows": fitted(experiment, corpus, BY_ORDER, by_order=True),
        }
    experiment.keep("norms", found, began)


def fitted(experiment: Experiment, corpus: str, kinds: Sequence[str], *, by_order: bool = False) -> Json:
    """Every kind at every order on every subset: rows[kind][order][subset]."""
    rows: Json = {kind: {str(order): [] for order in experiment.orders} for kind in kinds}
    for subset, piece in enumerate(experiment.pieces(corpus).subsets):
        for order in experiment.orders:
            text = Text(piece, order, experiment.settings)
            for kind in kinds:
                run = experiment.fit(corpus, subset, text, kind, by_order=by_order)
                rows[kind][str(order)].append({name: run[name] for name in run if name != "commit"})
    return rows


def described(piece: Piece) -> Json:
    unknown = int((piece.test.words == 1).sum())
    return {
        "train": piece.train.n_tokens,
        "test": piece.test.n_tokens,
        "sentences": piece.test.n_sentences,
        "vocabulary": piece.vocabulary.n_words,
        "unknown": unknown,
    }


def parameters(experiment: Experiment) -> None:
    """Count the nodes of the trie S and of the tree T by order, unbounded included (figure 2(c))."""
    began = time.perf_counter()
    found: Json = {"of": ["sizes"], "corpora": {}}
    for corpus in experiment.corpora:
        piece = experiment.pieces(corpus).subsets[0]

        def measure(piece: Piece = piece) -> Json:
            rows = {}
            for order in [*experiment.orders, None]:
                tree = build_suffix_tree(piece.train, order, n_threads=experiment.n_threads)
                n_words = tree.trie.n_words
                in_trie = None
                if order is not None:
                    in_trie = build_trie(piece.train, order, n_threads=experiment.n_threads).n_entries - n_words
                rows[str(order)] = {"longest": tree.order, "S": in_trie, "T": tree.trie.n_entries - n_words}
            return {"rows": rows}

        found["corpora"][TITLES[corpus]] = experiment.once(f"sizes/{corpus}", measure)["rows"]
    experiment.keep("parameters", found, began)


def with_iterations(settings: Settings, n: int) -> Settings:
    return replace(settings, max_iterations=n, tolerance=0.0)
