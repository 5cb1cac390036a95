"""``loglinear cluster``: files, figures and refusals."""

import gzip
import json

import pytest
from commands import invoke

from loglinear import WordClasses
from loglinear.formats.class_file import read_classes

TEXT = "the dog sees a cat\na cat hears the dog\nthe cow sees the cat\na cow hears a dog\n"


def test_classes_are_written_and_told(tmp_path):
    text, out, paths = tmp_path / "text.gz", tmp_path / "classes.tsv", tmp_path / "paths"
    text.write_bytes(gzip.compress(TEXT.encode()))
    done = invoke("cluster", text, "-k", 3, "-o", out, "--paths", paths, "--json")
    assert done.exit_code == 0, done.output
    model = WordClasses(3).fit(text)
    figures = json.loads(done.stdout)
    assert figures["log_likelihood"] == model.log_likelihood_
    assert (figures["words"], figures["classes"], figures["status"]) == (7, 3, "converged")
    assert read_classes(out) == model.to_dict(bits=False)
    assert read_classes(paths) == model.to_dict()
    done = invoke("cluster", text, text, "-k", 3, "-o", out, "--method", "brown")
    assert "classes         3" in done.stdout


@pytest.mark.parametrize(
    ("options", "text", "told"),
    [
        (["-k", "8"], TEXT, "8 classes were asked for, and the text has only 7 different words"),
        (["-k", "0"], TEXT, "the number of classes is 0; it must be a whole number from 1"),
        (["-k", "2"], " \n", "<stdin>: there are no words"),
        (["-k", "2", "--method", "x"], TEXT, "method must be one of 'exchange', 'bidirectional', 'brown', not 'x'"),
    ],
)
def test_refusals_are_sentences(tmp_path, options, text, told):
    done = invoke("cluster", "-", "-o", tmp_path / "out", *options, stdin=text)
    assert done.exit_code == 2
    assert told in done.output
    assert not (tmp_path / "out").exists()
