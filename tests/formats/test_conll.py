import gzip

import numpy as np
import pytest
from byte_files import byte_files
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.errors import FormatError
from loglinear.formats.conll import ConllData, format_conll, parse_conll, read_conll


def sequences(data: ConllData):
    tokens = list(zip(*(data.values(c) for c in range(len(data.columns)))))
    return [tokens[a:b] for a, b in zip(data.sequence_ptr[:-1], data.sequence_ptr[1:])]


def twin(text: str):
    """The format in a few lines of Python, for input without faults, separated by blanks."""
    blocks, current = [], []
    for line in [*text.split("\n"), ""]:
        fields = tuple(field for field in line.removesuffix("\r").replace("\t", " ").split(" ") if field)
        if fields:
            current.append(fields)
        elif current:
            blocks.append(current)
            current = []
    return blocks


TEXT = "-DOCSTART- O\n\n\nthe DT\r\n#  NN\nrun  VB \n \t\r\nö X\na DT"


@pytest.mark.parametrize("n_threads", [1, 2])
def test_reads(tmp_path, n_threads):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    data = read_conll(tmp_path / "f", n_threads=n_threads)
    assert sequences(data) == twin(TEXT)
    assert data.first_lines.tolist() == [1, 4, 8]
    assert data.source == str(tmp_path / "f")
    assert data.columns[1][0].tolist() == [0, 1, 2, 3, 4, 1]
    (tmp_path / "g").write_bytes(gzip.compress(TEXT.encode()))
    assert sequences(read_conll(tmp_path / "g")) == twin(TEXT)


def test_tabs_keep_blanks():
    data = parse_conll(b"New York\tNNP\n\tX\n\n a \t\n")
    assert sequences(data) == [[("New York", "NNP"), ("", "X")], [(" a ", "")]]
    assert sequences(parse_conll(b"a b\tc d\n", separator=" ")) == [[("a", "b", "c", "d")]]
    assert sequences(parse_conll(b"a b\nc d\n", separator="\t")) == [[("a b",), ("c d",)]]
    with pytest.raises(ValueError, match="separator must be"):
        parse_conll(b"a", separator=",")


def test_comments_are_tokens_unless_said_otherwise():
    text = b"# id 1\n# 2 3\n\n# x y\n"
    assert len(sequences(parse_conll(text))[0]) == 2
    assert sequences(parse_conll(b"# one\na b\n# two\nc d\n", comments=True)) == [[("a", "b"), ("c", "d")]]


def test_encodings():
    assert sequences(parse_conll("é X\n".encode("latin-1"), encoding="latin-1")) == [[("é", "X")]]
    assert sequences(parse_conll("é X\n".encode("utf-16"), encoding="utf-16")) == [[("é", "X")]]
    with pytest.raises(FormatError, match="unknown encoding"):
        parse_conll(b"a", encoding="klingon")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"c", "found 1 column where the first token has 2; give every token the same columns, or separate"),
        (b"c d e", "found 3 columns where the first token has 2"),
        (b"c\rd e", r"a carriage return inside the line; lines end in \\n or \\r\\n, so convert"),
        (b"\xff e", r"column 0, '\\xff', is not valid utf-8; name the right encoding with --encoding"),
    ],
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_refusals_name_the_line(line, message, n_threads):
    data = b"a b\n\n" + line + b"\nx\ny\n"
    with pytest.raises(FormatError, match=f"^f:3: {message}") as caught:
        parse_conll(data, "f", n_threads=n_threads)
    assert caught.value.line == 3


def test_nothing_to_read():
    for data in (b"", b"\n\n", b" \t\r\n", b"\xef\xbb\xbf"):
        with pytest.raises(FormatError, match="f: there are no tokens; expected one token per line"):
            parse_conll(data, "f")
    with pytest.raises(FormatError, match="f:1: 70000 columns, and at most 1024 are allowed"):
        parse_conll(b"a " * 70_000, "f")


def test_odd_but_allowed():
    assert sequences(parse_conll(b"\x00 a\n")) == [[("\x00", "a")]]
    long = "x" * 3_000_000
    assert sequences(parse_conll(f"{long} a\nb c".encode())) == [[(long, "a"), ("b", "c")]]
    with pytest.raises(FormatError, match="f:1: a carriage return inside"):
        parse_conll(b"a\rb\rc\r", "f")


def native(data: bytes, n_threads: int, chunk_size: int):
    try:
        ptr, lines, columns = _core.parse_conll(
            _core.ThreadPool(n_threads), np.frombuffer(data, np.uint8), "detect", False, chunk_size
        )
        return ptr.tolist(), lines.tolist(), [[part.tolist() for part in column] for column in columns]
    except _core.ParseError as error:
        return error.args


FRAGMENTS = (b"a", b"b", b"\xc3\xa9", b" ", b"\t", b"\n", b"\n\n", b"\r\n", b"\r", b"#", b"\x00", b"\xff")


@settings(max_examples=300, deadline=None)
@given(byte_files(*FRAGMENTS))
def test_any_bytes_give_data_or_a_refusal(data):
    whole = native(data, 1, 1 << 18)
    for chunk_size in (1, 7):
        assert native(data, 2, chunk_size) == whole
    try:
        parsed = parse_conll(data)
    except FormatError:
        return
    assert (np.diff(parsed.sequence_ptr) > 0).all()
    for ids, _, offsets in parsed.columns:
        assert ids.size == parsed.sequence_ptr[-1]
        assert set(ids.tolist()) == set(range(offsets.size - 1))
    text = data.removeprefix(b"\xef\xbb\xbf").decode()
    if b"\t" not in data:
        assert sequences(parsed) == twin(text)


words = st.text(st.sampled_from("abé#-_"), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=5), min_size=1, max_size=5))
def test_round_trip(sentences):
    ptr = np.cumsum([0, *map(len, sentences)])
    columns = [[token[c] for sentence in sentences for token in sentence] for c in range(2)]
    for separator in (" ", "\t"):
        data = parse_conll(format_conll(ptr, columns, separator))
        assert sequences(data) == sentences
        assert format_conll(data.sequence_ptr, data.columns, separator) == format_conll(ptr, columns, separator)


def test_writes_extra_columns():
    data = parse_conll(b"a X\nb Y\n\nc X\n")
    text = format_conll(data.sequence_ptr, [*data.columns, ["1", "2", "3"]])
    assert text == b"a X 1\nb Y 2\n\nc X 3\n\n"
    assert format_conll(data.sequence_ptr, data.columns[:1]) == b"a\nb\n\nc\n\n"


@pytest.mark.parametrize(
    ("values", "separator", "message"),
    [
        (["a b"], " ", "cannot write the value 'a b': it is empty or holds a blank"),
        ([""], " ", "cannot write the value '': it is empty"),
        (["a\nb"], "\t", r"cannot write the value 'a\\x0ab': it holds a tab or a line end"),
        ([" "], "\t", "cannot write token 0: all of its values are blank"),
        (["a", "b"], " ", "a column of 2 values for 1 tokens"),
    ],
)
def test_values_that_cannot_be_written(values, separator, message):
    with pytest.raises(FormatError, match=message):
        format_conll(np.array([0, 1]), [values], separator)
    with pytest.raises(TypeError, match="a value is int, not a string"):
        format_conll(np.array([0, 1]), [[3]])
    with pytest.raises(ValueError, match="separator must be a space or a tab"):
        format_conll(np.array([0, 1]), [["a"]], ",")
