"""Runs of all benchmarks, kept as JSON lines, and what stepped back since the run before on the same machine.

A line is a run: {"date", "machine", "commit", "quick", "failed", "results": {benchmark: [job, ...]}}. Runs are compared
where machine (processor, threads, instructions, Python) and size are the same: by their ratios to the peer, measured in
the same run, or, where there is none, by the limit of the machine, or by the figures themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.jobs import Figure, Job

SLACK = 1.15  # times of one program differ by as much from run to run
QUALITY_SLACK = 1.005


@dataclass
class Run:
    """The jobs of one run of all benchmarks; ``failed``: benchmarks that gave none, and why."""

    date: str
    machine: str
    commit: str
    quick: bool
    results: dict[str, list[Job]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Run:
        results = {name: [Job.from_dict(job) for job in jobs] for name, jobs in given["results"].items()}
        return cls(**{**given, "results": results})

    def job(self, benchmark: str, name: str) -> Job | None:
        return next((job for job in self.results.get(benchmark, []) if job.name == name), None)

    def is_like(self, other: Run) -> bool:
        return (self.machine, self.quick) == (other.machine, other.quick)


@dataclass(frozen=True)
class StepBack:
    """A figure of ours that is worse than before."""

    job: str
    contender: str
    what: str
    before: float
    now: float
    when: str  # date and commit of the run before


def read_history(path: Path) -> list[Run]:
    """Return the runs of a file, the oldest first; none if there is no file."""
    if not path.exists():
        return []
    runs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            runs.append(Run.from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            told = f"{path}, line {number}, is not a run ({error!r}); remove it or name another --history"
            raise SystemExit(told) from None
    return runs


def append_run(path: Path, run: Run) -> None:
    """Add a run as one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run), ensure_ascii=False) + "\n")


def before(runs: list[Run], run: Run, benchmark: str, job: Job, contender: str) -> tuple[Run, Job, Figure] | None:
    """Return the figure of the last earlier run like this one that has it, with its job and run."""
    for earlier in reversed(runs):
        old = earlier.job(benchmark, job.name) if earlier.is_like(run) else None
        if old is not None and (figure := old.figure(contender)) is not None:
            return earlier, old, figure
    return None


def measures(job: Job, figure: Figure, old_job: Job, old: Figure) -> Iterator[tuple[str, float, float, float]]:
    """Yield what is compared: (what, before, now, how many times as good now), in that order of trust."""
    ratio, old_ratio = job.ratio(figure), old_job.ratio(old)
    share, old_share = job.of_limit(figure), old_job.of_limit(old)
    if ratio is not None and old_ratio is not None and job.peer == old_job.peer != figure.contender:
        yield f"times as fast as {job.peer}", old_ratio, ratio, ratio / old_ratio
    elif share is not None and old_share is not None:
        yield "of the limit", old_share, share, share / old_share
    else:
        yield job.unit, old.value, figure.value, job.times(figure.value, old.value)
    if figure.megabytes and old.megabytes:
        yield "peak MB", old.megabytes, figure.megabytes, old.megabytes / figure.megabytes


def steps_back(runs: list[Run], run: Run) -> list[StepBack]:
    """Return the figures of ours that became worse than noise explains, and qualities that changed either way."""
    found = []
    for benchmark, jobs in run.results.items():
        for job in jobs:
            for figure in filter(lambda figure: figure.is_ours, job.figures):
                if (past := before(runs, run, benchmark, job, figure.contender)) is None:
                    continue
                when = f"{past[0].date}, {past[0].commit}"
                compared = [m[:3] for m in measures(job, figure, *past[1:]) if m[3] < 1 / SLACK]
                for name, value in figure.quality.items():
                    old = past[2].quality.get(name)
                    if old is not None and not abs(value - old) <= (QUALITY_SLACK - 1) * abs(old):
                        compared.append((name, old, value))
                found += [StepBack(job.name, figure.contender, *told, when) for told in compared]
    return found
