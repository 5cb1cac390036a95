import contextlib
import itertools

import numpy as np
import pycrfsuite
import pytest
from byte_files import byte_files
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.errors import FormatError, LoglinearError
from loglinear.formats.crfsuite.data import parse_crfsuite, read_crfsuite
from loglinear.formats.crfsuite.model import parse_crfsuite_dump, read_crfsuite_dump

TEXT = b"B-NP\tw=the\tpos=DT\tlen:3\nI-NP\tw=a\\:b\tw=c\\\\\n\nO\nB-NP\tw=the\tlen:-0.5\r\n"


def tokens(data):
    raw, bounds = data.attribute_blob.tobytes(), data.attribute_offsets
    names = [raw[a:b].decode() for a, b in itertools.pairwise(bounds)]
    values = np.ones(data.indices.size) if data.values is None else data.values
    pairs = [(names[i], v) for i, v in zip(data.indices, values)]
    rows = [pairs[a:b] for a, b in itertools.pairwise(data.indptr)]
    labels = [data.label_names[y] for y in data.labels]
    both = list(zip(labels, rows))
    return [both[a:b] for a, b in zip(data.sequence_ptr[:-1], data.sequence_ptr[1:])]


EXPECTED = [
    [("B-NP", [("w=the", 1), ("pos=DT", 1), ("len", 3)]), ("I-NP", [("w=a:b", 1), ("w=c\\", 1)])],
    [("O", []), ("B-NP", [("w=the", 1), ("len", -0.5)])],
]


def test_reads(tmp_path):
    (tmp_path / "f").write_bytes(TEXT)
    data = read_crfsuite(tmp_path / "f", n_threads=2)
    assert tokens(data) == EXPECTED
    assert parse_crfsuite(b"A\tx\nB\ty:1\n").values is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"A\tx:y", "the value 'y' of attribute 'x' is not a finite number; write"),
        (b"A\tx:1:2", "the value '1:2' of attribute 'x'"),
        (b"A\tx:1e999", ".* is not a finite number"),
        (b"A\tx:", "the value '' of attribute 'x'"),
        (b"A\t:1", "an attribute without a name, with the value '1'"),
        (b"\tx", "the line has no label"),
        (b"A:1\tx", "a colon in the label"),
        (b"A\t\xff", r"the attribute '\\xff' is not valid utf-8"),
        (b"\xff\tx", r"the label '\\xff' is not valid utf-8"),
    ],
)
def test_refusals_name_the_line(line, message):
    with pytest.raises(FormatError, match=f"^f:3: {message}"):
        parse_crfsuite(b"A\tx\n\n" + line + b"\nA\tx:no\n", "f", n_threads=2)


def test_nothing_to_read():
    with pytest.raises(FormatError, match="f: there are no tokens"):
        parse_crfsuite(b"\n", "f")


def native(data, n_threads, chunk_size):
    try:
        found = _core.parse_crfsuite(_core.ThreadPool(n_threads), np.frombuffer(data, np.uint8), chunk_size)
        return [part.tolist() for part in found]
    except _core.ParseError as error:
        return error.args


FRAGMENTS = (b"A", b"x", b":", b"\\", b"\t", b"\n", b"\n\n", b"\r", b"1", b"2.5", b"\x00", b"\xff", b" ")


@settings(max_examples=300, deadline=None)
@given(byte_files(*FRAGMENTS))
def test_any_bytes_give_data_or_a_refusal(data):
    whole = native(data, 1, 1 << 18)
    for chunk_size in (1, 7):
        assert native(data, 2, chunk_size) == whole
    try:
        parsed = parse_crfsuite(data)
    except FormatError:
        return
    assert (np.diff(parsed.sequence_ptr) > 0).all()
    assert parsed.indptr[-1] == parsed.indices.size


DUMP = """FILEHEADER = {
  magic: lCRF
}

LABELS = {
      0: B-NP
      1: I-NP
}

ATTRIBUTES = {
      0: w[0]=a --> b
      1: x
}

TRANSITIONS = {
  (1) B-NP --> I-NP: 2.345000
}

STATE_FEATURES = {
  (0) w[0]=a --> b --> B-NP: 0.500000
  (0) x --> I-NP: -1.25e-2
}

"""


def test_dump():
    dump = parse_crfsuite_dump(DUMP)
    assert dump.labels == ["B-NP", "I-NP"]
    assert dump.attributes == ["w[0]=a --> b", "x"]
    assert dump.transitions == [("B-NP", "I-NP", 2.345)]
    assert dump.states == [("w[0]=a --> b", "B-NP", 0.5), ("x", "I-NP", -0.0125)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  (1) B", "  1 B", "f:16: expected .* in section TRANSITIONS"),
        ("2.345000", "nan", "f:16: expected"),
        ("1: I-NP", "2: I-NP", "f:7: expected '1: name' in section LABELS"),
        ("LABELS = {", "LABELS", "f:5: expected a section"),
        ("ATTRIBUTES =", "OTHER =", "section ATTRIBUTES is missing"),
        ("1: I-NP", "9" * 5000 + ": I-NP", "f:7: expected"),
    ],
)
def test_damaged_dumps(old, new, message):
    with pytest.raises(FormatError, match=message):
        parse_crfsuite_dump(DUMP.replace(old, new), "f")
    with pytest.raises(FormatError, match="ends inside section"):
        parse_crfsuite_dump("LABELS = {", "f")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*DUMP.splitlines(), "x", "}", "é", "\x00"]), max_size=20).map("\n".join))
def test_any_dump_is_read_or_refused(text):
    with contextlib.suppress(LoglinearError):
        parse_crfsuite_dump(text)


def test_a_real_dump(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.choice(["A", "B"], size=5).tolist()
        trainer.append([{"w": f"{y}{rng.integers(3)}", "n": 0.5} for y in labels], labels)
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    tagger.dump(str(tmp_path / "dump"))
    dump, info = read_crfsuite_dump(tmp_path / "dump"), tagger.info()
    assert {name: int(number) for name, number in info.labels.items()} == {y: i for i, y in enumerate(dump.labels)}
    assert {(a, b): w for a, b, w in dump.transitions} == info.transitions
    assert {(a, y): w for a, y, w in dump.states} == info.state_features
    assert set(dump.attributes) == set(info.attributes)
