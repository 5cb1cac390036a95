import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from loglinear.errors import FormatError, MissingPackageError
from loglinear.formats.blocks import read_line_blocks
from loglinear.formats.examples import guess
from loglinear.formats.streams import packages
from loglinear.formats.text import atomic_write, decode, map_bytes, read_bytes, read_head, split_lines
from tests.packing import PACKS, zstd, zstd_in_frames, zstd_of_window

DATA = b"one\ttwo\n" * 1000


def zstd_checked(data):
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


def gzip_in_two(data):
    return gzip.compress(data[:9]) + gzip.compress(data[9:])


@pytest.mark.parametrize("pack", [*PACKS, gzip_in_two, zstd_in_frames, zstd_of_window(28)])
def test_compression_is_known_by_content(tmp_path, pack):
    path = tmp_path / "data.anything"
    path.write_bytes(pack(DATA))
    assert read_bytes(path) == DATA
    assert read_bytes(str(path)) == DATA


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(DATA))))
    assert read_bytes("-") == DATA


PACKERS = [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz"), (zstd_checked, "zstd")]


@pytest.mark.parametrize(("pack", "kind"), PACKERS)
@pytest.mark.parametrize("damage", [lambda d: d[:-5], lambda d: d[:12], lambda d: d[:30] + b"\xff\x00\xff" + d[33:]])
def test_damaged_archives_are_refused(tmp_path, pack, kind, damage):
    path = tmp_path / "data"
    path.write_bytes(damage(pack(os.urandom(1000))))
    with pytest.raises(FormatError, match=f"data: truncated or damaged {kind} file"):
        read_bytes(path)


def xz_of(n_bytes):
    return lambda data: lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": n_bytes}])


def xz_in_two(data):
    return lzma.compress(data[:9]) + bytes(8) + lzma.compress(data[9:])


@pytest.mark.parametrize("pack", [xz_of(1 << 27), xz_in_two, lambda data: lzma.compress(data) + bytes(4)])
def test_xz_streams_and_padding(tmp_path, pack):
    (tmp_path / "data").write_bytes(pack(DATA))
    assert read_bytes(tmp_path / "data") == DATA


@pytest.mark.parametrize(("pack", "kind"), [(xz_of(1 << 29), "xz"), (zstd_of_window(29), "zstd")])
def test_a_reader_does_not_remember_as_much_as_a_file_asks_for(tmp_path, pack, kind):
    (tmp_path / "data").write_bytes(pack(DATA))
    with pytest.raises(FormatError, match=f"data: this {kind} file asks for more than 256 MiB to be decompressed"):
        read_bytes(tmp_path / "data")


def test_what_is_no_zstd_after_zstd_is_damage(tmp_path):
    (tmp_path / "data").write_bytes(zstd.compress(DATA) + b"more")
    with pytest.raises(FormatError, match="data: truncated or damaged zstd file"):
        read_bytes(tmp_path / "data")
    with pytest.raises(FormatError, match="data: truncated or damaged zstd file"):
        list(read_line_blocks(tmp_path / "data", 100))


def test_an_absent_package_is_named():
    with pytest.raises(MissingPackageError, match=r"^zstd files need the package backports.nothing; install it: pip"):
        packages.require("backports.nothing", "zstd files need", "zstd")
    with pytest.raises(MissingPackageError, match=r"need the package nothing_at_all; .*'loglinear\[parquet\]'"):
        packages.require("nothing_at_all.parquet", "Parquet files need", "parquet")


@pytest.mark.parametrize("pack", PACKS)
def test_urls(pack):
    fsspec.filesystem("memory").pipe("/folder/data", pack(DATA))
    assert read_bytes("memory://folder/data") == map_bytes("memory://folder/data").tobytes() == DATA
    assert read_head("memory://folder/data", 5) == DATA[:5]
    assert b"".join(read_line_blocks("memory://folder/data", 1000)) == DATA
    assert guess("memory://folder/data") == "tsv"


def test_urls_that_cannot_be_read(monkeypatch):
    with pytest.raises(FormatError, match="memory://folder/nowhere: no such file or folder"):
        read_bytes("memory://folder/nowhere")
    with pytest.raises(FormatError, match="carrier-pigeon://x: cannot be opened: Protocol not known"):
        list(read_line_blocks("carrier-pigeon://x", 10))
    fsspec.filesystem("memory").pipe("/folder/cut", gzip.compress(DATA)[:-9])
    with pytest.raises(FormatError, match="memory://folder/cut: truncated or damaged gzip file"):
        list(read_line_blocks("memory://folder/cut", 100))
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackageError, match="s3://b/x: files by a URL need the package fsspec; install it: pip"):
        read_bytes("s3://b/x")


