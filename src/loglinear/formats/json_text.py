"""Plain values as one line of JSON."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(value: Any) -> str:
    """Return a JSON value on one line; numbers that JSON lacks (infinity, NaN) become null."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value
