import gzip
import io
import json
import os
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.data.corpus import iter_corpus, read_corpus
from loglinear.errors import FormatError, MissingPackageError
from loglinear.formats import running_text
from loglinear.formats.running_text import TextOptions, iterate_bytes, iterate_text, read_text
from loglinear.formats.streams.ahead import read_ahead
from tests.packing import PACKS

ROWS = ["a b", "", "c ä\nd e", " = heading = \n", "b c"]
LINES = ["a b", "", "c ä", "d e", " = heading = ", "", "b c"]


def write_parquet(path, texts, **options):
    pq.write_table(pa.table({"n": list(range(len(texts))), "text": texts}), path, **options)


def write_arrow(path, texts, opener=pa.ipc.new_file):
    table = pa.table({"n": list(range(len(texts))), "text": texts})
    with opener(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def write_arrow_stream(path, texts):
    write_arrow(path, texts, pa.ipc.new_stream)


def write_dictionary(path, texts):
    pq.write_table(pa.table({"text": pa.array(texts).dictionary_encode()}), path, row_group_size=2)


def write_large(path, texts):
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), path, compression="zstd")


def write_jsonl(path, texts):
    records = ({"n": n, "text": text, "more": [{"text": 1}, None]} for n, text in enumerate(texts))
    path.write_text("\n".join(json.dumps(record, ensure_ascii=n % 2 == 0) for n, record in enumerate(records)))


WRITERS = [write_parquet, write_arrow, write_arrow_stream, write_dictionary, write_large, write_jsonl]


# ---- files ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("size", [1, 4, 1 << 20])
def test_a_column_is_read_as_if_its_texts_were_written_out(tmp_path, write, size):
    path = tmp_path / ("d.jsonl" if write is write_jsonl else "d")
    write(path, ROWS)
    assert b"".join(iterate_bytes(path, size)).decode() == "".join(line + "\n" for line in LINES)
    plain = tmp_path / "p.txt"
    plain.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    for units in ("words", "characters", "bytes"):
        found, want = (read_text(one, TextOptions(units=units, keep_empty=True)) for one in (path, plain))
        for name in ("tokens", "sentence_ptr", "blob", "offsets", "counts"):
            np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
        assert found.n_lines == want.n_lines
        blocks = list(iterate_text(path, size, TextOptions(units=units, keep_empty=True)))
        assert sum(block.text.n_lines for block in blocks) == len(LINES)
        assert [block.first_line for block in blocks] == sorted(block.first_line for block in blocks)
    words = read_text(path, TextOptions())
    assert [words.place(i) for i in range(8)] == [(str(path), row) for row in (1, 1, 3, 3, 3, 3, 4, 4)]


@pytest.mark.parametrize("write", WRITERS)
def test_another_column(tmp_path, write):
    path = tmp_path / "d.jsonl"
    write(path, ROWS)
    lacks = "(there is no column|the object has no key)"
    with pytest.raises(FormatError, match=rf"d.jsonl.*: {lacks} 'body'.*'text'.*text_column"):
        read_corpus(path, text_column="body")


def test_a_table_without_strings(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1, 2], "text": ["a", "b"], "raw": [b"a", b"b"]}), path)
    with pytest.raises(FormatError, match=r"t.parquet: there is no column 'body'; the columns are 'id', 'text', 'raw'"):
        read_corpus(path, text_column="body")
    for column in ("id", "raw"):
        with pytest.raises(FormatError, match=rf"t.parquet: the column '{column}' holds .*, not strings; name another"):
            read_corpus(path, text_column=column)
    pq.write_table(pa.table({"text": ["a"] * 5 + [None]}), path, row_group_size=2)
    with pytest.raises(FormatError, match=r"t.parquet:6: the column 'text' is null here; leave such rows out"):
        read_corpus(path)
    pq.write_table(pa.table({"text": ["a b", "c\nd <s>"]}), path)
    with pytest.raises(FormatError, match=r"t.parquet:2: '<s>' is reserved"):
        read_corpus(path)