KILLED = """
import os, sys
from loglinear.formats.text import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), 9)
"""


def test_the_next_write_removes_what_a_killed_process_left(tmp_path):
    path, others = tmp_path / "out", [".out.tmp", ".out.0123456789ab.tmp.ll", ".other.0123456789ab.tmp", "out.tmp"]
    path.write_bytes(b"old")
    for name in others:
        (tmp_path / name).write_bytes(b"somebody else's")
    subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=120)
    assert len(list(tmp_path.iterdir())) == 2 + len(others)
    with atomic_write(path) as first:
        first.write(b"fir")
        with atomic_write(path) as second:  # leaves alone what is being written
            second.write(b"second")
        first.write(b"st")
    assert path.read_bytes() == b"first"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*others, "out"])


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(FormatError, match="nowhere: no such file or folder"):
        read_bytes(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="it is a directory, not a file"):
        read_bytes(tmp_path)


def test_decode():
    assert decode("\ufeffé".encode(), "f") == "é"
    assert decode(b"\xe9", "f", "latin-1") == "é"
    with pytest.raises(FormatError, match=r"f:3: byte 0xe9 at offset 0 of the line is not valid utf-8; .*--encoding"):
        decode(b"a\nb\n\xe9\n", "f")
    with pytest.raises(FormatError, match="unknown encoding 'klingon'"):
        decode(b"a", "f", "klingon")


def test_only_line_feeds_end_lines():
    assert split_lines("a\r\nb\u2028c\x0cd\n\ne") == ["a", "b\u2028c\x0cd", "", "e"]
    assert split_lines("") == []


def test_atomic_write_replaces(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_atomic_write_leaves_the_old_file_on_failure(tmp_path, failure):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    def write():
        with atomic_write(path) as file:
            file.write(b"half")
            raise failure

    with pytest.raises(type(failure)):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_write_follows_links_and_writes_to_devices(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    with atomic_write("/dev/null") as file:
        file.write(b"gone")
    assert not Path("/dev/null").is_file()


def test_atomic_write_refusals(tmp_path):
    out = tmp_path / "no" / "out"
    with pytest.raises(FormatError, match="cannot write: no such file or folder"), atomic_write(out):
        pass
    with pytest.raises(FormatError, match="cannot write: it is a directory"), atomic_write(tmp_path):
        pass


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.tsv", b"", "tsv"),
        ("a.txt.gz", b"", "tsv"),
        ("a.JSONL.xz", b"", "jsonl"),
        ("a.json", b"", "jsonl"),
        ("a.libsvm", b"", "svmlight"),
        ("a.data", b"\n \n# note\n+1 qid:3 1:0.5 7:1e-3 # c\n", "svmlight"),
        ("a", b"+1 1:0.5\r\n", "svmlight"),
        ("a", gzip.compress(b"spam\t1:30 pm\n", mtime=0), "tsv"),
        ("a", b'{"label": 1}', "jsonl"),
        ("a", b"1 " + b"1:1 " * 100_000, "svmlight"),
    ],
)
def test_guess(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content)
    assert guess(tmp_path / name) == expected


def test_guess_refuses(tmp_path):
    (tmp_path / "a").write_bytes(b"just words")
    with pytest.raises(FormatError, match=r"a: the format cannot be guessed .*--format \(jsonl, svmlight, tsv\)"):
        guess(tmp_path / "a")
    with pytest.raises(FormatError, match="<stdin>: the format of a stream cannot be guessed"):
        guess("-")
    with pytest.raises(FormatError, match="no such file"):
        guess(tmp_path / "nowhere")
