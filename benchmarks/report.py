"""Options, sections of tables with targets, and pages, which all benchmarks share."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.origin import commit, machine
from benchmarks.processes import Failed


def about_run() -> str:
    """Return the machine and the commit, the first line of every page."""
    return f"{machine()}, commit {commit()}"


def data_folder(corpora: str) -> Path:
    """Return the folder that LOGLINEAR_DATA names; exit if it is not set."""
    folder = os.environ.get("LOGLINEAR_DATA")
    if not folder:
        raise SystemExit(f"set LOGLINEAR_DATA to a folder with {corpora}")
    return Path(folder)


@dataclass
class Report:
    """The results of a section: rows of a table, remarks, and targets (what, target, reached, met)."""

    title: str
    rows: list[dict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    targets: list[tuple[str, str, str, bool]] = field(default_factory=list)

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


def table(rows: list[dict]) -> list[str]:
    if not rows:
        return []
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return lines + ["| " + " | ".join(cell(row.get(c)) for c in columns) + " |" for row in rows]


def markdown(report: Report) -> str:
    heads = ("what", "target", "reached", "met")
    targets = [dict(zip(heads, (*t[:3], "yes" if t[3] else "no"))) for t in report.targets]
    parts = [[f"## {report.title}"], table(report.rows), *([remark] for remark in report.remarks), table(targets)]
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
    """Return a parser with the options of a benchmark that has sections."""
    known, about = list(sections), "sections to run, of " + ", ".join(sections)
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}", description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--only", type=chooser("sections", known), default=known, help=about)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=Path, help="also write the page, and its plots beside it, to this file")
    return parser


def run_sections(
    sections: Mapping[str, Callable[[Any], Report]], options: argparse.Namespace, problem: Any, about: str
) -> dict[str, Report]:
    """Run the chosen sections and print them; a contender that fails ends its own section only."""
    reports = {}
    if not options.json:
        print(about + "\n", flush=True)
    for section in options.only:
        try:
            reports[section] = sections[section](problem)
        except Failed as error:
            reports[section] = Report(section.capitalize(), remarks=[f"Failed: {error}"])
        if not options.json:
            print(markdown(reports[section]), flush=True)
    if options.json:
        print(json.dumps({"machine": about, "results": {s: asdict(r) for s, r in reports.items()}}))
    return reports


def command_of(name: str, options: argparse.Namespace, sections: Iterable[str]) -> str:
    """Return the command as pages show it."""
    told = "" if options.only == list(sections) else f" --only {','.join(options.only)}"
    return f"python -m benchmarks {name}{told} --output FILE"
