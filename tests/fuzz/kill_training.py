"""Training that is killed at random moments after a checkpoint, and goes on from it: to the same optimum, every time.

Checkpoints are saved at each of the first twenty steps and at every twentieth after them, rather than every 30 seconds,
so that kills come while they are written, too. Every training is a process of its own, forked from this one.

python tests/fuzz/kill_training.py --kills 500
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import LanguageModel, MaxentClassifier, Parser, Tagger
from loglinear.formats.bracketed import parse_bracketed
from loglinear.optimise.checkpoint import Checkpoint

TOLERANCE = 1e-8  # of the gap, relative to the objective
Make = Callable[[str | None], Any]  # trains with a checkpoint


def problems(rng: np.random.Generator) -> dict[str, Make]:
    """Return what trains each kind of model."""
    X, y = rng.normal(size=(800, 60)) * np.exp(rng.normal(size=60)), rng.integers(0, 6, 800)
    words = [[f"w{k}" for k in rng.zipf(1.5, rng.integers(2, 9)).clip(max=60)] for _ in range(200)]
    rows = [[(word,) for word in sentence] for sentence in words]
    tags = [[f"t{(len(word) + ord(word[-1]) + rng.integers(0, 2)) % 4}" for word in sentence] for sentence in words]
    kinds = ("(S (NP (D the) (N {})) (VP (V {}) (NP (D a) (N {}))))", "(S (NP (N {})) (VP (VP (V {})) (NP (N {}))))")
    trees = [kinds[rng.integers(2)].format(*rng.choice(["dog", "cat", "saw", "man"], 3)) for _ in range(60)]
    settings = {"tolerance": TOLERANCE, "max_iterations": 5000, "verbose": 0, "n_threads": 1}

    def classifier(penalty: str, solver: str) -> Make:
        return lambda path: MaxentClassifier(
            penalty=penalty, solver=solver, strength=0.5, checkpoint=path, **settings
        ).fit(X, y)

    def tagger(penalty: str) -> Make:
        return lambda path: Tagger(
            templates="U0:%x[0,0]\nU1:%x[-1,0]\nB\n", penalty=penalty, strength=0.3, checkpoint=path, **settings
        ).fit(rows, tags)

    def language_model(penalty: str, solver: str) -> Make:
        lines = [" ".join(sentence) for sentence in words]
        return lambda path: LanguageModel(3, penalty=penalty, solver=solver, checkpoint=path, **settings).fit(lines)

    return {
        "classifier, l2": classifier("l2", "lbfgs"),
        "classifier, l1": classifier("l1", "owlqn"),
        "classifier, elastic net": classifier("elastic_net", "fista"),
        "tagger, l2": tagger("l2"),
        "tagger, l1": tagger("l1"),
        "language model, elastic net": language_model("elastic_net", "fista"),  # whose steps the loss takes
        "language model, l2": language_model("l2", "auto"),
        "language model, tree": language_model("tree-linf", "auto"),
        "parser": lambda path: Parser("crf", min_word_count=1, checkpoint=path, **settings).fit(
            parse_bracketed("\n".join(trees).encode())
        ),
    }


def started(make: Make, path: Path, answer: Path) -> int:
    """Train in a process of its own, which writes its objective; return its number."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        steps = count()
        Checkpoint.due = lambda self: (step := next(steps)) < 20 or step % 20 == 0  # type: ignore[method-assign]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(str(path))
        answer.write_text(f"{model.status_} {float(model.objective_)!r}", "ascii")
        code = 0
    except Exception as error:  # a fork shares nothing but what it writes
        print(f"training failed: {error!r}", file=sys.stderr)
        answer.write_text("failed inf", "ascii")
    finally:
        os._exit(code)


def at_first_checkpoint(path: Path, answer: Path) -> float:
    """Wait for a checkpoint, or the end of the training; return the time."""
    while not path.exists() and not answer.exists():
        time.sleep(0.0002)
    return time.monotonic()


def killed(make: Make, path: Path, answer: Path, delay: float) -> bool:
    """Train, and kill the training so many seconds after its first checkpoint; False where it ended before."""
    number = started(make, path, answer)
    at_first_checkpoint(path, answer)
    time.sleep(delay)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return not answer.exists()


def finished(make: Make, path: Path, answer: Path) -> tuple[str, float, float]:
    """Train to the end; return the status, the objective and the seconds from the first checkpoint on."""
    number = started(make, path, answer)
    begin = at_first_checkpoint(path, answer)
    _, status = os.waitpid(number, 0)
    seconds = time.monotonic() - begin
    if status:
        raise RuntimeError(f"training ended with status {status}")
    how, value = answer.read_text("ascii").split()
    left = sorted(p.name for p in path.parent.iterdir())
    assert left == ["answer", "run.checkpoint"], left  # what a killed save left is gone
    answer.unlink()
    path.unlink()
    return how, float(value), seconds


def run(n_kills: int, seed: int, kinds: list[str] | None = None) -> dict[str, tuple[int, float]]:
    """Return per kind of model the number of kills and the largest relative distance to the optimum afterwards."""
    rng = np.random.default_rng(seed)
    found = problems(np.random.default_rng(0))
    results = {}
    for kind in kinds or found:
        found[kind](None)  # imports here, once, what the processes would each import
    with tempfile.TemporaryDirectory() as folder:
        path, answer = Path(folder, "run.checkpoint"), Path(folder, "answer")
        wholes = {kind: finished(found[kind], path, answer) for kind in kinds or found}
        for i, (kind, (status, optimum, seconds)) in enumerate(wholes.items()):
            n, worst = 0, 0.0
            while n < n_kills // len(wholes) + (i < n_kills % len(wholes)):
                if not killed(found[kind], path, answer, rng.random() * seconds):
                    answer.unlink()
                    path.unlink()
                    continue
                n += 1
                resumed = finished(found[kind], path, answer)
                assert resumed[0] == status == "converged", (kind, resumed, status)
                worst = max(worst, abs(resumed[1] - optimum) / optimum)
            results[kind] = n, worst
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for kind_, (n_, worst_) in run(arguments.kills, arguments.seed).items():
        print(f"{kind_}: {n_} kills, {n_} resumed to the optimum; objectives differ by {worst_:.1e} at most")
        if worst_ > 2 * TOLERANCE:
            sys.exit(1)