@pytest.mark.parametrize("write", [write_parquet, write_arrow, write_arrow_stream])
def test_damaged_tables(tmp_path, write):
    path = tmp_path / "d"
    write(path, ["some text"] * 1000)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"d: truncated or damaged (Parquet|Arrow|Arrow stream) file \("):
        read_corpus(path)


@pytest.mark.parametrize("pack", PACKS)
def test_json_lines_are_known_by_name_or_because_a_column_is_named(tmp_path, pack):
    text = b'{"text": "a b", "body": "c"}\n\n{"body": "d e f", "text": "b"}\n'
    (tmp_path / "d.jsonl.any").write_bytes(pack(text))
    (tmp_path / "d.jsonl.gz").write_bytes(pack(text))
    (tmp_path / "d.txt").write_bytes(pack(b"a b\nb"))
    assert read_corpus(tmp_path / "d.jsonl.gz")[0].n_tokens == 3
    assert read_corpus(tmp_path / "d.jsonl.any", text_column="body")[0].n_tokens == 4
    files = [tmp_path / "d.txt", tmp_path / "d.jsonl.gz"]
    assert read_corpus(files, text_column="text")[0].n_tokens == 6


@pytest.mark.parametrize(("line", "message"), [
    ("plain text", "expected a JSON object, one per line"), ('["a"]', "expected a JSON object"),
    ('{"text": "a"', "bad JSON: expected a comma"), ('{"text": "a"} {}', "bad JSON: more after the object"),
    ('{"text": "a", }', "bad JSON: expected a key"), ('{"text" "a"}', "bad JSON: expected a colon"),
    ('{"x": "b", "text": "a', "bad JSON: a string without its end"), ('{"text": "\t"}', "a control character"),
    (r'{"text": "\x"}', "an unknown escape"), (r'{"text": "\u12"}', "an escape without"), (r'{"text": "\u1', "cut off"),
    ('{"x": 01, "text": ""}', "expected a comma"), ('{"x": nul, "text": ""}', "expected a value"),
    ('{"x": 1., "text": ""}', "without digits after"), ('{"x": 1e, "text": ""}', "without digits in its exponent"),
    ('{"x": ' + "[" * 600 + "]" * 600 + ', "text": ""}', "nested too deeply"),
    ('{"text": "a", "text": "b"}', "the key 'text' occurs twice"), ('{"text": null}', "must be a string, not null"),
    ('{"text": 3}', "must be a string, not a number"), (r'{"text": "\ud800 a"}', "half of a surrogate pair"),
    (r'{"text": "\ud800\u0041"}', "half of a surrogate pair"),
    ('{"body": "a", "id": 3}', "the object has no key 'text', and has 'body', 'id'; name the one of the text"),
    ('{"text": "a \\u0000"}', "a NUL byte"), ("{}", "the object has no key 'text'; name"),
])  # fmt: skip
def test_faults_of_json_lines(tmp_path, line, message):
    path = tmp_path / "d.jsonl"
    path.write_text('{"text": "one\\ntwo"}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(FormatError) as error:
        read_corpus(path)
    assert str(error.value).startswith(f"{path}:3: ")
    assert message in str(error.value)
    with pytest.raises(FormatError, match=r"d.jsonl:3: "):
        list(iterate_text(path, 1, TextOptions()))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6,
)  # fmt: skip
OTHERS = st.dictionaries(st.text().filter(lambda key: key != "é\n"), VALUES, max_size=3)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(TEXT, OTHERS, st.booleans())), st.integers(1, 60))
def test_native_json_is_pythons(records, chunk_size):
    lines = [json.dumps({**more, "é\n": text}, ensure_ascii=ascii) for text, more, ascii in records]
    data = np.frombuffer("\n".join(lines).encode("utf-8", "surrogatepass"), np.uint8)
    text, places, n_lines = _core.json_texts(_core.ThreadPool(2), data, "é\n", chunk_size)
    assert text.tobytes().decode() == "".join(text + "\n" for text, _, _ in records)
    assert places.tolist() == [i for i, (text, _, _) in enumerate(records, 1) for _ in range(text.count("\n") + 1)]
    assert n_lines == len(lines)


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(
    ['{', '}', '"text"', ':', ',', '"', '\\', '\\u', 'd83d', '[', ']', '1', '-', '.', 'e', 'null', ' ', '\n', 'a']),
    max_size=20).map(lambda parts: b'{"text":"x",' + "".join(parts).encode())))  # fmt: skip
