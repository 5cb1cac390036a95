"""Rerankers: time to encode lists and follow paths, against the number of features and a plain peer, in one run.

    LOGLINEAR_DATA=... python -m benchmarks rerank [--only training,scaling,peer] [--json] [--output FILE]

It needs the corpus ime/. No maintained tool trains such models: the peer is the same algorithm written with NumPy and
SciPy. With --output the plot of time against features is written beside the tables. Nothing else should run meanwhile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.figures import canvas, save_figure
from benchmarks.kernels import limits
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page
from benchmarks.rerank.plain_blasso import PlainBlasso
from loglinear import InputMethod
from loglinear.data.candidates import CandidateLists, encode_lists
from loglinear.data.matrix import SparseRows
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList
from loglinear.stagewise import Stagewise, StagewisePath
from loglinear.threads import pool

SENTENCES, K, ITERATIONS, STEP = 8000, 20, 20_000, 0.5
SECONDS, GROWTH = 10.0, 2.0  # targets: for a path; for the time of an iteration with the most over the fewest features
PAPER_SECONDS = {"boosting": 15 * 60, "blasso": 30 * 60}  # Gao, Suzuki and Yu 2006, on a Xeon of 1.9 GHz
FEATURES = [10_000, 100_000, 1_000_000]
HEAD, PER_PAIR, HEAD_PER_PAIR = 5_000, 12, 4  # made-up lists: common features; differences of a pair, all and common
SMALL_STEP = 0.05  # small, so that common features are not used up
SCALING_ITERATIONS, PEER_ITERATIONS, EQUAL_STEPS = 5_000, 300, 200
ROUNDS = 3
PLOT = "rerank_scaling.png"


class Task:
    """The first sentences of science as candidate lists of a background model; they are made on first use."""

    def __init__(self, folder: Path, n_threads: int, sentences: int, peer_iterations: int = PEER_ITERATIONS) -> None:
        self.folder, self.n_threads, self.sentences = folder, n_threads, sentences
        self.peer_iterations = peer_iterations

    @cached_property
    def lists(self) -> list[CandidateList]:
        train = self.folder / "science.train.txt.gz"
        model = InputMethod(3, n_threads=self.n_threads).fit(self.folder / "background.txt.gz", dictionary=train)
        written, typed = (texts[: self.sentences] for texts in model.read(train).sentences(model.separator))
        found = model.decode(typed, K)
        made = [Candidate(t, {"score": s}) for t, s in zip(found.texts, found.log_probability.tolist())]
        spans = pairwise(found.reading_ptr.tolist())
        return [CandidateList(str(i), made[a:b], words) for i, ((a, b), words) in enumerate(zip(spans, written))]

    def encoded(self, features: CandidateFeatures) -> CandidateLists:
        return encode_lists(self.lists, features, units="characters", n_threads=self.n_threads)

    @cached_property
    def data(self) -> CandidateLists:
        return self.encoded(CandidateFeatures((1, 2)))


def followed(data: CandidateLists, n_threads: int, n: int, **settings: object) -> tuple[StagewisePath, float]:
    """Return a path and its seconds, fitting the base score included."""
    solver = Stagewise(max_iterations=n, n_threads=n_threads, **settings)
    began = time.perf_counter()
    path = solver.follow(data)
    return path, time.perf_counter() - began


def apart(data: CandidateLists, n_threads: int, n: int, **settings: object) -> tuple[StagewisePath, float, float]:
    """Return a path, the seconds before its first step and those of its steps: the fastest of a few rounds."""
    before = min(followed(data, n_threads, 0, **settings)[1] for _ in range(ROUNDS + 1))  # the first makes the index
    path, seconds = min((followed(data, n_threads, n, **settings) for _ in range(ROUNDS)), key=lambda made: made[1])
    return path, before, max(seconds - before, 1e-9)


def entries_per_step(data: CandidateLists, path: StagewisePath) -> float:
    """Return the number of differences in the pairs that a step of the path changes: its work."""
    before = np.concatenate([[0], np.cumsum(np.diff(data.rows.indptr)[data.columns.indices])])
    return float(np.diff(before[data.columns.indptr])[path.feature].mean())


def features_per_step(data: CandidateLists, path: StagewisePath, n: int = 100) -> float:
    """Return the number of features whose sums a step changes, as the mean of some steps."""
    counts = []
    for k in path.feature[np.linspace(0, path.n_steps - 1, n).astype(int)].tolist():
        pairs = data.columns.indices[data.columns.indptr[k] : data.columns.indptr[k + 1]].tolist()
        spans = [data.rows.indices[data.rows.indptr[p] : data.rows.indptr[p + 1]] for p in pairs]
        counts.append(np.unique(np.concatenate(spans)).size)
    return float(np.mean(counts))


def bytes_per_step(data: CandidateLists, path: StagewisePath) -> float:
    """Return the compulsory bytes: number, extent and exponential of each pair; feature, cell and sum of each entry."""
    pairs = float(np.diff(data.columns.indptr)[path.feature].mean())
    return 36 * pairs + 24 * entries_per_step(data, path)


def training(task: Task) -> Report:
    """Time the encoding, and 20,000 iterations of each method."""
    report = Report(f"Training: science, the first {task.sentences:,} sentences, {K} candidates each")
    lists = task.lists
    began = time.perf_counter()
    data = task.data
    encoding = time.perf_counter() - began
    report.rows.append({"": f"encoding {len(lists):,} lists", "seconds": encoding})
    bandwidth, _ = limits(pool(task.n_threads))
    for method in ("blasso", "boosting", "f-boosting", "fslr"):
        path, seconds = followed(data, task.n_threads, ITERATIONS, method=method, **_step(method))
        moved = bytes_per_step(data, path)
        job = report.job(f"a step of {method}, {len(lists):,} lists", "steps/s", limit=bandwidth / moved)
        job.limit_is = "bytes moved at a copy's rate"
        job.took("loglinear", path.n_steps / seconds)
        report.rows.append(
            {
                "": method, "seconds": seconds, "steps": path.n_steps, "µs a step": 1e6 * seconds / path.n_steps,
                "non-zero weights": int(path.n_nonzeros[-1]), "kB moved a step": moved / 1e3,
                "share of the copy rate": moved * path.n_steps / seconds / bandwidth,
                "paper, s": PAPER_SECONDS.get(method),
            }
        )  # fmt: skip
        if method in PAPER_SECONDS:
            full = seconds * ITERATIONS / path.n_steps  # a path that ended early does not count as faster
            report.at_most(f"{ITERATIONS:,} iterations of {method}", full, SECONDS, "{:.2f} s")
    report.remarks.append(
        f"{data.n_pairs:,} pairs, {data.n_features:,} features (uni- and bigrams seen in two lists or more), "
        f"{data.rows.indptr[-1]:,} differences; step {STEP:g}, smoothing 1e-3; {task.n_threads} threads. The paper's "
        "times are those until convergence, on 8,000 other sentences. Bytes are the compulsory ones; a copy moves "
        f"{bandwidth / 1e9:.1f} GB/s here."
    )
    return report


def _step(method: str) -> dict[str, float]:
    return {} if method == "boosting" else {"step": STEP}


def made_up(n_features: int, n_lists: int, seed: int = 0) -> CandidateLists:
    """Return lists of 20 whose pairs differ in the same number of features, whatever the total number of features is.

    Some differences are in common features, which follow Zipf's law and each favour the reference or the other
    candidate; a list has a few of them, which its pairs share. The other differences are in rare features (the rarer
    the more features there are), which occur in neighbouring lists, as in running text, and favour either side equally
    often. Steps are therefore on common features, and touch about as many pairs and features in all sizes.
    """
    rng = np.random.default_rng(seed)
    n_pairs, per_list = n_lists * (K - 1), (K - 1) * (PER_PAIR - HEAD_PER_PAIR)
    shares = 1.0 / (100.0 + np.arange(HEAD))
    shared = rng.choice(HEAD, size=(n_lists, 2 * HEAD_PER_PAIR), p=shares / shares.sum())
    chosen = rng.permuted(np.tile(np.arange(2 * HEAD_PER_PAIR), (n_pairs, 1)), axis=1)[:, :HEAD_PER_PAIR]
    head = np.take_along_axis(np.repeat(shared, K - 1, axis=0), chosen, axis=1)
    side = np.where(rng.random(HEAD) < 0.5, 1.0, -1.0)[head] * np.where(rng.random(head.shape) < 0.7, 1.0, -1.0)
    start = HEAD + np.linspace(0, n_features - HEAD - per_list, n_lists).astype(np.int64)
    rare = rng.permuted(start[:, None] + np.arange(per_list), axis=1).reshape(n_pairs, -1)
    balanced = np.repeat(np.where(np.arange(n_lists) % 2, -1.0, 1.0), K - 1)[:, None] * np.ones(rare.shape)
    columns, signs = np.concatenate([head, rare], axis=1).ravel(), np.concatenate([side, balanced], axis=1).ravel()
    _, first, kind = np.unique(columns, return_index=True, return_inverse=True)
    columns = np.argsort(np.argsort(first))[kind]  # numbered by first occurrence, as encoders number features
    indptr = np.arange(n_pairs + 1) * PER_PAIR
    matrix = sp.csr_matrix((signs, columns, indptr), shape=(n_pairs, n_features))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    place = np.tile(np.arange(1, K, dtype=np.int32), n_lists)
    return CandidateLists(
        list_ptr=np.arange(n_lists + 1, dtype=np.int64) * (K - 1),
        base=rng.normal(0.5, 2.0, (n_pairs, 1)),
        rows=SparseRows.from_scipy(matrix),
        errors=np.ones(n_pairs),
        place=place,
        reference=np.zeros(n_lists, dtype=np.int32),
        reference_errors=np.zeros(n_lists),
        length=np.full(n_lists, 10.0),
        base_names=("score",),
    )


def scaling(task: Task) -> Report:
    """Time an iteration against the number of features."""
    report = Report("Time per iteration against the number of features")
    for method in ("blasso", "boosting"):
        times = []
        for n in FEATURES:
            data = made_up(n, task.sentences)
            times.append(_row(report, f"made up, {method}", data, task, method))
        report.at_most(f"{method}: from {FEATURES[0]:,} to {FEATURES[-1]:,} features", times[-1] / times[0], GROWTH,
                       "{:.2f}x")  # fmt: skip
    real = {
        "science, words": CandidateFeatures((1, 2)),
        "science, words and headwords": CandidateFeatures((1, 2), headwords="cjk"),
        "science, all of these seen once, trigrams, skips": CandidateFeatures((1, 2, 3), 1, headwords="cjk", skips=2),
    }
    for title, features in real.items():
        _row(report, f"{title}, blasso", task.encoded(features), task, "blasso")
    few, many = report.rows[-len(real)], report.rows[-1]
    sizes = f"from {few['features']:,} to {many['features']:,} features"
    report.at_most(f"science, blasso: per entry touched, {sizes}", many["ns an entry"] / few["ns an entry"], GROWTH,
                   "{:.2f}x")  # fmt: skip
    report.remarks.append(
        f"Made up: {task.sentences:,} lists of {K}; a pair differs in {PER_PAIR} features, {HEAD_PER_PAIR} of them "
        f"among {HEAD:,} common ones, which pairs of a list share; the others are the rarer the more there are; "
        f"steps of {SMALL_STEP:g}. Real lists, steps of {STEP:g}, differ in more features when more kinds are counted. "
        f"{SCALING_ITERATIONS:,} iterations; what is done before the first (weights of base scores, all sums) apart. "
        "The time of an iteration is what was to stay near-flat; that of an entry touched is shown beside it."
    )
    return report


def _row(report: Report, title: str, data: CandidateLists, task: Task, method: str) -> float:
    step = {} if method == "boosting" else {"step": SMALL_STEP if title.startswith("made up") else STEP}
    path, before, of_steps = apart(data, task.n_threads, SCALING_ITERATIONS, method=method, **step)
    entries, per_step = entries_per_step(data, path), 1e6 * of_steps / path.n_steps
    report.rows.append(
        {"": title, "features": data.n_features, "entries of a pair": int(data.rows.indptr[-1]) / data.n_pairs,
         "first sums, s": before, "µs a step": per_step, "entries touched by a step": entries,
         "features touched by a step": features_per_step(data, path),
         "ns an entry": 1e3 * per_step / entries}
    )  # fmt: skip
    return per_step


def peer(task: Task) -> Report:
    """Follow the same path by rescanning all features with NumPy."""
    report = Report("A plain peer: the same BLasso that looks at all features in every step (NumPy, SciPy)")
    real, wide = task.data, made_up(FEATURES[-1], task.sentences)
    for title, data in (("science, words", real), (f"made up, {FEATURES[-1]:,} features", wide)):
        path, _ = followed(data, task.n_threads, PEER_ITERATIONS, method="blasso", step=STEP)
        longer, _, of_steps = apart(data, task.n_threads, SCALING_ITERATIONS, method="blasso", step=STEP)
        rows = data.rows
        differences = sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, rows.n_columns))
        plain = PlainBlasso(differences, data.base @ path.base, STEP)
        n = min(task.peer_iterations, path.n_steps)
        began = time.perf_counter()
        taken = [plain.take() for _ in range(n)]
        per_step = (time.perf_counter() - began) / n
        equal = _equal_steps(taken, path)
        ours = of_steps / longer.n_steps
        job = report.job(f"a step of blasso: {title}", "steps/s", peer="NumPy and SciPy")
        job.took("loglinear", 1 / ours)
        job.took("NumPy and SciPy", 1 / per_step)
        report.rows.append(
            {"": title, "NumPy, µs a step": 1e6 * per_step, "ours, µs a step": 1e6 * ours,
             "steps that are the same": equal}
        )  # fmt: skip
        report.at_least(f"{title}: first steps that are the same", equal, min(EQUAL_STEPS, n), "{:.0f}")
    report.remarks.append(
        f"{task.peer_iterations} steps of the peer, {SCALING_ITERATIONS:,} of ours; what is done before the first is "
        f"not counted. The peer runs on one thread, ours on {task.n_threads}."
    )
    return report


def _equal_steps(taken: list[tuple[int, float]], path: StagewisePath) -> int:
    """Return how many first steps the two paths share."""
    for t, (feature, change) in enumerate(taken):
        if feature != path.feature[t] or not math.isclose(change, path.change[t], rel_tol=1e-6):
            return t
    return len(taken)


SECTIONS: dict[str, Callable[[Task], Report]] = {f.__name__: f for f in (training, scaling, peer)}


def plot(report: Report, path: Path) -> None:
    """Plot the time per iteration against the number of features."""
    figure, ((axes,),) = canvas(size=(6, 4))
    by_title: dict[str, list[tuple[int, float]]] = {}
    for row in report.rows:
        title = row[""] if row[""].startswith("made up") else "science, blasso"
        by_title.setdefault(title, []).append((row["features"], row["µs a step"]))
    for title, points in by_title.items():
        axes.loglog(*zip(*sorted(points)), "o" if title.startswith("science") else "o-", label=title)
    axes.set(xlabel="features", ylabel="µs for an iteration", ylim=(1, None))
    axes.legend(fontsize=8)
    save_figure(figure, path)


def main(arguments: list[str]) -> None:
    parser = section_parser("rerank", __doc__, SECTIONS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.set_defaults(peer_iterations=PEER_ITERATIONS)
    options = parse(parser, arguments, only=["training", "peer"], sentences=1000, peer_iterations=100)
    task = Task(data_folder("ime/") / "ime", options.threads, options.sentences, options.peer_iterations)
    reports = run_sections(SECTIONS, options, task)
    write_page(options, "rerank", "Rerankers: training on candidate lists", reports, plots={"scaling": (PLOT, plot)})
