"""Amounts of memory as people write them: "4G"."""

from __future__ import annotations

import re

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_memory(amount: int | str) -> int:
    """Return the bytes of a number or of text such as "4G", "512M", "1.5 GB" or "100k" (powers of 1024)."""
    if isinstance(amount, int) and not isinstance(amount, bool):
        if amount > 0:
            return amount
    elif isinstance(amount, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", amount, re.IGNORECASE | re.ASCII)
        if found and (n_bytes := int(float(found[1]) * _UNITS[found[2].lower()])) > 0:
            return n_bytes
    raise ValueError(f"memory is a positive number of bytes or text such as '4G' or '512M', not {amount!r}")
