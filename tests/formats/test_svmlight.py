import numpy as np
import pytest
from byte_files import byte_files
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.errors import FormatError
from loglinear.formats.svmlight import SvmlightData, parse_svmlight, read_svmlight

TEXT = b"""# a comment
+1 1:0.5 3:-2e-3 # another
\r
spam qid:4\t2:1 \t 3:.25\r
+1
no\xc3\xa9l 4:7."""


def twin(data: bytes, base: int):
    """The format in a few lines of Python, for input without faults."""
    labels, rows = [], []
    for line in data.decode().split("\n"):
        tokens = line.split("#")[0].split()
        if tokens:
            pairs = [t.split(":") for t in tokens[1:] if not t.startswith("qid:")]
            labels.append(tokens[0])
            rows.append([(int(i) - base, float(v)) for i, v in pairs])
    return labels, rows


def as_rows(data: SvmlightData):
    return [
        list(zip(data.indices[a:b].tolist(), data.values[a:b].tolist()))
        for a, b in zip(data.indptr[:-1], data.indptr[1:])
    ]


def test_reads(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + TEXT)
    data = read_svmlight(tmp_path / "f")
    assert (data.labels, as_rows(data)) == twin(TEXT, 1)
    assert data.n_features == 4
    assert (data.indptr.dtype, data.indices.dtype, data.values.dtype) == (np.int64, np.int32, np.float64)


def test_bases():
    assert parse_svmlight(b"a 0:1 5:1").indices.tolist() == [0, 5]
    assert parse_svmlight(b"a 1:1 5:1").indices.tolist() == [0, 4]
    assert parse_svmlight(b"a 1:1 5:1", zero_based=True).indices.tolist() == [1, 5]
    assert parse_svmlight(b"a 1:1 5:1", zero_based=False, n_features=9).n_features == 9
    assert parse_svmlight(b"").indptr.tolist() == [0]
    assert parse_svmlight(b"a\nb\n").n_features == 0


def test_wide_indices():
    data = parse_svmlight(f"a 0:1 {2**31 - 1}:1".encode())
    assert data.indices.dtype == np.int32
    data = parse_svmlight(f"a 0:1 {2**31}:1".encode())
    assert data.indices.dtype == np.int64
    assert data.n_features == 2**31 + 1
    assert parse_svmlight(f"a 0:1 {2**63 - 2}:1".encode()).n_features == 2**63 - 1


@pytest.mark.parametrize(
    ("line", "message", "options"),
    [
        (b"a -3:1", "negative index in '-3:1'", {}),
        (b"a 3:1 2:1", "index 2 follows 3; indices must ascend and be written once", {}),
        (b"a 3:1 3:1", "index 3 follows 3", {}),
        (b"a 9223372036854775807:1", "does not fit in 64 bits", {}),
        (b"a 99999999999999999999999:1", "does not fit in 64 bits", {}),
        (b"a 1:nan", "the value in '1:nan' is not a finite number", {}),
        (b"a 1:-Infinity", "not a finite number", {}),
        (b"a 1:1e999", "not a finite number", {}),
        (b"a 1", "expected index:value, found '1'", {}),
        (b"a 1:", "expected index:value, found '1:'", {}),
        (b"a :1", "expected index:value, found ':1'", {}),
        (b"a 1:2:3", "expected index:value, found '1:2:3'", {}),
        (b"a 1:0x10", "expected index:value", {}),
        (b"a 1:2\x00", r"found '1:2\\x00'", {}),
        (b"a b" + b"x" * 99, r"found 'bx{39}\.\.\.'", {}),
        (b"1:2 3:4", "the line has no label: it starts with the pair '1:2'", {}),
        (b"\xff 1:2", r"the label '\\xff' is not valid UTF-8", {}),
        (b"a 0:1", r"index 0 in a file whose indices should start at 1", {"zero_based": False}),
        (b"a 4:1", "index 4 is past the largest one allowed, 3", {"n_features": 3}),
        (b"a 3:1", "index 3 is past the largest one allowed, 2", {"n_features": 3, "zero_based": True}),
    ],
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_refusals_name_the_line(line, message, options, n_threads):
    data = b"ok 1:1\n# comment\n" + line + b"\nok 2:2\n"
    if "n_features" not in options:  # the first fault wins; but how many are allowed is known only at the end
        data += b"also 2:1 1:1\n"
    with pytest.raises(FormatError, match=f"^f:3: .*{message}") as caught:
        parse_svmlight(data, "f", n_threads=n_threads, **options)
    assert caught.value.line == 3


@pytest.mark.parametrize("text", ["1", "-0.1", "+5", "1e22", "1e23", "123456789012345678901234567890", "0.1e-320",
                                  "2.2250738585072011e-308", "1.7976931348623157e308", "9007199254740993", "1e-999",
                                  "0." + "0" * 400 + "1", "1" + "0" * 300, "0e999999999999999999999", "5e-324",
                                  "0.30000000000000004", "179769313486231570000000000000000000000e270"])
def test_numbers_are_rounded_as_python_does(text):
    assert parse_svmlight(f"a 1:{text}".encode()).values[0] == float(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_all_numbers_are_exact(value):
    for text in (repr(value), f"{value:.20e}", f"{value:.6g}"):
        expected = float(text)
        if np.isfinite(expected):
            assert parse_svmlight(f"a 1:{text}".encode()).values[0] == expected


def native(data: bytes, n_threads: int, chunk_size: int):
    text = np.frombuffer(data.removeprefix(b"\xef\xbb\xbf"), np.uint8)
    try:
        return [np.asarray(x).tolist()
                for x in _core.parse_svmlight(_core.ThreadPool(n_threads), text, "detect", -1, chunk_size)]
    except _core.ParseError as error:
        return error.args


FRAGMENTS = (b"a", b"+1", b" ", b"\t", b"\n", b"\r\n", b"1:1", b"2:0.5", b"7:1e3", b"#", b"qid:1", b":", b"-", b"\x00",
             b"\xff", b"nan", b"9" * 25, b"0:0")  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(byte_files(*FRAGMENTS))
def test_any_bytes_give_data_or_a_refusal(data):
    whole = native(data, 1, 1 << 20)
    for chunk_size in (1, 7, 64):
        assert native(data, 2, chunk_size) == whole
    if isinstance(whole, tuple):  # a refusal
        with pytest.raises(FormatError) as caught:
            parse_svmlight(data)
        assert 1 <= caught.value.line <= data.count(b"\n") + 1
        return
    parsed = parse_svmlight(data)
    assert len(parsed.labels) == len(parsed.indptr) - 1
    assert parsed.indptr[-1] == len(parsed.indices) == len(parsed.values)
    assert np.isfinite(parsed.values).all()
    assert (parsed.indices >= 0).all()
    assert (parsed.indices < max(parsed.n_features, 1)).all()


def test_threads_and_chunks_do_not_matter():
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(5)} " + " ".join(f"{i}:{rng.normal()}" for i in np.unique(rng.integers(1, 99, 9)))
             for _ in range(500)]
    data = "\n".join(lines).encode()
    results = [native(data, threads, size) for threads in (1, 2, 4) for size in (1, 1000, 1 << 20)]
    assert all(r == results[0] for r in results)
    parsed = parse_svmlight(data, n_threads=3)
    assert (parsed.labels, as_rows(parsed)) == twin(data, 1)


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_features must be between"):
        parse_svmlight(b"", n_features=-1)