def test_what_json_accepts_and_refuses_is_what_python_does(data):
    line = data.split(b"\n")[0]

    def python():
        try:
            found = json.loads(line, object_pairs_hook=list)
            texts = [value for key, value in found if key == "text"]
            return texts[0] + "\n" if len(texts) == 1 and isinstance(texts[0], str) else None
        except (ValueError, TypeError):
            return None

    def native():
        try:
            return _core.json_texts(_core.ThreadPool(1), np.frombuffer(line, np.uint8), "text")[0].tobytes().decode()
        except (_core.ParseError, UnicodeDecodeError):
            return None

    expected = python()
    if not line.strip(b" \t\r"):
        assert native() == ""
    elif b"NaN" not in line and b"Infinity" not in line and (expected is None or expected.isprintable()):
        assert native() == expected


# ---- memory ---------------------------------------------------------------------------------------------------------
def test_parts_are_numbered_as_the_whole(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for name in ("a.txt", "b.txt", "c.jsonl"):
        lines = [" ".join(f"w{n}" for n in rng.zipf(1.5, rng.integers(0, 9)) % 50) for _ in range(60)]
        if name.endswith("jsonl"):
            lines = [json.dumps({"text": line + "\nx y"}) for line in lines]
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "z.gz").write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
    files = [tmp_path / name for name in ("a.txt", "z.gz", "c.jsonl", "b.txt")]
    for units in ("words", "characters", "bytes"):
        want = read_text(files, TextOptions(units=units))
        with monkeypatch.context() as patch:
            for size in ("_PART", "_MAPPED_PART"):
                patch.setattr(running_text, size, 70)
            patch.setattr(running_text, "_LOOK_AHEAD", 3)
            told: list[tuple[int, int]] = []
            found = read_text(files, TextOptions(units=units, progress=partial(lambda to, *now: to.append(now), told)))
            lists = [["w1", f"w{i}"] for i in range(40)]
            in_memory = read_text(iter(lists), TextOptions(units=units))
        assert told == sorted(told)
        assert told[-1][0] == told[-1][1] == sum(file.stat().st_size for file in files)
        for name in ("tokens", "sentence_ptr", "blob", "offsets", "counts", "first_text", "first_line"):
            np.testing.assert_array_equal(getattr(found, name), getattr(want, name), name)
        assert found.n_lines == want.n_lines
        assert in_memory.tokens.tolist() == read_text(lists, TextOptions(units=units)).tokens.tolist()


def test_reading_ahead():
    closed = []

    def items(n, error):
        try:
            yield from range(n)
            if error:
                raise FormatError("at its place", "f", 3)
        finally:
            closed.append(n)

    assert list(read_ahead(items(50, False))) == list(range(50))
    found = read_ahead(items(20, True))
    assert [next(found) for _ in range(20)] == list(range(20))
    with pytest.raises(FormatError, match="f:3: at its place"):
        next(found)
    left = read_ahead(items(1000, False))
    assert next(left) == 0
    left.close()
    assert closed == [50, 20, 1000]


def test_batches_are_bounded(tmp_path):
    for write in (write_parquet, write_arrow, write_arrow_stream):
        write(tmp_path / "d", ["word " * 100] * 3000)
        assert max(map(len, iterate_bytes(tmp_path / "d", 20_000))) < 60_000


