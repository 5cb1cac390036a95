"""Clustered L-BFGS (Mathur and Chakrabarti) against plain L-BFGS on Reuters, and the other plots of their slides.

    LOGLINEAR_DATA=... python -m experiments.clustered_newton [--quick] [--output docs/results]

Times are until the objective is within a relative gap of 1e-4 of the best known one, which a tight solve in example
coordinates finds. Plain and clustered runs minimise the same objective over the same plain weights, without merging
equal features and without example coordinates. The last column is ``solver="auto"``, which uses both.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.figures import canvas, save_figure
from experiments.clustered_newton import reuters
from experiments.record import origin, origin_line
from loglinear import penalties, solvers
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.minimise import History, Result, minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.representer import RepresenterObjective
from loglinear.solvers import Clustered, Lbfgs
from loglinear.threads import pool

TOPICS = {"wheat": "Wheat", "money-fx": "Money-fx", "interest": "Interest"}
SLIDES = {  # seconds in the slides, by clusterFactor
    "wheat": {10: 16.0, 20: 15.7, 50: 17.3},
    "money-fx": {10: 64.3, 20: 44.5, 50: 39.4},
    "interest": {10: 61.3, 20: 44.3, 50: 87.6},
}
GAP = 1e-4
BUDGET = 40.0  # maximum seconds of a run


class Problem:
    def __init__(self, train, test, train_topics, test_topics, topic: str) -> None:
        self.data = reuters.problem(train, train_topics, topic)
        self.test = reuters.problem(test, test_topics, topic)
        self.loss = MultinomialLoss(self.data)
        self.merged = MultinomialLoss(self.data.merge_identical_features()[0])

    def objective(self, strength: float) -> Objective:
        return Objective(self.loss, penalties.make("l2", strength, n_free=1))

    def example_objective(self, strength: float) -> RepresenterObjective:
        return RepresenterObjective(self.merged, penalties.make("l2", strength, n_free=1))

    def best(self, strength: float) -> float:
        objective = self.example_objective(strength)
        return minimise(objective, Lbfgs(memory=20), violation_tolerance=1e-10, max_iterations=4000).value

    def test_f1(self, w: np.ndarray) -> float:
        margins = np.empty(self.test.n_examples)
        self.test.rows.margins(pool(), w[:-1], w[-1:], 1, margins)
        predicted = (margins > 0).astype(int)
        hits = int(np.sum(predicted & self.test.labels))
        return 2 * hits / max(int(predicted.sum() + self.test.labels.sum()), 1)


def run(objective, solver, best: float, gap: float = GAP, watch=None) -> Result:
    start = time.perf_counter()

    def stop(iteration, state, history) -> bool:
        if watch is not None:
            watch(state)
        inside = state.value <= best * (1 + gap) and np.isfinite(state.violation)
        return inside or time.perf_counter() - start > BUDGET

    return minimise(objective, solver, tolerance=0.0, max_iterations=100_000, callback=stop)


def reached(history: History, best: float, gap: float = GAP) -> tuple[float, int] | None:
    """Return the (seconds, evaluations) at which the fine objective was within the gap; None if it never was."""
    for seconds, value, violation, evaluations in zip(
        history.time, history.objective, history.violation, history.passes
    ):
        if value <= best * (1 + gap) and np.isfinite(violation):
            return seconds, evaluations
    return None


def cell(hit: tuple[float, int] | None) -> str:
    return f"{hit[0]:.1f} ({hit[1]})" if hit else f"> {BUDGET:.0f}"


def factor_table(problems: dict[str, Problem], strengths, factors, seconds: float) -> list[str]:
    """Return the table of times: strength by strength for all topics, until the time is up."""
    start = time.perf_counter()
    lines = [
        "| topic | strength | plain L-BFGS | " + " | ".join(f"factor {f}" for f in factors)
        + " | best speed-up | auto (example coordinates) | slides: 10 / 20 / 50 |",
        "|---|---|---|" + "---|" * (len(factors) + 3),
    ]  # fmt: skip
    for strength in strengths:
        for topic, problem in problems.items():
            if time.perf_counter() - start > seconds:
                return lines
            best = problem.best(strength)
            objective = problem.objective(strength)
            plain = reached(run(objective, Lbfgs(), best).history, best)
            hits = [reached(run(objective, Clustered(cluster_factor=f), best).history, best) for f in factors]
            example = reached(run(problem.example_objective(strength), Lbfgs(memory=10), best).history, best)
            quick = min((h[0] for h in hits if h), default=np.inf)
            known = (plain[0] if plain else BUDGET) / quick
            ratio = f"{'' if plain else '> '}{known:.1f}x" if np.isfinite(quick) else "-"
            slides = " / ".join(f"{SLIDES[topic][f]}" for f in (10, 20, 50)) if strength == strengths[0] else ""
            lines.append(
                f"| {TOPICS[topic]} | {strength:g} | {cell(plain)} | " + " | ".join(cell(h) for h in hits)
                + f" | {ratio} | {cell(example)} | {slides} |"
            )  # fmt: skip
            print(lines[-1], flush=True)
    return lines


def sweep_table(problem: Problem, strength: float) -> list[str]:
    best = problem.best(strength)
    objective = problem.objective(strength)
    base = {"cluster_factor": 20, "fine_iterations": 5, "rounds": 3, "coarse_gain": 1e-4, "coarse_memory": 20}
    variants = [{}]
    variants += [{"fine_iterations": n} for n in (1, 10, 20)]
    variants += [{"rounds": n} for n in (1, 2, 4)]
    variants += [{"coarse_iterations": 20}, {"coarse_gain": 1e-2}, {"coarse_gain": 1e-5}, {"coarse_memory": 8}]
    variants += [{"importance": "none"}, {"split_signs": False}]
    lines = ["| changed | seconds (evaluations) |", "|---|---|"]
    for change in variants:
        hit = reached(run(objective, Clustered(**{**base, **change}), best).history, best)
        named = ", ".join(f"{k} = {v}" for k, v in change.items()) or "nothing: " + str(base)
        lines.append(f"| {named} | {cell(hit)} |")
        print(lines[-1], flush=True)
    return lines


# ---- figures --------------------------------------------------------------------------------------------------------
def objective_and_f1(problem: Problem, strength: float, title: str, path: Path) -> None:
    best = problem.best(strength)
    figure, ((left, right),) = canvas(1, 2, (5, 4))
    contenders = {"plain L-BFGS": Lbfgs(), "clustered 20": Clustered(20), "clustered 50": Clustered(50)}
    for name, solver in contenders.items():
        scores: list[float] = []
        result = run(
            problem.objective(strength),
            solver,
            best,
            GAP,
            lambda s, out=scores: out.append(problem.test_f1(s.best()[0])),
        )
        seconds = np.array(result.history.time)
        left.loglog(
            np.maximum(seconds, 1e-2), np.maximum(np.array(result.history.objective) / best - 1, 1e-7), label=name
        )
        right.semilogx(np.maximum(seconds[1 : len(scores) + 1], 1e-2), scores, label=name)
    left.set(xlabel="seconds", ylabel="relative gap to the optimum", title=f"{title}, strength {strength:g}: objective")
    right.set(xlabel="seconds", ylabel="test F1", title="test F1")
    left.legend()
    save_figure(figure, path)


def trajectories(problem: Problem, strength: float, path: Path) -> None:
    best = problem.best(strength)
    final = run(problem.objective(strength), Lbfgs(), best).weights[:-1]
    order = np.argsort(final)
    chosen = order[np.linspace(0, order.size - 1, 2000).astype(int)]
    chosen = chosen[np.argsort(-np.abs(final[chosen]))][:60]
    seen: list[np.ndarray] = []
    run(problem.objective(strength), Lbfgs(), best, 1e-3, lambda s: seen.append(s.weights[chosen].copy()))
    figure, ((axes,),) = canvas(size=(7, 4))
    axes.plot(np.arange(1, len(seen) + 1), np.array(seen), linewidth=0.6)
    axes.set(
        xscale="log",
        xlabel="L-BFGS iteration",
        ylabel="weight",
        title='Trajectories: a "big bang", then slow evolution',
    )
    save_figure(figure, path)


def optimisers(train, test, train_topics, test_topics, strength: float, path: Path) -> list[str]:
    """Compare iterative scaling, conjugate gradient, L-BFGS and Newton on frequent features (their first plot)."""
    from scipy.optimize import minimize

    frequent = np.flatnonzero(np.bincount(train.indices, minlength=train.n_columns) >= 20)
    rows = train.take_columns(pool(), frequent)
    loss = MultinomialLoss(reuters.problem(rows, train_topics, "wheat"))
    objective = Objective(loss, penalties.make("l2", strength, n_free=1))
    best = minimise(objective, solvers.Newton(forcing=1e-3), violation_tolerance=1e-10).value
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for name, solver in {"L-BFGS": Lbfgs(), "Newton": solvers.Newton()}.items():
        history = run(objective, solver, best, 1e-8).history
        curves[name] = (history.time, history.objective)

    gradient, times, values = np.empty(loss.n_weights), [], []
    start = time.perf_counter()

    def value_and_gradient(w):
        value = objective.value_and_gradient(w, gradient)
        times.append(time.perf_counter() - start)
        values.append(value)
        if times[-1] > 20:
            raise TimeoutError
        return value, gradient.copy()

    with contextlib.suppress(TimeoutError):
        limits = {"maxiter": 5000, "gtol": 1e-7}
        minimize(value_and_gradient, np.zeros(loss.n_weights), jac=True, method="CG", options=limits)
    curves["conjugate gradient"] = (list(times), list(np.minimum.accumulate(values)))
    curves["iterative scaling"] = iterative_scaling(objective, rows, strength, seconds=20.0)
    figure, ((axes,),) = canvas(size=(7, 4))
    lines = ["| optimiser | seconds to 1e-2 | 1e-4 | 1e-6 |", "|---|---|---|---|"]
    for name, (seconds, objectives) in curves.items():
        gap = np.array(objectives) / best - 1
        axes.loglog(np.maximum(seconds, 1e-3), np.maximum(gap, 1e-9), label=name)
        cells = [
            f"{seconds[int(np.argmax(gap < g))]:.2f}" if gap.min() < g else "not in 20 s" for g in (1e-2, 1e-4, 1e-6)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    axes.set(
        xlabel="seconds",
        ylabel="relative gap",
        title=f"Wheat, {rows.n_columns} frequent features, strength {strength:g}",
    )
    axes.legend()
    save_figure(figure, path)
    return lines


def iterative_scaling(objective: Objective, rows, strength: float, seconds: float) -> tuple[list[float], list[float]]:
    """Run penalised GIS: solve  observed = expected exp(C d) + strength (w + d)  per feature, C the largest row sum."""
    loss = objective.loss
    C = float(np.max(np.add.reduceat(rows.values, rows.indptr[:-1]))) + 1.0  # + 1: the intercept
    observed = np.empty(loss.n_weights)
    rows.gradient(pool(), loss.data.labels.astype(float), 1, observed[:-1])
    observed[-1] = loss.data.labels.sum()
    penalty = np.append(np.full(rows.n_columns, strength), 0.0)
    w, gradient = np.zeros(loss.n_weights), np.empty(loss.n_weights)
    times, values, start = [], [], time.perf_counter()
    while time.perf_counter() - start < seconds:
        values.append(objective.value_and_gradient(w, gradient))
        times.append(time.perf_counter() - start)
        expected = np.maximum(gradient - penalty * w + observed, 1e-300)
        d = np.zeros_like(w)
        for _ in range(4):  # Newton on each one-dimensional equation
            growth = expected * np.exp(np.clip(C * d, -50, 50))
            d -= (growth + penalty * (w + d) - observed) / (C * growth + penalty + 1e-300)
            d = np.clip(d, -2.0 / C, 2.0 / C)
        w += d
    return times, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one topic, one strength")
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="time for the first table; strengths that do not fit are left out"
    )
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    train, test, train_topics, test_topics = reuters.load()
    print(f"{train.n_rows} documents, {train.n_columns} features, {train.n_nonzeros} non-zeros", flush=True)
    topics = ["wheat"] if options.quick else list(TOPICS)
    problems = {t: Problem(train, test, train_topics, test_topics, t) for t in topics}
    strengths = (0.1,) if options.quick else (1.0, 0.01, 0.1, 0.001)
    factors = (20,) if options.quick else (10, 20, 50)  # "auto" is 20 at this size
    wheat = problems["wheat"]
    figures = options.output
    sections = {
        "optimisers": optimisers(train, test, train_topics, test_topics, 1.0, figures / "clustered_optimisers.png")
    }
    if not options.quick:
        sections["sweep"] = sweep_table(wheat, 1.0)
        objective_and_f1(wheat, 1.0, "Wheat", figures / "clustered_wheat.png")
        trajectories(wheat, 1.0, figures / "clustered_trajectories.png")
    sections["times"] = factor_table(problems, strengths, factors, 60 * options.minutes)
    sizes = f"{train.n_rows} training documents, {train.n_columns} features, {train.n_nonzeros} non-zeros"
    body = "\n\n".join(f"<!-- {name} -->\n" + "\n".join(lines) for name, lines in sections.items())
    out = options.output / "clustered_newton_tables.md"
    command = "python -m experiments.clustered_newton" + " --quick" * options.quick
    about = origin_line(origin(command, seconds=time.perf_counter() - start))
    out.write_text(f"{about} {sizes}.\n\n{body}\n", encoding="utf-8")
    print(f"written: {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
