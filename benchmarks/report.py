"""Options, sections of tables with targets, and pages, which all benchmarks share."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.jobs import Figure, Job, reason
from benchmarks.origin import commit, machine
from benchmarks.processes import Failed

QUICK = "quick: smaller data, shorter runs"


def about_run(quick: bool = False) -> str:
    """Return the machine and the commit, the first line of every page."""
    return f"{machine()}, commit {commit()}" + f" ({QUICK})" * quick


def data_folder(corpora: str) -> Path:
    """Return the folder that LOGLINEAR_DATA names; exit if it is not set."""
    folder = os.environ.get("LOGLINEAR_DATA")
    if not folder:
        raise SystemExit(f"set LOGLINEAR_DATA to a folder with {corpora}")
    return Path(folder)


@dataclass
class Report:
    """The results of a section: jobs, rows of another table, remarks, and targets (what, target, reached, met)."""

    title: str
    jobs: list[Job] = field(default_factory=list)
    rows: list[dict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    targets: list[tuple[str, str, str, bool]] = field(default_factory=list)

    def job(self, name: str, unit: str = "s", **known: Any) -> Job:
        """Add a job."""
        self.jobs.append(Job(name, unit, **known))
        return self.jobs[-1]

    def at_most(self, what: str, value: float, limit: float, style: str) -> None:
        self.targets.append((what, "at most " + style.format(limit), style.format(value), value <= limit))

    def at_least(self, what: str, value: float, limit: float, style: str) -> None:
        self.targets.append((what, "at least " + style.format(limit), style.format(value), value >= limit))


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        size = abs(value)
        return f"{value:,.0f}" if size >= 1000 else f"{value:.2f}" if size >= 0.01 or size == 0 else f"{value:.1e}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit, seconds in milliseconds or microseconds if they are few."""
    if unit == "s" and 0 < value < 0.1:
        return f"{1e3 * value:.3g} ms" if value >= 1e-4 else f"{1e6 * value:.3g} µs"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def table(rows: list[dict]) -> list[str]:
    if not rows:
        return []
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return lines + ["| " + " | ".join(cell(row.get(c)) for c in columns) + " |" for row in rows]


def job_rows(
    jobs: Iterable[Job], past: Callable[[Job, Figure], Figure | None] = lambda job, figure: None
) -> list[dict]:
    """Return the rows of the table that all jobs share: a row per contender, also of those that are absent.

    ``past`` gives the figure of an earlier run.
    """
    rows = []
    for job in jobs:
        for figure in job.figures:
            ratio, share, old = job.ratio(figure), job.of_limit(figure), past(job, figure)
            rows.append({
                "job": job.name, "contender": figure.contender, "reached": amount(figure.value, job.unit),
                "before": old and amount(old.value, job.unit),
                "times as fast": ratio if figure.contender != job.peer else None,
                "of the limit": None if share is None else f"{share:.0%}",
                "quality": ", ".join(f"{name} {_fine(value)}" for name, value in figure.quality.items()),
                "peak MB": figure.megabytes and round(figure.megabytes),
            })  # fmt: skip
        if job.limit is not None:
            rows.append({"job": job.name, "contender": f"limit: {job.limit_is}",
                         "reached": amount(job.limit, job.unit)})  # fmt: skip
        rows += [{"job": job.name, "contender": name, "reached": why} for name, why in job.absent.items()]
    filled = {key for row in rows for key, value in row.items() if value}
    return [{key: value for key, value in row.items() if key in filled} for row in rows]


def _fine(quality: float) -> str:
    return f"{quality:.4f}" if abs(quality) < 1 else cell(quality)


def markdown(report: Report) -> str:
    heads = ("what", "target", "reached", "met")
    targets = [dict(zip(heads, (*t[:3], "yes" if t[3] else "no"))) for t in report.targets]
    parts = [[f"## {report.title}"], table(job_rows(report.jobs)), table(report.rows)]
    parts += [*([remark] for remark in report.remarks), table(targets)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def chooser(what: str, known: list[str]) -> Callable[[str], list[str]]:
    """Return the type of an option that takes some of the known names, separated by commas."""

    def chosen(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            names = ", ".join(sorted(unknown))
            raise argparse.ArgumentTypeError(f"unknown {what} {names}; known: {', '.join(known)}")
        return text.split(",")

    return chosen


# ---- sections --------------------------------------------------------------------------------------------------------
def section_parser(name: str, description: str | None, sections: Iterable[str]) -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks have."""
    known, about = list(sections), "sections to run, of " + ", ".join(sections)
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}", description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--only", type=chooser("sections", known), default=known, help=about)
    parser.add_argument("--quick", action="store_true", help="smaller data and shorter runs; other options still count")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path, help="also write the page, and its plots beside it, to this file")
    return parser


def parse(parser: argparse.ArgumentParser, arguments: list[str], **quick: Any) -> argparse.Namespace:
    """Return the options; ``quick`` has the defaults of those that are others with --quick."""
    if "--quick" in arguments:
        parser.set_defaults(**quick)
    usual = parser.get_default("only")
    options = parser.parse_args(arguments)
    options.told = "" if options.only == usual else f" --only {','.join(options.only)}"
    return options


def run_sections(
    sections: Mapping[str, Callable[[Any], Report]], options: argparse.Namespace, problem: Any, about: str = ""
) -> dict[str, Report]:
    """Run the chosen sections and print them; a contender that fails ends its own section only."""
    reports = {}
    about = about_run(options.quick) + about
    if not options.json:
        print(about + "\n", flush=True)
    for section in options.only:
        try:
            reports[section] = sections[section](problem)
        except Failed as error:
            reports[section] = Report(section.capitalize(), remarks=[f"Failed: {reason(error)}"])
            print(error, file=sys.stderr)
        if not options.json:
            print(markdown(reports[section]), flush=True)
    if options.json:
        print(json.dumps({"machine": about, "results": {s: asdict(r) for s, r in reports.items()}}))
    return reports


def write_page(
    options: argparse.Namespace, name: str, title: str, reports: Mapping[str, Report], about: str = "",
    plots: Mapping[str, tuple[str, Callable[[Report, Path], None]]] | None = None,
) -> None:  # fmt: skip
    """Write the page to --output, if given: the command, the machine, each section with its plot beside the page."""
    if options.output is None:
        return
    quick = " --quick" * options.quick
    parts = [f"# {title}\n", f"    LOGLINEAR_DATA=... python -m benchmarks {name}{options.told}{quick} --output FILE\n"]
    parts.append(f"{about_run(options.quick)}{about}.\n")
    for section, report in reports.items():
        parts.append(markdown(report))
        if plots and section in plots and report.rows:
            file, plot = plots[section]
            plot(report, options.output.with_name(file))
            parts.append(f"![{report.title}]({file})\n")
    options.output.write_text("\n".join(parts), encoding="utf-8")
