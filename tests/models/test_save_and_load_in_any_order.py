"""Saving, loading, damaging, mending and resuming in any order: what is on disk is always known.

A machine of hypothesis keeps, beside the files, what they should hold: the model that was saved last, whether its file
was damaged since, and how far a training with a checkpoint has come.
"""

import functools
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import loglinear
from loglinear import MaxentClassifier, ModelFileError, Tagger
from loglinear.formats.text import atomic_write

TEXTS, CLASSES = ["a b", "b c", "c d", "d a b"], ["x", "y", "x", "z"]
SENTENCES = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}, {"w": "ran"}]]
TAGS = [["D", "N"], ["D", "N", "V"]]


@functools.cache
def models():
    """Models, what to ask them, and how."""
    return [
        (MaxentClassifier().fit(TEXTS, CLASSES), TEXTS, "predict_proba"),
        (MaxentClassifier("l1", 0.1, ngrams=(1, 2)).fit(TEXTS, CLASSES), TEXTS, "predict_proba"),
        (Tagger().fit(SENTENCES, TAGS), SENTENCES, "marginal_array"),
        (Tagger("memm", strength=0.5).fit(SENTENCES, TAGS), SENTENCES, "marginal_array"),
    ]


def write_until_the_disk_is_full(path, n):
    with atomic_write(path) as file:
        file.write(b"\0" * n)
        raise OSError("full")


class Files(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path, self.checkpoint = self.folder / "m.ll", self.folder / "c"
        self.saved = None  # which of the models
        self.content = b""  # what was saved
        self.checkpoint_is_whole = True

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(which=st.integers(0, 3))
    def save(self, which):
        models()[which][0].save(self.path)
        self.saved, self.content = which, self.path.read_bytes()

    @rule(n=st.integers(0, 5000))
    def fail_to_save(self, n):
        before = self.path.read_bytes() if self.path.exists() else None
        with pytest.raises(OSError, match="full"):
            write_until_the_disk_is_full(self.path, n)
        assert (self.path.read_bytes() if self.path.exists() else None) == before

    @precondition(lambda self: self.saved is not None)
    @rule(mmap=st.booleans(), verify=st.booleans())
    def load(self, mmap, verify):
        whole = self.path.read_bytes() == self.content
        try:
            found = loglinear.load(self.path, mmap=mmap, verify=verify)
        except ModelFileError:
            assert not whole
            return
        assert whole or not verify
        if whole:
            model, X, method = models()[self.saved]
            for a, b in zip(getattr(found, method)(X), getattr(model, method)(X)):
                assert np.array_equal(a, b)
            found.save(self.folder / "again.ll")
            again = loglinear.load(self.folder / "again.ll", verify=True)
            assert type(again) is type(found)
            (self.folder / "again.ll").unlink()

    @precondition(lambda self: self.saved is not None)
    @rule(at=st.integers(0, 10**6), value=st.integers(1, 255))
    def damage_a_byte(self, at, value):
        data = bytearray(self.path.read_bytes())
        if data:
            data[at % len(data)] ^= value
            self.path.write_bytes(data)

    @precondition(lambda self: self.saved is not None)
    @rule(n=st.integers(0, 10**6))
    def truncate(self, n):
        os.truncate(self.path, n % (self.path.stat().st_size + 1))

    @precondition(lambda self: self.saved is not None)
    @rule()
    def mend(self):
        self.path.write_bytes(self.content)

    @rule(iterations=st.integers(1, 3))
    def train_a_little(self, iterations):
        tagger = Tagger(checkpoint=self.checkpoint, max_iterations=iterations)
        self.train(tagger)

    @rule()
    def train_to_the_end(self):
        tagger = self.train(Tagger(checkpoint=self.checkpoint))
        assert tagger is None or tagger.objective_ == pytest.approx(models()[2][0].objective_, rel=1e-4)

    def train(self, tagger):
        try:
            with np.errstate(all="ignore"):
                tagger.fit(SENTENCES, TAGS)
        except ModelFileError:
            assert not self.checkpoint_is_whole
            self.checkpoint.unlink()
            self.checkpoint_is_whole = True
            return None
        assert self.checkpoint_is_whole
        return tagger

    @precondition(lambda self: self.checkpoint_is_whole and self.checkpoint.exists())
    @rule(at=st.integers(0, 10**6), value=st.integers(1, 255))
    def damage_the_checkpoint(self, at, value):
        data = bytearray(self.checkpoint.read_bytes())
        data[-1 - at % 8] ^= value  # of the last weight
        self.checkpoint.write_bytes(data)
        self.checkpoint_is_whole = False

    @invariant()
    def nothing_is_left_behind(self):
        with suppress(FileNotFoundError):
            assert {path.name for path in self.folder.iterdir()} <= {"m.ll", "c"}


TestFiles = Files.TestCase
TestFiles.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)
