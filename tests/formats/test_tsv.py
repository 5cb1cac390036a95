import gzip

import pytest

from loglinear.errors import FormatError
from loglinear.formats.tsv import read_texts, read_tsv


@pytest.fixture
def file(tmp_path):
    def write(data: bytes):
        (tmp_path / "f.tsv").write_bytes(data)
        return tmp_path / "f.tsv"

    return write


def test_reads(file):
    assert read_tsv(file("ham\théllo\tthere\r\nspam\t\n".encode())) == (["ham", "spam"], ["héllo\tthere", ""])
    assert read_tsv(file(gzip.compress(b"a\tb"))) == (["a"], ["b"])
    assert read_tsv(file(b"a\t\xe9"), encoding="latin-1") == (["a"], ["é"])
    assert read_tsv(file(b"")) == ([], [])


def test_long_line(file):
    labels, texts = read_tsv(file(b"a\t" + b"word " * 2_000_000 + b"\nb\tc"))
    assert labels == ["a", "b"]
    assert len(texts[0]) == 10_000_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tb\nno tab\n", "f.tsv:2: the line has no TAB; expected label TAB text"),
        (b"a\tb\n\nc\td\n", "f.tsv:2: the line is empty"),
        (b"a\tb\n\tc\n", "f.tsv:2: the label is empty"),
        (b"a\tb\nc\t\xff\n", "f.tsv:2: byte 0xff at offset 2 of the line is not valid utf-8"),
    ],
)
def test_refusals(file, data, message):
    with pytest.raises(FormatError, match=message):
        read_tsv(file(data))


def test_texts(file):
    path = file(b"one\ta\n\ntwo\n")
    assert read_texts(path) == ["one\ta", "", "two"]
