"""Peers, run as their users run them: seconds, and the class of each word."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from loglinear.formats.class_file import read_classes
from loglinear.formats.text import read_bytes


def _timed(command: list[object]) -> float:
    began = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return time.perf_counter() - began


def _plain(text: Path, folder: Path) -> Path:
    (folder / "text").write_bytes(read_bytes(text))
    return folder / "text"


def brown_tool(peers: Path, text: Path, folder: Path, k: int, threads: int) -> tuple[float, dict[str, str]]:
    """Run percyliang/brown-cluster."""
    tool = peers / "brown-cluster" / "wcluster"
    plain, out = _plain(text, folder), folder / "out"
    seconds = _timed([tool, "--text", plain, "--c", k, "--threads", threads, "--output_dir", out])
    return seconds, read_classes(out / "paths")


def clustercat(peers: Path, text: Path, folder: Path, k: int, threads: int) -> tuple[float, dict[str, str]]:
    """Run jonsafari/clustercat, with rare words as well."""
    tool = peers / "clustercat" / "bin" / "clustercat"
    plain, out = _plain(text, folder), folder / "out"
    seconds = _timed([tool, "-n", k, "-j", threads, "--min-count", 1, "--in", plain, "--out", out])
    return seconds, read_classes(out)
