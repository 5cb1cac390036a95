"""Files of word classes: both forms, and errors with their line."""

import gzip

import pytest

from loglinear.errors import FormatError
from loglinear.formats.class_file import read_classes, write_classes, write_paths


def test_classes_are_read_as_written(tmp_path):
    words, path = ["the", "a", "1", "naïve"], tmp_path / "classes.tsv"
    write_classes(path, words, [0, 0, 1, 12])
    assert read_classes(path) == {"the": "0", "a": "0", "1": "1", "naïve": "12"}
    path.write_bytes(gzip.compress(path.read_bytes().replace(b"\n", b"\r\n\n")))
    assert read_classes(path) == {"the": "0", "a": "0", "1": "1", "naïve": "12"}


def test_paths_are_read_as_written(tmp_path):
    path = tmp_path / "paths"
    write_paths(path, ["x", "01", "y"], ["10", "0", "10"], [3, 7, 5])
    assert path.read_text() == "0\t01\t7\n10\ty\t5\n10\tx\t3\n"
    assert read_classes(path) == {"01": "0", "y": "10", "x": "10"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\t1\nb\n", r":2: expected a word, a tab and its class"),
        ("a\t1\n\t2\n", r":2: expected a word, a tab and its class"),
        ("a\t1\t9\n", r":1: expected a word, a tab and its class"),
        ("a\t1\nb\t2\na\t2\n", r":3: the word 'a' is also in line 1; write each word once"),
        ("01\ta\t5\n00\tb\n", r":2: expected bits, a tab, a word, a tab and its count"),
        ("01\ta\t5\n\n02\tb\t4\n", r":3: expected bits"),
        ("01\ta\t5\n01\ta\t4\n", r":2: the word 'a' is also in line 1"),
        (" \n\n", r": there are no words"),
    ],
)
def test_errors_name_the_line(tmp_path, text, told):
    path = tmp_path / "classes"
    path.write_text(text)
    with pytest.raises(FormatError, match=f"{path}{told}"):
        read_classes(path)
