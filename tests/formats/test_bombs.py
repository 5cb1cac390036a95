"""Files made to fill the memory: refused early, with the line and what to do."""

import gzip
import lzma
import subprocess
import sys

import pytest
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
    """Three gigabytes of zeros after a line of text, in three megabytes."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.txt.gz"
    one = gzip.compress(bytes(1 << 26), 6)
    path.write_bytes(gzip.compress(b"a line\n") + one * 48)
    return path


@pytest.mark.parametrize("use", USES)
def test_a_small_file_does_not_fill_the_memory(bomb, use):
    done = subprocess.run([sys.executable, "-c", PROCESS.format(use=USES[use]), bomb], capture_output=True, text=True,
                          timeout=300, check=True)  # fmt: skip
    message, peak = done.stdout.splitlines()
    assert str(bomb) in message
    assert {"whole file": "decompress it first", "sequences": ":1: a blank line"}.get(use, ":2: the end of") in message
    assert int(peak) < 1000  # MB, of 3,000


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

