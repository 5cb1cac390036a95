"""Amounts of memory as text."""

import pytest

from loglinear.data.memory import parse_memory


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [(7, 7), ("7", 7), ("100k", 102_400), ("512M", 1 << 29), ("4G", 1 << 32), ("1.5 GiB", 3 << 29), ("2tb", 1 << 41)],
)
def test_parses(text, n_bytes):
    assert parse_memory(text) == n_bytes


@pytest.mark.parametrize("text", ["", "G", "-1", 0, -5, "0", "4X", "4 G G", "1e9", "nan", True, 2.5, None])
def test_refuses(text):
    with pytest.raises(ValueError, match="memory is a positive number of bytes"):
        parse_memory(text)
