"""What the experiments share: raw results in a JSON file, and pages of tables that keep remarks written by hand."""

from __future__ import annotations

import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

from loglinear import _core
from loglinear.threads import pool

Json = dict[str, Any]
_MARK = re.compile(r"<!-- remarks ([\w-]+) -->\n(.*?)<!-- end -->", re.DOTALL)


def say(*words: object) -> None:
    """To the terminal, not into the results."""
    print(*words, file=sys.stderr, flush=True)


class Results:
    """What was measured, in a JSON file that is rewritten after every run."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        known = {} if fresh or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
        self.runs: Json = known.get("runs", {})
        self.parts: Json = known.get("parts", {})

    def save(self) -> None:
        """Under another name first: a run that is killed loses nothing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(self.path.name + ".new")
        temporary.write_text(json.dumps({"parts": self.parts, "runs": self.runs}, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.path)

    def keep(self, part: str, found: Json, command: str, seconds: float, n_threads: int | None) -> None:
        """Store what a part found, with its origin: the commits of the runs that ``found["of"]`` names, the machine."""
        n = pool(n_threads).size
        machine = f"{platform.machine()}, {_core.simd_name()}, {n} thread{'s' * (n > 1)}"
        commits = sorted({run["commit"] for key, run in self.runs.items() if key.split("/")[0] in found["of"]})
        origin = {"commit": ", ".join(commits), "command": command, "seconds": seconds}
        origin["machine"] = f"{machine}, Python {platform.python_version()}"
        self.parts[part] = {**found, **origin}
        self.save()


def remarks_of(page: Path) -> dict[str, str]:
    """The remarks of a page by name; none where there is no page yet."""
    return dict(_MARK.findall(page.read_text(encoding="utf-8"))) if page.exists() else {}


def remark(name: str, remarks: dict[str, str]) -> list[str]:
    """Lines that hold a remark, or a place for one."""
    return [f"<!-- remarks {name} -->", *remarks.get(name, "").splitlines(), "<!-- end -->"]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table of Markdown."""
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
