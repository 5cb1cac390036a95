import gzip
import itertools
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear.errors import FormatError
from loglinear.formats import blocks
from loglinear.formats.blocks import iterate_lines, read_blocks, read_line_blocks
from tests.packing import PACKS


@pytest.mark.parametrize("pack", PACKS)
def test_blocks_of_lines(tmp_path, pack):
    for data in (b"", b"\n", b"ab\ncd\n\nlast", b"x" * 5000 + b"\ny\n"):
        (tmp_path / "f").write_bytes(pack(data))
        for size in (1, 3, 1 << 20):
            blocks = list(read_line_blocks(tmp_path / "f", size))
            assert b"".join(blocks) == data
            assert all(block.endswith(b"\n") for block in blocks[:-1])
            assert b"" not in blocks


def test_damage_while_reading_blocks(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(b"line\n" * 10_000)[:-9])
    with pytest.raises(FormatError, match="f: truncated or damaged gzip file"):
        list(read_line_blocks(tmp_path / "f", 100))
    with pytest.raises(FormatError, match="no such file"):
        list(read_line_blocks(tmp_path / "nowhere", 100))


def test_lines_in_blocks(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo\nthree")
    assert "".join(iterate_lines(path, 4)) == "one\ntwo\nthree"
    path.write_bytes("ein\nzwö\n".encode("utf-16"))
    assert "".join(iterate_lines(path, 3, "utf-16")) == "ein\nzwö\n"
    path.write_bytes(b"one\ntwo\n\xff\n")
    with pytest.raises(FormatError, match=r"t:3: byte 0xff is not valid utf-8; name the right encoding"):
        list(iterate_lines(path, 4))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("pack", PACKS)
def test_blocks_end_with_blank_lines(tmp_path, end, pack):
    records = [end.join([f"a{i}", f"b{i}", "", ""]) for i in range(50)]
    data = "".join(records).encode() + b"last"
    path = tmp_path / "d"
    path.write_bytes(pack(data))
    pieces = list(read_blocks(path, 40))
    assert b"".join(pieces) == data
    assert len(pieces) > 10
    assert all(piece.endswith(2 * end.encode()) for piece in pieces[:-1])
    assert list(read_blocks(path, 1 << 20)) == [data[:-4], b"last"]


def test_blocks_without_blank_lines_and_of_what_is_damaged(tmp_path):
    path = tmp_path / "d"
    path.write_bytes(b"word\n" * 100)
    assert list(read_blocks(path, 7)) == [b"word\n" * 100]
    path.write_bytes(gzip.compress(b"word\n" * 1000)[:-9])
    with pytest.raises(FormatError, match="damaged gzip"):
        list(read_blocks(path, 1 << 20))
    with pytest.raises(FormatError, match="no such file"):
        list(read_blocks(tmp_path / "none", 1))


def test_a_line_of_blanks_is_a_blank_line_wherever_the_bytes_are_cut(tmp_path):
    data = b"a\nb\n \t\r\nc\n\n\nd\n"
    (tmp_path / "d").write_bytes(data)
    for size in range(1, 25):
        pieces = list(read_blocks(tmp_path / "d", size))
        assert b"".join(pieces) == data
        assert set(itertools.accumulate(map(len, pieces))) <= {8, 11, 12, 14}
        assert pieces[-1] == b"d\n"
    assert list(read_blocks(tmp_path / "d", 1)) == [b"a\nb\n \t\r\n", b"c\n\n", b"\n", b"d\n"]


@given(st.text(alphabet="a \t\r\n", max_size=60), st.integers(1, 9))
def test_long_lines_are_cut_where_short_ones_are(tmp_path_factory, text, size):
    path = tmp_path_factory.mktemp("blocks") / "a.txt"
    path.write_bytes(text.encode())
    expected = [list(read(path, size)) for read in (blocks.read_blocks, blocks.read_line_blocks)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "_SHORT", 1)
        assert [list(read(path, size)) for read in (blocks.read_blocks, blocks.read_line_blocks)] == expected
    assert b"".join(expected[0]) == b"".join(expected[1]) == text.encode()


def test_blank_lines_of_another_encoding(tmp_path):
    text = "\u0a0a\n\nz\u00f6\n"  # the bytes of the first character look like two line ends
    (tmp_path / "d").write_bytes(text.encode("utf-16"))
    assert list(read_blocks(tmp_path / "d", 5, "utf-16")) == ["\u0a0a\n\n".encode(), "z\u00f6\n".encode()]


def test_a_pipe_gives_what_has_come():
    out, into = os.pipe()
    blocks = read_line_blocks(f"/dev/fd/{out}", 1 << 20)
    for said in (b"one\n", b"two\nthree\n"):
        os.write(into, said)
        assert next(blocks) == said
    os.write(into, b"fo")
    os.write(into, b"ur\nfi")
    assert next(blocks) == b"four\n"
    os.write(into, b"ve")
    os.close(into)
    assert list(blocks) == [b"five"]
    os.close(out)


def test_a_pipe_whose_writer_is_ahead_gives_large_blocks():
    out, into = os.pipe()
    data = b"some words\n" * 500_000
    writer = threading.Thread(target=lambda: [os.write(into, data[i : i + 65536]) for i in range(0, len(data), 65536)])
    writer.start()
    blocks = read_line_blocks(f"/dev/fd/{out}", 1 << 20)
    found = [next(blocks)]
    while sum(map(len, found)) < len(data):
        found.append(next(blocks))
    writer.join()
    os.close(into)
    os.close(out)
    assert b"".join(found) == data
    assert max(map(len, found)) > 1 << 17  # more than a pipe holds


def test_a_signal_that_cuts_no_read_short_is_seen():
    """It came between Python's last look for signals and the read, or to another thread, which has the same effect."""
    out, into = os.pipe()
    os.write(into, b"one\n")
    blocks = read_line_blocks(f"/dev/fd/{out}", 1 << 20)
    assert next(blocks) == b"one\n"
    late = []
    too_late = threading.Timer(20.0, lambda: late.append(os.write(into, b"two\n")))
    elsewhere = threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        too_late.start()
        elsewhere.start()
        with pytest.raises(KeyboardInterrupt):
            next(blocks)
        too_late.cancel()
        too_late.join()
        assert not late  # or only the next line let the signal through
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(into)
        os.close(out)
