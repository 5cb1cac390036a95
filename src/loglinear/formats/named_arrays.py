"""Named arrays and a few strings in one file: the safetensors format, written and read block by block.

A file is a length of eight bytes, a header of JSON, and the numbers of the arrays, one array after the other. Nothing
in a file is trusted: a header must describe exactly the bytes that follow it, so that no array can be larger than the
file.

What is read is a copy in memory of our own. The file stays open until the last array is read: if it is replaced by
another one of its name, arrays are those of the file that was opened; if it is changed in place, an array that is read
afterwards is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from loglinear.errors import ModelFileError

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1", "I8": "|i1"}
_DTYPES["BOOL"] = "|b1"
_DIGITS = 32  # of a checksum
_ALIGNMENT = 8  # bytes
_BLOCK = 1 << 22  # bytes that are written, read or hashed at a time
_LONGEST_HEADER = 100_000_000  # bytes, as for every reader of safetensors
_MOST_DIMENSIONS = 8
METADATA, CHECKSUM = "__metadata__", "checksum"


class _Place(NamedTuple):
    """Where an array is, and what it is."""

    offset: int  # in the file
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


class StoredArrays(Mapping[str, np.ndarray]):
    """The arrays of an open file, each of them read when it is first asked for."""

    def __init__(self, file: _OpenFile, places: dict[str, _Place], mmap: bool) -> None:
        self.file, self.mmap, self._places = file, mmap, places
        self._read: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._read:
            place = self._places[name]
            self._read[name] = self.file.map(place) if self.mmap and place.nbytes else self.file.read(place)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays."""
        return sum(place.nbytes for place in self._places.values())

    def offset(self, name: str) -> int:
        """Return where in the file the numbers of an array begin."""
        return self._places[name].offset

    def empty(self, name: str) -> np.ndarray:
        """Return memory for an array, without its numbers."""
        return np.empty(self._places[name].shape, self._places[name].dtype)

    def part(self, prefix: str) -> StoredArrays:
        """Return the arrays whose names begin with a prefix, by the rest of their names."""
        own = {name.removeprefix(prefix): p for name, p in self._places.items() if name.startswith(prefix)}
        return StoredArrays(self.file, own, self.mmap)

    def blocks(self, name: str) -> Iterator[Any]:
        """Yield the bytes of an array piece by piece; nothing of it is kept."""
        place = self._places[name]
        for begin in range(0, place.nbytes, _BLOCK):
            size = min(_BLOCK, place.nbytes - begin)
            yield self.file.read(_Place(place.offset + begin, np.dtype(np.uint8), (size,))).data

    def described(self) -> Iterator[tuple[str, np.dtype[Any], tuple[int, ...]]]:
        """Yield the name, type and shape of each array."""
        for name, place in self._places.items():
            yield name, place.dtype, place.shape


class _OpenFile:
    """A file that others may change: what is read is refused if it is not from the file as it was when opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._version = self._now()

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def __deepcopy__(self, memo: object) -> _OpenFile:
        return self  # two objects with one descriptor would close it twice

    __copy__ = __deepcopy__

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.path, self._version)

    def _now(self) -> tuple[int, int]:
        found = os.fstat(self._descriptor)
        return found.st_size, found.st_mtime_ns

    def fileno(self) -> int:
        return self._descriptor

    @property
    def size(self) -> int:
        return self._version[0]

    def bytes(self, size: int, offset: int) -> bytes:
        """Return bytes of the file."""
        return self.read(_Place(offset, np.dtype(np.uint8), (size,))).tobytes()

    def read(self, place: _Place) -> np.ndarray:
        """Return a copy of an array, which cannot be written."""
        array = np.empty(place.shape, place.dtype)
        data, done = array.reshape(-1).view(np.uint8).data, 0
        try:
            while done < place.nbytes:
                n = os.preadv(self.fileno(), [data[done : done + (1 << 30)]], place.offset + done)
                if n == 0:
                    break
                done += n
            same = self._now() == self._version
        except OSError as error:
            raise ModelFileError(f"{self.path}: cannot be read: {error.strerror or error}") from None
        if done < place.nbytes or not same:
            raise ModelFileError(
                f"{self.path}: the file was changed after it was opened; load it again, and replace files by renaming"
            )
        array.flags.writeable = False
        return array

    def map(self, place: _Place) -> np.ndarray:
        """Return an array whose memory is the system's copy of the file."""
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            array = np.memmap(file, dtype=place.dtype, mode="r", offset=place.offset, shape=place.shape)
        return array if array.flags.aligned else np.array(array)  # other programs may write arrays unaligned


