"""Files that fail at the n-th call, for every n: saving, loading and training with a checkpoint.

What fails is what the system does for a file: opening, writing, syncing and renaming, reading. The old file or the new
one is there afterwards, whole; nothing else is left behind; the exception is one of those that are promised.
"""

import errno
import io
import os
from pathlib import Path

import numpy as np
import pytest

import loglinear
from loglinear import MaxentClassifier, ModelFileError, Tagger
from loglinear.errors import LoglinearError
from loglinear.formats import named_arrays, text
from loglinear.optimise.checkpoint import Checkpoint

SENTENCES = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}, {"w": "ran"}]]
TAGS = [["D", "N"], ["D", "N", "V"]]


class Faults:
    """Counts calls, and lets the one after ``left`` others fail, and with ``all`` those after it."""

    def __init__(self, left, all_after):
        self.left, self.all_after = left, all_after

    @property
    def happened(self):
        return self.left < 0

    def call(self, name):
        self.left -= 1
        if self.left < 0 if self.all_after else self.left == -1:
            raise OSError(errno.EIO if name == "preadv" else errno.ENOSPC, f"{name} fails")


class System:
    """The module ``os`` with calls that may fail."""

    def __init__(self, faults):
        self._faults = faults

    def __getattr__(self, name):
        value = getattr(os, name)
        if name not in ("open", "fsync", "fstat", "preadv"):
            return value

        def call(*arguments, **options):
            self._faults.call(name)
            return value(*arguments, **options)

        return call


class RawFile(io.FileIO):
    """A file whose writes may fail, before anything or after a half."""

    faults = None

    def write(self, data):
        try:
            self.faults.call("write")
        except OSError:
            super().write(bytes(data)[: len(data) // 2])
            raise
        return super().write(data)


def counted(faults, name, usual):
    """Return a method that may fail."""

    def call(path, *arguments):
        faults.call(name)
        return usual(path, *arguments)

    return call


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def failing(monkeypatch):
    """Return a function that makes the calls after ``left`` others fail while its context lasts."""

    def make(left, all_after):
        patch = pytest.MonkeyPatch.context()
        faults = Faults(left, all_after)

        class Context:
            def __enter__(self):
                inner = self.inner = patch.__enter__()
                for module in (text, named_arrays):
                    inner.setattr(module, "os", System(faults))
                usual = Path.open

                def opened(path, mode="r", *arguments, **options):
                    if mode not in ("xb", "wb"):
                        return usual(path, mode, *arguments, **options)
                    faults.call("open")
                    raw = RawFile(path, mode)
                    raw.faults = faults
                    return io.BufferedWriter(raw)

                inner.setattr(Path, "open", opened)
                for name in ("replace", "chmod"):
                    inner.setattr(Path, name, counted(faults, name, getattr(Path, name)))
                return faults

            def __exit__(self, *error):
                return patch.__exit__(*error)

        return Context()

    return make


def every_call(failing, operation, check, prepare=lambda: None):
    """Let every call fail in turn; return how many did."""
    n_failures = 0
    for all_after in (False, True):
        for left in range(10_000):
            raised = None
            prepare()
            with failing(left, all_after) as faults:
                try:
                    operation()
                except (OSError, LoglinearError) as error:
                    raised = error
            if not faults.happened:
                assert raised is None
                break
            n_failures += 1
            check(raised)
    return n_failures


def test_a_save_that_fails_leaves_a_whole_file(tmp_path, failing):
    old = Tagger().fit(SENTENCES, TAGS)
    new = Tagger(strength=0.1).fit(SENTENCES, TAGS)
    path = tmp_path / "m.ll"
    old.save(path)
    before = path.read_bytes()
    new.save(tmp_path / "n.ll")
    after = (tmp_path / "n.ll").read_bytes()
    (tmp_path / "n.ll").unlink()

    def check(raised):
        assert path.read_bytes() == (before if raised is not None else after)
        assert names(tmp_path) == ["m.ll"]

    assert every_call(failing, lambda: new.save(path), check, lambda: path.write_bytes(before)) > 8


def test_a_load_that_fails_says_so_and_the_next_one_succeeds(tmp_path, failing):
    path = tmp_path / "m.ll"
    MaxentClassifier().fit(["a b", "b c", "c d"], ["x", "y", "x"]).save(path)
    expected = loglinear.load(path).predict_proba(["a c"])
    loaded = []

    def check(raised):
        assert raised is None or (isinstance(raised, ModelFileError) and str(path) in str(raised))
        assert np.array_equal(loglinear.load(path).predict_proba(["a c"]), expected)

    assert every_call(failing, lambda: loaded.append(loglinear.load(path, verify=True)), check) > 8
    assert all(np.array_equal(model.predict_proba(["a c"]), expected) for model in loaded)


def test_training_with_a_checkpoint_that_fails_goes_on_from_the_last_whole_one(tmp_path, failing, monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    path = tmp_path / "c"

    def fit():
        return Tagger(checkpoint=path, max_iterations=3).fit(SENTENCES, TAGS)

    objective = Tagger().fit(SENTENCES, TAGS).objective_

    def check(raised):
        assert set(names(tmp_path)) <= {"c"}
        if path.exists():
            strings, arrays = named_arrays.read(path)
            assert named_arrays.digest(strings, arrays) == strings[named_arrays.CHECKSUM]
        again = Tagger(checkpoint=path).fit(SENTENCES, TAGS)
        assert again.objective_ == pytest.approx(objective, rel=1e-4)  # converged, by the gap

    assert every_call(failing, fit, check, lambda: path.unlink(missing_ok=True)) > 12
