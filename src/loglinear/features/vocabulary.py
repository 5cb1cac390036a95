"""Strings and their ids, stored as one run of bytes and offsets into it: two arrays to save, map back and share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from loglinear import _core
from loglinear.errors import ModelFileError


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return UTF-8 bytes [total] uint8 and offsets [n + 1] int64; lone surrogates, which Python allows, are kept."""
    try:
        try:
            encoded = [s.encode() for s in strings]
        except UnicodeEncodeError:
            encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
    except AttributeError:
        place, wrong = next((i, s) for i, s in enumerate(strings) if not isinstance(s, str))
        raise TypeError(f"item {place} is {type(wrong).__name__}, not a string") from None
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


class Vocabulary:
    """An immutable, numbered set of strings.

    String ``i`` is ``blob[offsets[i]:offsets[i + 1]]`` in UTF-8. The index for look-up by string is built when first
    needed, so that a model loaded only to be described or cut costs nothing. At most 2^31 - 1 strings.
    """

    __slots__ = ("_blob", "_index", "_offsets")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, blob: np.ndarray, offsets: np.ndarray) -> None:
        self._blob = _frozen(blob)
        self._offsets = _frozen(offsets)
        self._index: Any = None

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Vocabulary:
        """Number the strings in the order given; raise ValueError if one occurs twice."""
        vocabulary = cls(*pack_strings(list(strings)))
        vocabulary.index()
        return vocabulary

    @classmethod
    def from_arrays(cls, blob: np.ndarray, offsets: np.ndarray, *, distinct: bool = False) -> Vocabulary:
        """Take arrays as they were saved, memory-mapped ones included, after a check that they belong together.

        distinct : also build the index, which refuses a string that occurs twice
        """
        for name, array, dtype in (("bytes", blob, np.uint8), ("offsets", offsets, np.int64)):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise ModelFileError(f"vocabulary: {name} must be a one-dimensional {np.dtype(dtype).name} array")
        blob, offsets = np.ascontiguousarray(blob), np.ascontiguousarray(offsets)
        try:
            _core.check_strings(_frozen(blob), _frozen(offsets))
            vocabulary = cls(blob, offsets)
            if distinct:
                vocabulary.index()
        except ValueError as error:
            raise ModelFileError(f"vocabulary: {error}") from None
        return vocabulary

    @property
    def blob(self) -> np.ndarray:
        """Return the bytes of all strings, one after another: [n_bytes] uint8."""
        return self._blob

    @property
    def offsets(self) -> np.ndarray:
        """Return where each string begins, and the end of the last: [n + 1] int64."""
        return self._offsets

    def index(self) -> _core.StringIndex:
        """Return the native look-up table, built on first use; raise ValueError if a string occurs twice."""
        if self._index is None:
            self._index = _core.StringIndex(self._blob, self._offsets)
        return self._index

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, i: int) -> str:
        if not 0 <= i < len(self):
            raise IndexError(f"id {i} is outside [0, {len(self)})")
        return self._decode(i, self._blob[self._offsets[i] : self._offsets[i + 1]].tobytes())

    def __iter__(self) -> Iterator[str]:
        raw, bounds = self._blob.tobytes(), self._offsets.tolist()
        return (self._decode(i, raw[bounds[i] : bounds[i + 1]]) for i in range(len(self)))

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and bool(self.ids([string])[0] >= 0)

    def ids(self, strings: Sequence[str]) -> np.ndarray:
        """Return the id of each string, -1 for an unknown one: [n] int32."""
        blob, offsets = pack_strings(strings)
        out = np.empty(len(offsets) - 1, dtype=np.int32)
        self.index().find(blob, offsets, out)
        return out

    def take(self, indices: np.ndarray | Sequence[int]) -> Vocabulary:
        """Return the vocabulary of the chosen strings only, renumbered in the order given."""
        chosen = np.ascontiguousarray(indices, dtype=np.int64)
        return Vocabulary(*_core.gather_strings(self._blob, self._offsets, chosen))

    def joined(self, more: Vocabulary) -> Vocabulary:
        """Return the strings of both vocabularies, numbered one after another."""
        offsets = np.concatenate([self._offsets, self._offsets[-1] + more._offsets[1:]])
        return Vocabulary(np.concatenate([self._blob, more._blob]), offsets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self._offsets, other._offsets) and np.array_equal(self._blob, other._blob)

    # A plain state, rather than __reduce__, is what skops stores as well as pickle.
    def __getstate__(self) -> dict[str, np.ndarray]:
        return {"blob": np.asarray(self._blob), "offsets": np.asarray(self._offsets)}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        checked = Vocabulary.from_arrays(state["blob"], state["offsets"])
        self._blob, self._offsets, self._index = checked._blob, checked._offsets, None

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} strings, {self._blob.size} bytes)"

    @staticmethod
    def _decode(i: int, raw: bytes) -> str:
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ModelFileError(f"vocabulary: string {i} is not valid UTF-8") from None


def join_vocabularies(parts: Sequence[Vocabulary]) -> tuple[Vocabulary, list[np.ndarray]]:
    """Return the strings of all parts, numbered by first occurrence, and the number there of each part's: [n] int32."""
    sizes = np.cumsum([0, *(len(part) for part in parts)])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts]) if parts else np.zeros(0, np.int64)
    blob = np.concatenate([part.blob for part in parts]) if parts else np.zeros(0, np.uint8)
    none = Vocabulary.from_strings([])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    numbers, blob, offsets = _core.intern_strings(none.blob, none.offsets, blob, offsets)
    return Vocabulary(blob, offsets), [numbers[a:b] for a, b in pairwise(sizes)]


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
