"""Run a command as a process of its own and measure its time and peak memory.

The kernel reports the peak (ru_maxrss of wait4). A process inherits the peak of the one that started it, so the
measuring process must stay small.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class Failed(Exception):
    """The command failed or was stopped; the message ends with what it wrote to stderr."""


@dataclass(frozen=True)
class Run:
    seconds: float
    megabytes: float
    output: str  # what it printed; empty if that went to a file
    cpu_seconds: float = 0.0  # of all its threads


def megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def run(command: Sequence[str | Path], limit: float, *, text: Path | None = None, out: Path | None = None) -> Run:
    """Run the command with stdin from ``text`` and stdout to ``out``, if given; kill it after ``limit`` seconds."""
    with (
        (text or Path(os.devnull)).open("rb") as stdin,
        out.open("wb") if out else tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        start = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdin=stdin, stdout=stdout, stderr=stderr)
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # Ctrl-C: leave no process behind
            process.kill()
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            stderr.seek(0)
            told = stderr.read().decode(errors="replace").strip()[-2000:]
            stopped = f" (stopped after {limit:.0f} s)" if seconds >= limit else ""
            raise Failed(f"{Path(command[0]).name} ended with {process.returncode}{stopped}: {told}")
        output = ""
        if out is None:
            stdout.seek(0)
            output = stdout.read().decode()
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, usage.ru_maxrss * unit / 1e6, output, usage.ru_utime + usage.ru_stime)
