"""Texts and models of the language-model benchmarks, in one folder, and the programs that make and query them.

Texts and models are made once. Contenders run one after another, each in a process of its own.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import Failed, Run, run

ORDER = 5
LIMIT = 600.0  # seconds for one contender
QUICK_COPIES = 5  # of a text that the command line scores
FILES = {
    "ptb": "ptb/ptb.{part}.txt.gz",
    "brown": "brown/lm/{part}.txt.gz",
    "gutenberg": "gutenberg/gutenberg13m.txt.gz",
}
UNKNOWN, RENAMED = b"<unk>", b"UNK_"  # lmplz refuses the first in a text


@dataclass(frozen=True)
class Done:
    """The figures that a role returned, and the time and memory of its process."""

    found: dict[str, Any]
    run: Run


@dataclass(frozen=True)
class Made(Done):
    path: Path


class Workspace:
    """Texts and models of a folder; ``lmplz``, ``query`` and ``build_binary`` are None where they are not found.

    ``words``: of Gutenberg, for a quick run; None: all.
    """

    def __init__(self, data: Path, folder: Path, limit: float = LIMIT, words: int | None = None) -> None:
        self.data, self.folder, self.limit, self.words = data, folder, limit, words
        folder.mkdir(parents=True, exist_ok=True)
        self.lmplz = _program("LMPLZ", None)
        self.query = _program("QUERY", self.lmplz)
        self.build_binary = _program("BUILD_BINARY", self.lmplz)
        self._kenlm_built: dict[str, Run] = {}

    @property
    def quick(self) -> bool:
        return self.words is not None

    def programs(self) -> str:
        found = [name for name in ("lmplz", "query", "build_binary") if getattr(self, name) is not None]
        return ", ".join(found) or "none"

    # ---- texts ------------------------------------------------------------------------------------------------------
    def text(self, problem: str, part: str) -> Path:
        """Return a plain text: train, valid or test."""
        path = self.folder / f"{problem}.{part}.txt"
        if not path.exists():
            with gzip.open(self.data / FILES[problem].format(part=part)) as source, path.open("wb") as out:
                left = self.words if self.words and problem == "gutenberg" else math.inf
                for line in source:
                    if left <= 0:
                        break
                    left -= len(line.split())
                    out.write(line)
        return path

    def kenlm_text(self, problem: str, part: str) -> Path:
        """Return the same text with an ordinary word in place of the unknown word, if it occurs."""
        path, plain = self.folder / f"{problem}.{part}.renamed.txt", self.text(problem, part)
        if problem != "ptb":
            return plain
        if not path.exists():
            path.write_bytes(plain.read_bytes().replace(UNKNOWN, RENAMED))
        return path

    def sample(self, problem: str, every: int) -> Path:
        """Return a text of every n-th line."""
        path = self.folder / f"{problem}.sample.txt"
        if not path.exists():
            lines = self.text(problem, "train").read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(lines[::every]))
        return path

    # ---- ours -------------------------------------------------------------------------------------------------------
    def ours(self, role: str, *, benchmark: str = "lm", **options: Any) -> Done:
        """Run a role of the contenders of a benchmark as a process of its own."""
        given = json.dumps({k: str(v) if isinstance(v, Path) else v for k, v in options.items()})
        done = run([sys.executable, "-m", f"benchmarks.{benchmark}.contenders", role, given], self.limit)
        found = json.loads(done.output.strip().splitlines()[-1])
        short = {k: v for k, v in found.items() if not isinstance(v, list)}
        told = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in short.items()}
        names = " ".join(Path(str(v)).name for k, v in options.items() if k in ("text", "model"))
        _say(f"{role} {names}: {done.seconds:.1f} s, {done.megabytes:.0f} MB, {told}")
        return Done(found, done)

    def train(
        self, problem: str, name: str, *, settings: dict | None = None, evaluate: bool = False, fresh: bool = False
    ) -> Made:
        """Train and save a model under a name, which is the estimator if no settings are given; once, or afresh."""
        path = self.folder / f"{problem}.{name.replace(', ', '.').replace(' ', '-')}.ll"
        if path.exists() and not fresh:
            return Made({}, Run(0.0, 0.0, ""), path)
        settings = settings or {"estimator": name, "order": ORDER}
        tuned = settings.get("tune") == "validation"
        texts = {
            "validation": self.text(problem, "valid") if tuned else None,
            "test": self.text(problem, "test") if evaluate else None,
        }
        done = self.ours("train", text=self.text(problem, "train"), model=path, settings=settings, **_given(texts))
        return Made(done.found, done.run, path)

    # ---- KenLM's ----------------------------------------------------------------------------------------------------
    def kenlm_build(self, problem: str, order: int) -> Run:
        """Build a modified Kneser-Ney model in ARPA form by lmplz, once per run of the benchmark."""
        assert self.lmplz is not None
        if problem not in self._kenlm_built:
            command = [self.lmplz, "-o", str(order), "-S", "4G", "-T", self.folder / "lmplz", "--discount_fallback"]
            text, out = self.kenlm_text(problem, "train"), self._kenlm_arpa(problem)
            done = self._kenlm_built[problem] = run(command, LIMIT, text=text, out=out)
            _say(f"lmplz {problem}: {done.seconds:.1f} s, {done.megabytes:.0f} MB")
        return self._kenlm_built[problem]

    def _kenlm_arpa(self, problem: str) -> Path:
        return self.folder / f"{problem}.lmplz.arpa"

    def kenlm_perplexity(self, problem: str) -> float:
        """Return the perplexity of lmplz's model on the test text."""
        test = self.kenlm_text(problem, "test")
        return self.ours("kenlm_perplexity", model=self._kenlm_arpa(problem), test=test).found["perplexity"]

    def kenlm_model(self, problem: str) -> Path:
        """Return a 5-gram model for KenLM to query: binary from its own builder, or else our ARPA file."""
        if self.lmplz is None or self.build_binary is None:
            model = self.train(problem, "kneser-ney").path
            path = model.with_suffix(".arpa")
            if not path.exists():
                run([_loglinear(), "lm", "export", model, path], LIMIT)
            return path
        path = self.folder / f"{problem}.probing"
        if not path.exists():
            if not self._kenlm_arpa(problem).exists():
                self.kenlm_build(problem, ORDER)
            done = run([self.build_binary, "probing", self._kenlm_arpa(problem), path], LIMIT)
            _say(f"build_binary {problem}: {done.seconds:.1f} s")
        return path

    # ---- both -------------------------------------------------------------------------------------------------------
    def command_line(self, problem: str) -> dict[str, Any]:
        """Return the tokens per second of `loglinear lm score` on one thread and of KenLM's query, by sentence."""
        text, short = self.text(problem, "train"), self.folder / "short.txt"
        with text.open("rb") as lines:
            short.write_bytes(lines.readline())
        if self.quick:  # long enough to tell scoring from loading
            whole = self.folder / f"{problem}.copies.txt"
            whole.write_bytes(text.read_bytes() * QUICK_COPIES)
            text = whole
        n_lines, n_words = _size(text)
        ours = [_loglinear(), "lm", "score", self.train(problem, "kneser-ney").path, "-", "--threads", "1"]
        commands: dict[str, list[str | Path]] = {"ours on 1": ours}
        if self.query is not None and self.build_binary is not None:
            commands["kenlm"] = [self.query, "-v", "sentence", self.kenlm_model(problem)]
        found: dict[str, Any] = {"sentences": n_lines, "tokens": n_lines + n_words}
        out = self.folder / "scores.txt"
        for name, command in commands.items():
            try:
                loading = min(run(command, LIMIT, text=short, out=out).seconds for _ in range(2))
            except Failed as error:
                _say(f"left out: {error}")
                continue
            whole = min(run(command, LIMIT, text=text, out=out).seconds for _ in range(2))
            if whole < 1.1 * loading:
                _say(f"left out: {whole:.2f} s in all cannot be told from {loading:.2f} s of loading")
                continue
            found[name] = (n_lines + n_words) / (whole - loading)
            found[f"{name}, s of loading"], found[f"{name}, s in all"] = loading, whole
            _say(f"{' '.join(Path(c).name for c in command[:3])}: {whole:.2f} s, loading {loading:.2f} s")
        return found


def _program(variable: str, neighbour: Path | None) -> Path | None:
    """Return the program that an environment variable names, or the one of that name beside its neighbour."""
    if given := os.environ.get(variable):
        if not Path(given).exists():
            sys.exit(f"{variable} names {given}, which does not exist")
        return Path(given)
    beside = neighbour.with_name(variable.lower()) if neighbour else None
    return beside if beside and beside.exists() else None


def _loglinear() -> Path:
    """Return the ``loglinear`` command of this Python."""
    return Path(sys.executable).with_name("loglinear")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _size(text: Path) -> tuple[int, int]:
    """Return the numbers of lines and words."""
    n_lines = n_words = 0
    with text.open("rb") as lines:
        for line in lines:
            n_lines, n_words = n_lines + 1, n_words + len(line.split())
    return n_lines, n_words


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
