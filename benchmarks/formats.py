"""Formats: how fast text is read from plain, gzip, xz and zstd files, JSON lines and Parquet, per byte of text.

``read_corpus`` reads and numbers the same text from each file; beside it stands the time in which the decompressor, or
pyarrow, alone goes through the file in blocks. The target: no slower than plain text by more than that time. JSON has
no decompressor: Python's json module stands in its place. All times are the best of several runs in one process, and
the formats take turns, so that a busy moment meets all of them.
"""

from __future__ import annotations

import gzip
import json
import lzma
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import Report, parse, run_sections, section_parser, write_page
from loglinear.data.corpus import read_corpus
from loglinear.formats.running_text import iterate_bytes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK = 1 << 22
SLACK = 1.05  # of plain text, for noise


def made_up_text(n_bytes: int) -> bytes:
    """Return sentences of words whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(chr(97 + c) for c in rng.integers(0, 26, rng.integers(1, 11))) for _ in range(50_000)])
    lines, size = [], 0
    while size < n_bytes:
        lines.append(" ".join(words[rng.zipf(1.2, rng.integers(5, 40)) % words.size]))
        size += len(lines[-1]) + 1
    return ("\n".join(lines) + "\n").encode()


def write_files(text: bytes, folder: Path) -> dict[str, Path]:
    """Write the text in every format; JSON and Parquet have a row per line."""
    lines = text.decode().splitlines()
    files = {name: folder / f"text.{suffix}" for name, suffix in {
        "plain": "txt", "gzip": "txt.gz", "xz": "txt.xz", "zstd": "txt.zst", "JSON lines": "jsonl",
        "JSON lines, zstd": "jsonl.zst", "Parquet": "parquet", "Parquet, zstd": "zstd.parquet", "Arrow": "arrow",
    }.items()}  # fmt: skip
    rows = "".join(json.dumps({"id": i, "text": line}) + "\n" for i, line in enumerate(lines)).encode()
    files["plain"].write_bytes(text)
    files["gzip"].write_bytes(gzip.compress(text, 6))
    files["xz"].write_bytes(lzma.compress(text, preset=1))
    files["zstd"].write_bytes(zstd.compress(text))
    files["JSON lines"].write_bytes(rows)
    files["JSON lines, zstd"].write_bytes(zstd.compress(rows))
    table = pa.table({"id": np.arange(len(lines)), "text": lines})
    pq.write_table(table, files["Parquet"], compression="none")
    pq.write_table(table, files["Parquet, zstd"], compression="zstd")
    with pa.ipc.new_file(str(files["Arrow"]), table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 16)
    return files


def alone(name: str, path: Path) -> Callable[[], Any]:
    """Return a function that goes through a file with the decompressor, the parser or pyarrow alone."""
    openers: dict[str, Any] = {"gzip": gzip.open, "xz": lzma.open, "zstd": zstd.open}
    opener = openers.get(name.rpartition(", ")[2], open)

    def blocks() -> None:
        with opener(path, "rb") as file:
            while file.read(BLOCK):
                pass

    def objects() -> None:
        with opener(path, "rb") as file:
            for line in file:
                json.loads(line)["text"]

    def parquet() -> None:
        for _ in pq.ParquetFile(path).iter_batches(1 << 14, columns=["text"], use_threads=False):
            pass

    def arrow() -> None:
        with pa.memory_map(str(path)) as file:
            reader = pa.ipc.open_file(file)
            for i in range(reader.num_record_batches):
                reader.get_batch(i)

    return {"JSON lines": objects, "Parquet": parquet, "Arrow": arrow}.get(name.partition(",")[0], blocks)


def seconds(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def measure(text: bytes, n_runs: int, n_threads: int) -> Report:
    report = Report("Formats of text")
    with tempfile.TemporaryDirectory() as place:
        files = write_files(text, Path(place))
        ways = {
            "read": {n: lambda p=p: read_corpus(p, n_threads=n_threads) for n, p in files.items()},
            "blocks": {n: lambda p=p: sum(map(len, iterate_bytes(p, BLOCK))) for n, p in files.items()},
            "alone": {n: alone(n, p) for n, p in files.items()},
        }
        best = {way: dict.fromkeys(files, float("inf")) for way in ways}
        for _ in range(n_runs):
            for way, functions in ways.items():
                for name, function in functions.items():
                    best[way][name] = min(best[way][name], seconds(function))
        for name, path in files.items():
            read, own = best["read"][name], best["alone"][name]
            report.rows.append({
                "format": name, "MB of file": path.stat().st_size / 1e6,
                "read and numbered, MB/s": len(text) / read / 1e6,
                "decompressor, json or pyarrow alone, s": own,
            })  # fmt: skip
            job = report.job(f"read and number text: {name}", limit=best["blocks"][name])
            job.limit_is = "the same text read, not numbered"
            job.took("loglinear", read)
            if name != "plain":
                report.at_most(f"{name}: seconds", read, SLACK * best["read"]["plain"] + own, "{:.2f}")
    report.remarks.append(
        f"{len(text) / 1e6:.0f} MB of text, {n_threads} threads. Target: {SLACK} x the time of plain text + the time "
        "of the decompressor, of Python's json or of pyarrow alone."
    )
    return report


def run(options: Any) -> Report:
    n_bytes = int(options.megabytes * 1e6)
    text = made_up_text(n_bytes) if options.text is None else b"".join(iterate_bytes(options.text, BLOCK))
    return measure(text[: text.rfind(b"\n", 0, n_bytes) + 1], options.runs, options.threads)


def main(arguments: list[str]) -> None:
    sections = {"formats": run}
    parser = section_parser("formats", __doc__, sections)
    parser.add_argument("--text", type=Path, help="plain or gzip file of text; made-up text if none is given")
    parser.add_argument("--megabytes", type=float, default=200, help="text to read")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--threads", type=int, default=2)
    options = parse(parser, arguments, megabytes=20, runs=2)
    write_page(options, "formats", "Formats of text", run_sections(sections, options, options))
