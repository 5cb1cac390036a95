"""Amounts of memory as text; work that needs more than the machine has."""

import numpy as np
import pytest

from loglinear import MaxentClassifier, Tagger
from loglinear.data import memory
from loglinear.data.memory import parse_memory


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [(7, 7), ("7", 7), ("100k", 102_400), ("512M", 1 << 29), ("4G", 1 << 32), ("1.5 GiB", 3 << 29), ("2tb", 1 << 41)],
)
def test_parses(text, n_bytes):
    assert parse_memory(text) == n_bytes


@pytest.mark.parametrize("text", ["", "G", "-1", 0, -5, "0", "4X", "4 G G", "1e9", "nan", True, 2.5, None])
def test_refuses(text):
    with pytest.raises(ValueError, match="memory is a positive number of bytes"):
        parse_memory(text)


def test_classes_that_do_not_fit_the_machine_are_refused():
    labels = np.arange(200_000)
    with pytest.raises(ValueError, match=r"200000 classes with 200000 examples and .* need 29\d\.\dG of memory"):
        MaxentClassifier(verbose=0).fit(np.ones((labels.size, 1)), labels)


def test_labels_of_taggers_that_do_not_fit_the_machine_are_refused(monkeypatch):
    sequences = [[{"w": str(i)}] for i in range(300)]
    tagger = Tagger(verbose=0, max_iterations=1, tolerance=1.0)
    tagger.fit(sequences[:3], [["a"], ["b"], ["c"]])
    monkeypatch.setattr(memory, "_memory_of_machine", lambda: 1 << 20)
    with pytest.raises(ValueError, match=r"the scores of 300 labels after each other need 1\.4M of memory, and this"):
        tagger.fit(sequences, [[str(i)] for i in range(300)])
