"""Mutation of valid inputs, and the loop of the fuzz drivers: seeded, for as long as asked."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence


def mutate(rng: random.Random, corpus: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """One of the inputs with a few faults."""
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


def run(check: Callable[[random.Random], None], seconds: float, seed: int) -> int:
    """Call ``check`` with a generator of its own each time; a failure names the seed that repeats it."""
    end = time.monotonic() + seconds
    n = 0
    while time.monotonic() < end:
        try:
            check(random.Random(f"{seed}.{n}"))
        except BaseException:
            print(f"case {n} of seed {seed} failed")
            raise
        n += 1
    return n


def main(check: Callable[[random.Random], None]) -> None:
    """``--minutes M --seed S``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{run(check, 60 * arguments.minutes, arguments.seed)} cases, no fault")
