"""Model files with faults: what is cut short is refused, and a wrong bit gives a refusal or a usable model."""

import contextlib

import numpy as np
import pytest

from loglinear.errors import IncompatibleError, ModelFileError


def assert_damage_is_refused(path, load, use, n_flips):
    """Check a model file: load refuses it cut short; with one wrong bit, it is refused or use(load(path)) works."""
    whole, bad = path.read_bytes(), path.with_name("bad.ll")
    for cut in (10, len(whole) // 2, len(whole) - 3):
        bad.write_bytes(whole[:cut])
        with pytest.raises(ModelFileError):
            load(bad)
    rng = np.random.default_rng(0)
    for _ in range(n_flips):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        bad.write_bytes(damaged)
        with contextlib.suppress(ModelFileError, IncompatibleError):
            use(load(bad))
