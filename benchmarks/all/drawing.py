"""The joint page: every job of every benchmark as ratios, with its limit, the figures before, and all runs."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.all.history import SLACK, Run, before, steps_back
from benchmarks.jobs import Figure, Job
from benchmarks.report import QUICK, job_rows, table
from loglinear.display.bars import Bars
from loglinear.display.charts import Curve, Plot
from loglinear.display.page import Section
from loglinear.display.tables import Table


def about(run: Run) -> str:
    size = f" {QUICK.capitalize()}: not the figures that other pages of results have." if run.quick else ""
    return f"{run.machine}, commit {run.commit}, {run.date}.{size}"


def sections(runs: list[Run], run: Run) -> list[Section]:
    """Return the sections of the page; ``runs`` are earlier ones."""
    told, steps = back(runs, run)
    first = Section("", [
        about(run), "Every job is one that all contenders do in one run. Bars say how many times as fast as the peer a "
        "contender is, on a logarithmic scale; those to the left of the start are slower. A limit is what no program "
        "could pass on this machine, such as the bytes that must be moved at the rate of a copy.", *missing(run),
    ])  # fmt: skip
    drawn = [_section(name, jobs, runs, run) for name, jobs in run.results.items() if jobs]
    stepped = Section("Steps back", [told], tables=[_table(steps)] if steps else [])
    return [first, stepped, _overview(run), *drawn, *_past(runs, run)]


def markdown(runs: list[Run], run: Run, command: str) -> str:
    """Return the figures of the page for docs/results."""
    told, steps = back(runs, run)
    parts = ["# All benchmarks in one run", f"    {command}", about(run), *missing(run), "## Steps back", told]
    parts += ["\n".join(table(steps))] * bool(steps)
    for name, jobs in run.results.items():
        parts += [f"## {name}", "\n".join(table(rows(jobs, name, runs, run)))] if jobs else []
    return "\n\n".join(parts) + "\n"


def missing(run: Run) -> list[str]:
    """Return what is not on the page: benchmarks that failed, contenders that are absent."""
    told = [f"No figures of {name}: {why}" for name, why in run.failed.items()]
    reasons: dict[str, list[str]] = {}
    for jobs in run.results.values():
        for job in jobs:
            for contender, why in job.absent.items():
                reasons.setdefault(f"{contender}: {why}", []).append(job.name)
    return told + [f"Without a figure: {what} (in {', '.join(names)})." for what, names in reasons.items()]


def back(runs: list[Run], run: Run) -> tuple[str, list[dict]]:
    """Return what is said of steps back, and their rows."""
    alike = [earlier for earlier in runs if earlier.is_like(run)]
    if not alike:
        return "There is no earlier run of this size on this machine to compare with.", []
    told = f"Compared with the last of {len(alike)} earlier runs that has the job; {SLACK - 1:.0%} is taken for noise."
    found = [asdict(step) for step in steps_back(runs, run)]
    return told + " Nothing became slower or larger, and no quality changed." * (not found), found


def _overview(run: Run) -> Section:
    """Draw our best contender of each job that has a peer."""
    drawn = []
    for jobs in run.results.values():
        for job in jobs:
            ratios = [ratio for f in job.figures if f.is_ours and f.contender != job.peer and (ratio := job.ratio(f))]
            if ratios and not (job.peer or "").startswith("loglinear"):
                drawn.append((f"{job.name}, against {job.peer}{_limit(job)}", max(ratios)))
    drawn.sort(key=lambda row: -row[1])
    title = "times as fast, our best contender of each"
    return Section("All jobs with a peer", bars=[Bars(title, drawn, is_ratio=True)])


def _limit(job: Job) -> str:
    """Return how many times as fast as the peer the limit is, in brackets; nothing where it is not known."""
    peer = job.figure(job.peer)
    return "" if peer is None or job.limit is None else f" (limit {job.times(job.limit, peer.value):.3g}×)"


def _bars(job: Job) -> Bars | None:
    """Draw contenders and the limit: as ratios to the peer, or to the limit where there is no peer."""
    if job.figure(job.peer) is not None:
        ratios = [(figure.contender, job.ratio(figure) or 1.0) for figure in job.figures]
        if job.limit is not None:
            peer = job.figure(job.peer)
            assert peer is not None
            ratios.append((f"limit: {job.limit_is}", job.times(job.limit, peer.value)))
        return Bars(job.name, ratios, is_ratio=True)
    shares = [(figure.contender, share) for figure in job.figures if (share := job.of_limit(figure)) is not None]
    if not shares:
        return None
    return Bars(job.name, [*shares, (f"limit: {job.limit_is}", 1.0)], note="Share of the limit; there is no peer here.")


def rows(jobs: list[Job], benchmark: str, runs: list[Run], run: Run) -> list[dict]:
    """Return the rows of jobs with the figures of the run before."""

    def past(job: Job, figure: Figure) -> Figure | None:
        found = before(runs, run, benchmark, job, figure.contender)
        return found and found[2]

    return job_rows(jobs, past)


def _table(rows: list[dict], title: str = "") -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return Table(columns, [[row.get(column) for column in columns] for row in rows], title)


def _section(name: str, jobs: list[Job], runs: list[Run], run: Run) -> Section:
    bars = [drawn for job in jobs if (drawn := _bars(job)) is not None]
    told, last = rows(jobs, name, runs, run), None
    for row in told:  # a job's name stands once
        row["job"], last = None if row["job"] == last else row["job"], row["job"]
    return Section(name, bars=bars, tables=[_table(told)])


def _past(runs: list[Run], run: Run) -> list[Section]:
    """Draw the ratios to the peer over all runs of this size on this machine, a plot per benchmark."""
    alike = [*(earlier for earlier in runs if earlier.is_like(run)), run]
    if len(alike) < 2:
        return []
    plots = []
    for benchmark, jobs in run.results.items():
        curves = []
        for job in jobs:
            for figure in job.figures:
                if not figure.is_ours or figure.contender == job.peer:
                    continue
                points = []
                for x, one in enumerate(alike, 1):
                    old = one.job(benchmark, job.name)
                    now = None if old is None else old.figure(figure.contender)
                    ratio = None if old is None or now is None else old.ratio(now) or old.of_limit(now)
                    points += [] if ratio is None else [(x, ratio)]
                if len(points) > 1:
                    curves.append(Curve(f"{job.name}, {figure.contender}", *map(list, zip(*points))))
        if curves:
            plots.append(Plot(f"{benchmark}: times as fast as the peer, or share of the limit", curves, "run",
                              "ratio", log_y=True))  # fmt: skip
    listed = [(x, one.date, one.commit) for x, one in enumerate(alike, 1)]
    return [Section("Runs", tables=[Table(("run", "date", "commit"), listed)], plots=plots)]
