"""The array types of signatures, and a hash of what arrays hold."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


def fingerprint(*arrays: NDArray[Any] | None, start: str = "") -> str:
    """Return a short hash of a text and of the types, shapes and values of arrays; None is left out."""
    digest = hashlib.blake2b(start.encode(), digest_size=8)
    for array in arrays:
        if array is not None:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
