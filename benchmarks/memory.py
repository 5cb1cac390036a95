"""Beyond memory: Kneser-Ney 5-grams under a limit of memory, beside KenLM's lmplz under the same limit.

    LOGLINEAR_DATA=... LMPLZ=.../bin/lmplz python -m benchmarks memory [--memory 1G] [--only gutenberg,large]

``gutenberg``: a text of 50 million words, from plain text to a model, both programs as processes of their own. Peak
memory is that of resident pages (ru_maxrss), mapped pages of files included. Temporary disk is the most that files
without a name, which both programs use, took at any tenth of a second. lmplz writes an ARPA file; ours a model file,
which holds more (where every n-gram leads) and is what queries use; the time to write an ARPA file of it too stands
beside, without a limit.

``maxent``: maximum-entropy 5-grams of the same text (``--maxent-words`` of it) under ``--maxent-memory``, beside the
same training in memory.

``large``: a text of ``--words`` words that two processes sample from the first model (``lm generate``), counted and
estimated under ``--large-memory``.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import Run, run
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page
from loglinear.data.memory import parse_memory

ORDER = 5
LIMIT = 7200.0  # seconds for one process
LOGLINEAR = str(Path(sysconfig.get_path("scripts"), "loglinear"))
BATCH = 1_000_000  # sentences of one call of lm generate
NO_LMPLZ = "it was not found (LMPLZ names it, or PATH)"
PEER = "KenLM's lmplz, to ARPA"


@dataclass(frozen=True)
class Measured(Run):
    disk: float = 0.0  # megabytes of temporary files, at the most


def measured(command: Sequence[str | Path], text: Path | None = None, out: Path | None = None) -> Measured:
    """Run a command, and look at the sizes of its unnamed files every tenth of a second."""
    most, stop = [0.0], threading.Event()

    def look() -> None:
        while not stop.wait(0.1):
            most[0] = max(most[0], sum(map(_temporary_bytes, _children())) / 1e6)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        done = run(command, LIMIT, text=text, out=out)
    finally:
        stop.set()
        watcher.join()
    return Measured(**asdict(done), disk=most[0])


def _children() -> list[str]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    return listed.read_text(encoding="utf-8").split() if listed.exists() else []


def _temporary_bytes(pid: str) -> int:
    """Return the disk that open files without a name take; those in memory (memfd, /dev) do not count."""
    total = 0
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            name = str(entry.readlink())
            if name.endswith("(deleted)") and not name.startswith(("/memfd", "/dev/")):
                total += entry.stat().st_blocks * 512
    except OSError:  # it has ended
        pass
    return total


def gutenberg(options: Any, folder: Path) -> Report:
    """Compare both programs on 50 million words."""
    memory = options.memory
    what = f"Kneser-Ney 5-grams of {options.gutenberg_words / 1e6:.0f} million words under {memory}"
    report = Report(what)
    job = report.job(what, peer=PEER)
    text, model, tmp = _text(folder, options.gutenberg_words), folder / "gutenberg.ll", folder / "tmp"
    empty = measured([sys.executable, "-c", "from loglinear import LanguageModel"])
    ours = train(text, model, memory, tmp)
    found = json.loads(ours.output)
    job.took("loglinear", ours.seconds, ours.megabytes)
    report.rows.append(_row("ours, to a model file", ours, model))
    arpa = folder / "gutenberg.arpa"
    exported = measured([LOGLINEAR, "lm", "export", model, arpa])
    report.rows.append(_row("ours, from there to ARPA", exported, arpa))
    arpa.unlink()
    lmplz = os.environ.get("LMPLZ") or shutil.which("lmplz")
    if lmplz is None:
        job.misses(PEER, NO_LMPLZ)
    else:
        command = [lmplz, "-o", str(ORDER), "-S", memory, "-T", f"{tmp}/", "--discount_fallback"]
        peer = measured(command, text=text, out=arpa)
        job.took(PEER, peer.seconds, peer.megabytes)
        report.rows.append(_row(PEER, peer, arpa))
        arpa.unlink()
        report.at_most("time against lmplz's", ours.seconds / peer.seconds, 1.0, "{:.2f} x")
        report.at_most("temporary disk against lmplz's", ours.disk / peer.disk, 1.0, "{:.2f} x")
    limit = 1.1 * parse_memory(memory) / 1e6 + empty.megabytes
    report.at_most("peak memory: 1.1 x the limit and the interpreter", ours.megabytes, limit, "{:.0f} MB")
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found["stage_seconds"].items())
    report.remarks.append(
        f"{found['tokens']:,} tokens, {sum(found['ngrams']):,} n-grams; {stages}; the rest is starting and saving. "
        f"Python with its imports holds {empty.megabytes:.0f} MB."
    )
    return report


def train(text: Path, model: Path, memory: str, tmp: Path) -> Measured:
    """Train a Kneser-Ney model under a limit of memory."""
    options = ["--estimator", "kneser-ney", "--order", str(ORDER), "--memory", memory, "--tmp", tmp, "--json"]
    return measured([LOGLINEAR, "lm", "train", text, "-o", model, *options])


def maxent(options: Any, folder: Path) -> Report:
    """Compare maximum entropy under a limit and in memory."""
    memory, tmp = options.maxent_memory, folder / "tmp"
    what = f"Maximum-entropy 5-grams of {options.maxent_words / 1e6:.0f} million words"
    report = Report(f"{what} under {memory}")
    job, text = report.job(what, peer="loglinear in memory"), _text(folder, options.maxent_words)
    empty = measured([sys.executable, "-c", "from loglinear import LanguageModel"])
    found, done = [], []
    for name, options in (("in memory", []), (f"under {memory}", ["--memory", memory, "--tmp", tmp])):
        model = folder / f"maxent{len(done)}.ll"
        done.append(measured([LOGLINEAR, "lm", "train", text, "-o", model, "--order", str(ORDER), "--json", *options]))
        found.append(json.loads(done[-1].output))
        job.took(f"loglinear {name}", done[-1].seconds, done[-1].megabytes)
        report.rows.append(_row(name, done[-1], model))
        model.unlink()
    report.at_most("time against that in memory", done[1].seconds / done[0].seconds, 2.5, "{:.2f} x")
    apart = abs(found[0]["objective"] / found[1]["objective"] - 1)
    report.at_most("objectives", apart, 1e-9, "{:.1e} apart")
    limit = 1.1 * parse_memory(memory) / 1e6 + empty.megabytes
    report.at_most("peak memory: 1.1 x the limit and the interpreter", done[1].megabytes, limit, "{:.0f} MB")
    report.remarks.append(f"{found[0]['tokens']:,} tokens; {found[0]['stage_seconds']}, {found[1]['stage_seconds']}")
    return report


def large(options: Any, folder: Path) -> Report:
    """Count a text that the model of the first section generates."""
    memory, n_words, tmp, model = options.large_memory, options.words, folder / "tmp", folder / "gutenberg.ll"
    what = f"Kneser-Ney 5-grams of {n_words / 1e6:,.0f} million generated words under {memory}"
    report = Report(what)
    if not model.exists():
        train(_text(folder, options.gutenberg_words), model, "4G", tmp)
    began = time.perf_counter()
    text = _generated(model, folder, n_words)
    seconds = time.perf_counter() - began
    done = train(text, folder / "large.ll", memory, tmp)
    found = json.loads(done.output)
    n_ngrams = sum(found["ngrams"])
    report.job(what).took("loglinear", done.seconds, done.megabytes)
    report.rows.append({
        **_row(f"{found['tokens']:,} tokens", done, folder / "large.ll"), "tokens/s": found["tokens"] / done.seconds,
        "n-grams": n_ngrams, "disk bytes/n-gram": 1e6 * done.disk / n_ngrams,
        "file bytes/n-gram": (folder / "large.ll").stat().st_size / n_ngrams,
    })  # fmt: skip
    report.at_most("peak memory: 1.1 x the limit", done.megabytes, 1.1 * parse_memory(memory) / 1e6, "{:.0f} MB")
    report.remarks.append(f"Generating the text took {seconds:.0f} s on two processes.")
    return report


def _row(name: str, done: Measured, result: Path) -> dict:
    size = result.stat().st_size / 1e6
    return {"": name, "seconds": done.seconds, "peak MB": done.megabytes, "temporary MB": done.disk, "result MB": size}


def _text(folder: Path, n_words: int) -> Path:
    """Return a text of the first so many words, to the end of their line; by line, since peaks are inherited."""
    path = folder / f"gutenberg{n_words}.txt"
    if not path.exists():
        source = data_folder("gutenberg/gutenberg50m.txt.xz") / "gutenberg" / "gutenberg50m.txt.xz"
        with lzma.open(source) as lines, path.with_suffix(".part").open("wb") as out:
            for line in lines:
                out.write(line)
                n_words -= len(line.split())
                if n_words <= 0:
                    break
        path.with_suffix(".part").replace(path)
    return path


def _generated(model: Path, folder: Path, n_words: int) -> Path:
    """Return a text of at least so many words; two processes draw batches of sentences in turn."""
    path = folder / f"generated{n_words}.txt"
    if path.exists():
        return path
    n_found, seed = 0, 0
    with path.with_suffix(".part").open("wb") as out:
        while n_found < n_words:
            parts = [folder / f"part{i}" for i in range(2)]
            running = []
            for part in parts:
                command = [LOGLINEAR, "lm", "generate", model, "-n", str(BATCH), "--seed", str(seed), "--no-unknown"]
                seed += 1
                with part.open("wb") as file:
                    running.append(subprocess.Popen([*map(str, command), "--threads", "1"], stdout=file))
            if any(process.wait() for process in running):
                raise SystemExit("lm generate failed")
            for part in parts:
                data = part.read_bytes()
                n_found += data.count(b" ") + data.count(b"\n")
                out.write(data)
                part.unlink()
            print(f"{n_found:,} words generated", file=sys.stderr, flush=True)
    path.with_suffix(".part").replace(path)
    return path


SECTIONS: dict[str, Callable[[Any, Path], Report]] = {f.__name__: f for f in (gutenberg, maxent, large)}


def main(arguments: list[str]) -> None:
    parser = section_parser("memory", __doc__, SECTIONS)
    parser.set_defaults(only=["gutenberg"])
    parser.add_argument("--memory", default="1G", help="limit of both programs")
    parser.add_argument("--gutenberg-words", type=int, default=50_000_000, help="of the text for both programs")
    parser.add_argument("--large-memory", default="6G", help="limit for the generated text")
    parser.add_argument("--maxent-memory", default="2G", help="limit for maximum entropy")
    parser.add_argument("--maxent-words", type=int, default=50_000_000, help="of the text for maximum entropy")
    parser.add_argument("--words", type=int, default=500_000_000, help="of the generated text")
    parser.add_argument("--folder", type=Path, help="for texts, models and temporary files; kept")
    options = parse(parser, arguments, gutenberg_words=3_000_000, memory="256M")
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place)
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        sections = {name: partial(section, options) for name, section in SECTIONS.items()}
        reports = run_sections(sections, options, folder)
    write_page(options, "memory", "Beyond memory", reports)
