"""Options, raw results in a JSON file, and pages of tables that keep remarks, which all experiments share.

Remarks are written by hand, between ``<!-- remarks NAME -->`` and ``<!-- end -->``; a page that is rebuilt keeps them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.origin import commit, machine
from benchmarks.report import chooser

Json = dict[str, Any]
Section = Callable[[Json, Json, Path], list[str]]  # (the part, all parts, the folder of the page) to lines
_SECTION = re.compile(r"<!-- section ([\w-]+) -->\n(.*?)\n<!-- end of \1 -->", re.DOTALL)
_MARK = re.compile(r"<!-- remarks ([\w-]+) -->\n(.*?)<!-- end -->", re.DOTALL)
_PLACES = {"--json", "--output", "--work", "--peers"}  # options whose values are paths, which pages leave out


def say(*words: object) -> None:
    """Print progress on stderr."""
    print(*words, file=sys.stderr, flush=True)


# ---- the command -----------------------------------------------------------------------------------------------------
def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that experiments share."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}", description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--page", action="store_true", help="rebuild the page from the JSON file, measure nothing")
    parser.add_argument("--quick", action="store_true", help="use little data, to check that everything runs")
    parser.add_argument("--json", type=Path, help=f"raw results (docs/results/{name}.json)")
    parser.add_argument("--fresh", action="store_true", help="forget the results in the JSON file")
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--threads", type=int, help="all by default")
    return parser


def add_parts(parser: argparse.ArgumentParser, parts: Iterable[str]) -> None:
    """Add the option --parts, a list of names separated by commas."""
    known, about = list(parts), "parts to measure, of " + ", ".join(parts)
    parser.add_argument("--parts", type=chooser("parts", known), default=known, help=about)


def command_of(name: str, arguments: list[str]) -> str:
    """Return the command as pages show it, without paths."""
    told = [a for k, a in enumerate(arguments) if a not in _PLACES and (k == 0 or arguments[k - 1] not in _PLACES)]
    return " ".join([f"python -m experiments.{name}", *told])


def run_experiment(
    name: str,
    options: argparse.Namespace,
    arguments: list[str],
    measure: Callable[[argparse.Namespace, Results, str], None],
    write: Callable[[Path, Json], Path],
) -> None:
    """Measure, unless only the page is to be rebuilt, and write the page."""
    results = Results(options.json or options.output / f"{name}.json", options.fresh)
    if not options.page:
        measure(options, results, command_of(name, arguments))
    say(f"written: {write(options.output, results.parts)}")


def measure_parts(parts: Mapping[str, Callable[[Any], None]], chosen: Iterable[str], experiment: Any) -> None:
    """Run the chosen parts of an experiment, one after another."""
    for part in chosen:
        began = time.perf_counter()
        parts[part](experiment)
        say(f"{part}: {time.perf_counter() - began:.0f} s")


# ---- results ---------------------------------------------------------------------------------------------------------
class Results:
    """The measurements, in a JSON file that is rewritten after every run."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        known = {} if fresh or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
        self.runs: Json = known.get("runs", {})
        self.parts: Json = known.get("parts", {})

    def save(self) -> None:
        """Write to another name, then rename: a killed run loses nothing that was saved."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(self.path.name + ".new")
        temporary.write_text(json.dumps({"parts": self.parts, "runs": self.runs}, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.path)

    def keep(
        self, part: str, found: Json, command: str, n_threads: int | None, *, seconds: float | None = None,
        commits: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """Store what a part found, with its origin: command, machine, and the commits of its runs."""
        kept = sorted(set(commits)) or [commit()]
        self.parts[part] = {**found, **origin(command, n_threads, seconds), "commit": ", ".join(kept)}
        self.save()

    def commits_of(self, kinds: Iterable[str]) -> set[str]:
        """Return the commits of the runs whose keys begin with one of these words."""
        return {run["commit"] for key, run in self.runs.items() if key.split("/")[0] in kinds}


def origin(command: str, n_threads: int | None = None, seconds: float | None = None) -> Json:
    """Return the origin of a result: commit, machine, command and, if given, seconds."""
    found: Json = {"commit": commit(), "machine": machine(n_threads), "command": command}
    return found if seconds is None else {**found, "seconds": seconds}


def origin_line(part: Json) -> str:
    """Return the line of a page that says where a part comes from."""
    took = f", {part['seconds']:.0f} s" if "seconds" in part else ""
    return f"Commit {part['commit']}; {part['machine']}; `{part['command']}`{took}."


# ---- pages -----------------------------------------------------------------------------------------------------------
def write_page(
    page: Path,
    introduction: list[str],
    sections: Mapping[str, Section],
    parts: Json,
    *,
    closing: list[str] | None = None,
) -> Path:
    """Write a page: an introduction, a section for every part that was measured, remarks, origins.

    The section of a part that is not in the results, which may have been measured elsewhere, stays as it was.
    """
    page.parent.mkdir(parents=True, exist_ok=True)
    remarks = remarks_of(page)
    before = dict(_SECTION.findall(page.read_text(encoding="utf-8"))) if page.exists() else {}
    lines = [*introduction, "", *remark("summary", remarks)]
    for name, section in sections.items():
        if name in parts:
            body = [*section(parts[name], parts, page.parent), "", *remark(name, remarks), "", origin_line(parts[name])]
        elif name in before:
            body = before[name].splitlines()
        else:
            continue
        lines += ["", f"<!-- section {name} -->", *body, f"<!-- end of {name} -->"]
    page.write_text("\n".join([*lines, *(closing or [])]) + "\n", encoding="utf-8")
    return page


def remarks_of(page: Path) -> dict[str, str]:
    """Return the remarks of a page by name; none if there is no page yet."""
    return dict(_MARK.findall(page.read_text(encoding="utf-8"))) if page.exists() else {}


def remark(name: str, remarks: dict[str, str]) -> list[str]:
    """Return the lines of a remark, or an empty place for one."""
    return [f"<!-- remarks {name} -->", *remarks.get(name, "").splitlines(), "<!-- end -->"]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