def _reopened(path: Path, version: tuple[int, int]) -> _OpenFile:
    """Open a file again, in another process perhaps; refuse one that has been changed meanwhile."""
    file = _OpenFile(path)
    if file._version != version:
        raise ModelFileError(f"{path}: the file was changed after it was opened; load it again")
    return file


# ---- reading --------------------------------------------------------------------------------------------------------
def read(path: str | os.PathLike[str], *, mmap: bool = False) -> tuple[dict[str, str], StoredArrays]:
    """Open a file and return its strings and its arrays; ModelFileError for one that is not of this format.

    With ``mmap``, arrays are the pages of the file itself, which all processes share.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "a pipe or a device"
            raise ModelFileError(f"{path}: is {what}, not a model file")
        file = _OpenFile(path)
        header, start = _header(file)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    strings = header.pop(METADATA, {})
    if not isinstance(strings, dict) or not all(isinstance(value, str) for value in strings.values()):
        raise ModelFileError(f"{path}: the model's metadata is damaged (unexpected types)")
    return strings, StoredArrays(file, _places(file, header, start), mmap)


def _header(file: _OpenFile) -> tuple[dict[str, Any], int]:
    """Return (header, offset of the data)."""
    def refusal(why: str) -> ModelFileError:
        return ModelFileError(f"{file.path}: not a model file, or truncated or damaged ({why})")

    if file.size < 8:
        raise refusal(f"{file.size} bytes")
    length = int.from_bytes(file.bytes(8, 0), "little")
    if length > file.size - 8:
        raise refusal(f"a header of {length} bytes in a file of {file.size}")
    if length > _LONGEST_HEADER:
        raise refusal(f"a header of {length} bytes; the longest that is read has {_LONGEST_HEADER}")
    try:
        header = json.loads(file.bytes(length, 8))
    except (ValueError, RecursionError) as error:
        raise refusal(f"the header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise refusal("the header is no JSON object")
    return header, 8 + length


def _places(file: _OpenFile, header: dict[str, Any], start: int) -> dict[str, _Place]:
    """Return where the arrays are; they must follow one another from the header to the end of the file."""
    found, ends = {}, []
    for name, entry in header.items():
        try:
            dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
            begin, end = entry["data_offsets"]
        except (KeyError, TypeError, ValueError):
            begin, end, dtype, shape = None, None, np.dtype(np.uint8), ()
        if not all(type(n) is int and n >= 0 for n in (begin, end, *shape)) or len(shape) > _MOST_DIMENSIONS:
            raise ModelFileError(f"{file.path}: array {name!r} has an unknown type or a damaged description")
        found[name] = _Place(start + begin, dtype, shape)
        if max(shape, default=0) >= 2**48 or found[name].nbytes != end - begin:
            raise ModelFileError(f"{file.path}: array {name!r} does not have the length its shape needs")
        ends.append((begin, end))
    at = 0
    for begin, end in sorted(ends):
        if begin != at:
            raise ModelFileError(f"{file.path}: damaged: the arrays do not follow one another")
        at = end
    if start + at != file.size:
        raise ModelFileError(f"{file.path}: truncated or damaged: {file.size} bytes, where {start + at} are described")
    return found


# ---- writing --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Chosen:
    """Some rows of an array, to be written: they are gathered piece by piece, so that there is never a copy of all.

    array : None for the numbers of the rows themselves
    by : one number per row; those that are not zero choose
    """

    array: np.ndarray | None
    by: np.ndarray

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the rows."""
        return np.dtype(np.int64) if self.array is None else self.array.dtype

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of all rows together."""
        return (int(np.count_nonzero(self.by)), *self._row)

    @property
    def nbytes(self) -> int:
        """Return the size of all rows together."""
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def _row(self) -> tuple[int, ...]:
        return () if self.array is None else self.array.shape[1:]

    def pieces(self) -> Iterator[np.ndarray]:
        """Yield the rows."""
        step = max(1, _BLOCK // max(self.by.itemsize, self.dtype.itemsize * math.prod(self._row)))
        for begin in range(0, self.by.size, step):
            rows = np.flatnonzero(self.by[begin : begin + step])
            yield rows + begin if self.array is None else self.array[begin : begin + step][rows]


Writable = np.ndarray | Chosen


def write(file: BinaryIO, strings: Mapping[str, str], arrays: Mapping[str, Writable]) -> None:
    """Write a file piece by piece, with the checksum of its strings and arrays."""
    arrays = {name: a if isinstance(a, Chosen) else np.ascontiguousarray(a) for name, a in arrays.items()}
    with ThreadPoolExecutor(1) as executor:
        checksum = executor.submit(digest, strings, arrays)  # while the arrays are written, where that is possible
        file.write(_header_of(strings, "0" * _DIGITS if file.seekable() else checksum.result(), arrays))
        for name in _in_file(arrays):
            for block in _blocks(arrays[name]):
                file.write(block)
        if file.seekable():
            header = _header_of(strings, checksum.result(), arrays)
            file.seek(0)
            file.write(header)


def digest(strings: Mapping[str, str], arrays: Mapping[str, Writable]) -> str:
    """Return the checksum of strings, the checksum among them left out, and of arrays."""
    h = hashlib.blake2b(digest_size=_DIGITS // 2)
    for name in sorted(strings):
        if name != CHECKSUM:
            h.update(strings[name].encode())
    stored = arrays if isinstance(arrays, StoredArrays) else None
    described = stored.described() if stored else ((name, a.dtype, a.shape) for name, a in arrays.items())
    for name, dtype, shape in sorted(described, key=lambda entry: entry[0]):
        h.update(f"\n{name} {dtype.str} {shape}\n".encode())
        for block in stored.blocks(name) if stored else _blocks(arrays[name]):
            h.update(block)
    return h.hexdigest()


def of_floats(arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Return the names of arrays of floating-point numbers; none is read for that."""
    if isinstance(arrays, StoredArrays):
        return [name for name, dtype, _ in arrays.described() if dtype.kind == "f"]
    return [name for name, array in arrays.items() if array.dtype.kind == "f"]


def _header_of(strings: Mapping[str, str], checksum: str, arrays: Mapping[str, Writable]) -> bytes:
    """Return what a file begins with: a length, and JSON that says what the arrays are and where."""
    header: dict[str, Any] = {METADATA: {**strings, CHECKSUM: checksum}}
    end = 0
    for name in _in_file(arrays):
        begin, end = end, end + arrays[name].nbytes
        type_ = next(key for key, value in _DTYPES.items() if np.dtype(value) == arrays[name].dtype)
        header[name] = {"dtype": type_, "shape": list(arrays[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _in_file(arrays: Mapping[str, Writable]) -> list[str]:
    """Return the names of the arrays in their order in the file: that of wider numbers first, so that all align."""
    return sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))


def _blocks(array: Writable) -> Iterator[memoryview]:
    """Yield the bytes of an array piece by piece, so that no more of a mapped one is needed at a time."""
    if isinstance(array, Chosen):
        for piece in array.pieces():
            yield from _blocks(piece)
        return
    data = array.reshape(-1).view(np.uint8)
    for begin in range(0, data.size, _BLOCK):
        yield data[begin : begin + _BLOCK].data