# ---- records in memory ----------------------------------------------------------------------------------------------
class Frame:
    """What pandas and polars have in common."""

    def __init__(self, **columns):
        self.table, self.columns, self.dtypes = columns, list(columns), {}

    def __iter__(self):
        return iter(self.columns)

    def __getitem__(self, name):
        return self.table[name]


@pytest.mark.parametrize("make", [
    lambda: [{"text": row, "n": 1} for row in ROWS], lambda: ({"text": row} for row in ROWS),
    lambda: iter([{"text": row} for row in ROWS]), lambda: Frame(n=[1] * 5, text=ROWS),
])  # fmt: skip
def test_records(make, tmp_path):
    write_parquet(tmp_path / "d", ROWS)
    want, words = read_corpus(tmp_path / "d")
    found, vocabulary = read_corpus(make())
    assert found.words.tolist() == want.words.tolist()
    assert found.sentence_ptr.tolist() == want.sentence_ptr.tolist()
    assert list(vocabulary) == list(words)
    blocks = list(iter_corpus(make(), vocabulary, 5))
    assert [block.first_line for block in blocks] == [1, 3, 4, 5]
    assert sum(block.sentences.n_tokens for block in blocks) == want.n_tokens


def test_pipes_lose_nothing():
    for text, column in ((b"a b c\nd\n" * 50, None), (b'{"text": "a b c\\nd"}\n' * 50, "text")):
        out, into = os.pipe()
        os.write(into, text)
        os.close(into)
        assert read_corpus(Path(f"/dev/fd/{out}"), text_column=column)[0].n_tokens == 200
        os.close(out)


@pytest.mark.parametrize("write", [write_parquet, write_arrow, write_arrow_stream])
def test_tables_are_not_read_from_pipes_or_compressed_files(tmp_path, monkeypatch, write):
    write(tmp_path / "d", ROWS)
    data = (tmp_path / "d").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(data))))
    with pytest.raises(FormatError, match=r"<stdin>: (Parquet|Arrow|Arrow stream) is not read from a pipe; write"):
        read_corpus("-")
    (tmp_path / "d.gz").write_bytes(gzip.compress(data))
    with pytest.raises(FormatError, match=r"d.gz: a compressed (Parquet|Arrow|Arrow stream) file; decompress it first"):
        read_corpus(tmp_path / "d.gz")


def test_faults_of_records():
    with pytest.raises(FormatError, match=r"<sentences>:2: the record has no key 'body'; its keys are 'text': name"):
        read_corpus([{"body": "a"}, {"text": "b"}], text_column="body")
    with pytest.raises(FormatError, match=r"<sentences>:1: the value of 'text' is None, not a string; leave"):
        read_corpus([{"text": None}])
    with pytest.raises(FormatError, match=r"<sentences>:3: '</s>' is reserved"):
        read_corpus([{"text": "a\nb"}, {"text": "c"}, {"text": "d\n\n</s>"}])
    with pytest.raises(FormatError, match=r"the data frame has no column 'text'; its columns are 'a', 'b'"):
        read_corpus(Frame(a=["x"], b=["y"]))
    with pytest.raises(TypeError, match="not dict"):
        read_corpus({"text": ["a", "b"]})


# ---- elsewhere ------------------------------------------------------------------------------------------------------
def test_tables_by_url(tmp_path):
    for write in WRITERS:
        write(tmp_path / "d.jsonl", ROWS)
        fsspec.filesystem("memory").pipe("/d.jsonl", (tmp_path / "d.jsonl").read_bytes())
        assert b"".join(iterate_bytes("memory://d.jsonl", 100)).decode().splitlines() == LINES


def test_without_pyarrow(tmp_path, monkeypatch):
    write_parquet(tmp_path / "d.parquet", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"d.parquet: Parquet files need the package pyarrow; install"):
        read_corpus(tmp_path / "d.parquet")
