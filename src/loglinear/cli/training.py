"""What commands that train by a solver share: saving the model, and telling how training went."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from loglinear.cli import console
from loglinear.status import Status


def finish(
    model: Any, output: str, checkpoint: str | None, summary: Callable[[], dict[str, Any]],
    show: Callable[[dict[str, Any]], None],
) -> None:
    """Save a trained model, then show its summary; exit with the code of interruption if training was interrupted."""
    from loglinear.optimise.checkpoint import discard

    console.save_model(model, output, checkpoint)
    discard(checkpoint, model.status_)
    show(summary())
    if model.status_ == Status.INTERRUPTED:
        console.note(f"interrupted: the model trained so far ({model.n_iter_} passes) is saved in {output}")
        raise typer.Exit(console.INTERRUPTED)


@contextmanager
def on_cluster(workers: int | None, address: str | None, threads: int | None) -> Iterator[Any]:
    """Give a client of --workers or --cluster, whose processes and connections end with the block.

    threads : of each worker of this machine
    """
    if workers is not None and address is not None:
        raise ValueError("--workers makes a cluster here and --cluster names one: leave one of them out")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers is {workers}; give 1 or more")

    from loglinear.dask import cluster

    with cluster(address, workers, threads) as client:
        yield client


def solver_summary(model: Any, weights: Any) -> dict[str, Any]:
    """Return how training went, for JSON; ``weights`` is the array of all weights."""
    return {
        "penalty": model.penalty,
        "strength": model.strength_,
        "solver": model.solver_,
        "solver_reason": model.solver_reason_,
        "status": model.status_,
        "converged": bool(model.converged_),
        "objective": model.objective_,
        "gap": model.gap_,
        "gap_is_bound": bool(model.gap_is_bound_),
        "passes": model.n_iter_,
        "seconds": model.fit_seconds_,
        "weights": math.prod(weights.shape),
        "nonzero_weights": int((weights != 0).sum()),
    }


def dev_score(model: Any) -> dict[str, float]:
    """Return the score on the dev set, for JSON; nothing if there was none."""
    return {"dev_score": model.validation_score_} if hasattr(model, "validation_score_") else {}


def dev_facts(s: dict[str, Any], name: str = "score on dev") -> list[tuple[str, str]]:
    """Return the same for people."""
    return [(name, f"{s['dev_score']:.4f}")] if "dev_score" in s else []


def solver_facts(s: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the same for people."""
    from loglinear.optimise.stopping import describe

    return [
        ("penalty", f"{s['penalty']}, strength {s['strength']:.6g}{' (tuned)' if 'tuning' in s else ''}"),
        ("solver", f"{s['solver']} ({s['solver_reason']})"),
        ("objective", f"{s['objective']:.8g}"),
        ("training", f"{s['status']}: {describe(s['gap'], s['gap_is_bound'])}"),
        ("passes", f"{s['passes']:,}"),
        ("seconds", f"{s['seconds']:.2f}"),
        ("non-zero weights", f"{s['nonzero_weights']:,} of {s['weights']:,}"),
    ]


def print_tuning(s: dict[str, Any]) -> None:
    """Print what was found at each strength, where the strength was tuned."""
    if "tuning" in s:
        from loglinear.report.tuning import tuning_table

        console.print_table(tuning_table(s["tuning"]))
