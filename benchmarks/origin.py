"""The origin of a result: the commit and the machine, which pages of benchmarks and experiments name."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from pathlib import Path


@cache
def commit() -> str:
    """Return the commit that is checked out."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return git.stdout.strip() or "unknown"


def machine(n_threads: int | None = None) -> str:
    """Return the processor, the number of threads, the instruction set and the version of Python."""
    from loglinear import _core
    from loglinear.threads import pool

    n = pool(n_threads).size
    return f"{_processor()}, {n} thread{'s' * (n > 1)}, {_core.simd_name()}, Python {platform.python_version()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()
