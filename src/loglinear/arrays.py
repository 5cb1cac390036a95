"""The array types of signatures, where long vectors live, and a hash of what arrays hold.

Vectors as long as the weights are made by ``new`` and its kin: in memory, or, within ``vectors_made_by``, where a
function puts them, such as mapped files. What is computed is the same, to the bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

Maker = Callable[[int, "np.dtype[Any]"], NDArray[Any]]  # (size, type) -> an array of any content
_maker: ContextVar[Maker | None] = ContextVar("maker", default=None)


@contextmanager
def vectors_made_by(maker: Maker) -> Iterator[None]:
    """Let long vectors be made by a function in this context."""
    token = _maker.set(maker)
    try:
        yield
    finally:
        _maker.reset(token)


def new(size: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a long vector of any content."""
    maker = _maker.get()
    return np.empty(size, dtype) if maker is None else maker(size, np.dtype(dtype))


def new_zeros(size: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a long vector of zeros."""
    if _maker.get() is None:
        return np.zeros(size, dtype)
    out = new(size, dtype)
    out[:] = 0
    return out


def new_like(vector: NDArray[Any]) -> NDArray[Any]:
    """Return a vector of the size and type of another, of any content."""
    return new(vector.size, vector.dtype)


def new_copy(vector: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """Return a copy of a vector, of its own type or another."""
    out = new(vector.size, vector.dtype if dtype is None else dtype)
    np.copyto(out, vector.ravel(), casting="same_kind")
    return out


def fingerprint(*arrays: NDArray[Any] | None, start: str = "") -> str:
    """Return a short hash of a text and of the types, shapes and values of arrays; None is left out."""
    digest = hashlib.blake2b(start.encode(), digest_size=8)
    for array in arrays:
        if array is not None:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
