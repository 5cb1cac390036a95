"""Ways to run a command: in this process, or the installed one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from loglinear.cli.app import app

COMMAND = str(Path(sysconfig.get_path("scripts"), "loglinear"))


def invoke(*args: object, stdin: str | bytes | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(a) for a in args], input=stdin)


HEAVY = {"backports", "fsspec", "matplotlib", "pyarrow", "rich", "scipy", "sklearn"}


def heavy_imports(*args: object) -> list[str]:
    """Run a command in a process of its own and return the heavy packages that it imported."""
    code = (
        "import sys, atexit, loglinear.cli\n"
        f"atexit.register(lambda: print(*({HEAVY} & sys.modules.keys()), file=sys.stderr))\n"
        "loglinear.cli.main()"
    )
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return sorted(done.stderr.split())


def run(*args: object, stdin: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    done = subprocess.run(
        [COMMAND, *map(str, args)],
        input=stdin,
        capture_output=True,
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def figures(done: Result) -> dict[str, Any]:
    """Return the JSON that a command printed."""
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def refusal(done: Result | subprocess.CompletedProcess[str]) -> str:
    """Return the one line of an error; only warnings may stand before it, and nothing on stdout."""
    assert (done.exit_code if isinstance(done, Result) else done.returncode) == 2, done.stderr
    assert done.stdout == ""
    *warnings, error = done.stderr.strip().splitlines()
    assert error.startswith("error: "), done.stderr
    assert all(line.startswith("warning: ") for line in warnings), done.stderr
    return error
