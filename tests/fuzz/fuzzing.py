"""Mutation of valid inputs, and the loop of the fuzz drivers: seeded, for a number of cases or of minutes."""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Callable, Iterable, Sequence


def mutate(rng: random.Random, corpus: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """Return one of the inputs with a few faults."""
    data = bytearray(rng.choice(corpus))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at] = rng.choice(tokens)
        elif kind == 1:
            del data[at : at + rng.randrange(1, 8)]
        elif kind == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 3:
            other = rng.choice(corpus)
            begin = rng.randrange(len(other) + 1)
            data[at:at] = other[begin : begin + rng.randrange(40)]
        elif kind == 4:
            piece = bytes(data[at : at + rng.randrange(1, 12)])
            data[at:at] = piece * rng.randrange(1, 20)
        else:
            data[at : at + 1] = rng.choice(tokens)
    return bytes(data)


def run(check: Callable[[random.Random], None], cases: Iterable[int], seed: int) -> int:
    """Call ``check`` with a random generator of its own for each case; a failure names the case that repeats it."""
    n = 0
    for case in cases:
        n += 1
        try:
            check(random.Random(f"{seed}.{case}"))
        except BaseException:
            print(f"case {case} of seed {seed} failed")
            raise
    return n


def main(check: Callable[[random.Random], None]) -> None:
    """Check random cases for ``--minutes M`` with ``--seed S``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    cases = itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())
    print(f"{run(check, cases, arguments.seed)} cases, no fault")
