"""Files made to fill the memory: refused early, with the line and what to do."""

import bz2
import gzip
import lzma
import subprocess
import sys

import pytest
from packing import zstd
from peak import PEAK

from loglinear.errors import FormatError
from loglinear.formats import blocks, text

USES = {
    "whole file": "from loglinear.formats.text import read_bytes; read_bytes(path)",
    "lines": "from loglinear.formats.blocks import read_line_blocks; list(read_line_blocks(path, 1 << 20))",
    "sequences": "from loglinear.formats.blocks import read_blocks; list(read_blocks(path, 1 << 20))",
    "language model": "from loglinear import LanguageModel; LanguageModel(2, verbose=0).fit(path)",
}
PROCESS = PEAK + """
import sys
path = sys.argv[1]
try:
    {use}
except ValueError as error:
    print(error)
print(peak() >> 20)
"""


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """More than a gigabyte of zeros after a line of text, in little more than a megabyte."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.txt.gz"
    one = gzip.compress(bytes(1 << 26), 6)
    path.write_bytes(gzip.compress(b"a line\n") + one * 20)
    return path


NEWLINES = PEAK + """
import sys
from loglinear.formats.class_file import read_classes
from loglinear.formats.jsonl import read_jsonl
from loglinear.formats.tsv import read_tsv
before = peak()
for read in (read_tsv, read_jsonl, read_classes):
    try:
        read(sys.argv[1])
    except ValueError as error:
        print(error)
print((peak() - before) >> 20)
"""


def test_lines_without_content_take_no_memory(tmp_path):
    """A list of them would take eight bytes for each: 64 MB."""
    path = tmp_path / "newlines.gz"
    path.write_bytes(gzip.compress(b"\n" * (1 << 23), 1))
    done = subprocess.run([sys.executable, "-c", NEWLINES, path], capture_output=True, text=True, check=True)
    assert int(done.stdout.splitlines()[-1]) < 60  # MB


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd.compress])
@pytest.mark.parametrize("content", [b"\0", b"\n", b"a\n"])
def test_all_compressions_are_bounded(tmp_path, monkeypatch, pack, content):
    for module, name in ((text, "_MOST_DECOMPRESSED"), (blocks, "_LONGEST_LINE")):
        monkeypatch.setattr(module, name, 1 << 16)
    path = tmp_path / "bomb"
    path.write_bytes(pack(b"a line\n" + content * (1 << 22)))
    with pytest.raises(FormatError, match=f"bomb: {path.stat().st_size} bytes of .* become more than"):
        text.read_bytes(path)
    if content == b"\0":
        with pytest.raises(FormatError, match="bomb:2: the end of a line does not come within 65536 bytes"):
            list(blocks.read_line_blocks(path, 1 << 14))
    else:
        assert max(map(len, blocks.read_line_blocks(path, 1 << 14))) <= 1 << 15


@pytest.mark.parametrize("use", USES)
def test_a_small_file_does_not_fill_the_memory(bomb, use):
    done = subprocess.run([sys.executable, "-c", PROCESS.format(use=USES[use]), bomb], capture_output=True, text=True,
                          timeout=300, check=True)  # fmt: skip
    message, peak = done.stdout.splitlines()
    assert str(bomb) in message
    assert {"whole file": "decompress it first", "sequences": ":1: a blank line"}.get(use, ":2: the end of") in message
    assert int(peak) < 800  # MB, of 1,280


def test_what_is_compressed_well_is_read(tmp_path, monkeypatch):
    data = b"the same line\n" * 100_000
    (tmp_path / "a.xz").write_bytes(lzma.compress(data))
    assert text.read_bytes(tmp_path / "a.xz") == data
    monkeypatch.setattr(text, "_MOST_DECOMPRESSED", 1 << 20)
    with pytest.raises(FormatError, match=r"a\.xz: \d+ bytes of xz become more than 1048576"):
        text.read_bytes(tmp_path / "a.xz")


def test_lines_and_records_have_a_length(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_LONGEST_LINE", 1000)
    monkeypatch.setattr(blocks, "_LONGEST", 3000)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\n" + b"c" * 900 + b"\n" + b"d" * 1500 + b"\n")
    with pytest.raises(FormatError, match=r"a\.txt:4: the end of a line does not come within 1000 bytes"):
        list(blocks.read_line_blocks(path, 100))
    path.write_bytes(b"a\n\n" + (b"d" * 99 + b"\n") * 40)
    with pytest.raises(FormatError, match=r"a\.txt:3: a blank line does not come within 3000 bytes"):
        list(blocks.read_blocks(path, 100))

