"""The model file: one `.ll` file for every kind of model, on safetensors.

A header of JSON metadata (kind, format version, settings, training summary, checksum) and named arrays, nothing else:
loading maps arrays into memory and never executes code. safetensors itself checks that offsets and lengths agree with
the file; this module checks the rest. The checksum covers metadata and arrays; it is verified on request.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from loglinear.errors import ModelFileError
from loglinear.formats.text import atomic_write

FORMAT = 1
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1", "I8": "|i1"}
_DTYPES["BOOL"] = "|b1"
_DIGITS = 32  # of a checksum
_ALIGNMENT = 8  # bytes
_BLOCK = 1 << 22  # bytes that are written or hashed at a time


@dataclass(frozen=True)
class Archive:
    """The contents of a model file."""

    kind: str
    settings: dict[str, Any]
    summary: dict[str, Any]
    arrays: dict[str, np.ndarray]
    checksum: str = ""
    version: str = ""

    def part(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the arrays whose names begin with a prefix, by the rest of their names."""
        return {name.removeprefix(prefix): a for name, a in self.arrays.items() if name.startswith(prefix)}


def _digest(document: str, arrays: dict[str, np.ndarray]) -> str:
    h = hashlib.blake2b(digest_size=_DIGITS // 2)
    h.update(document.encode())
    for name in sorted(arrays):
        a = np.ascontiguousarray(arrays[name])
        h.update(f"\n{name} {a.dtype.str} {a.shape}\n".encode())
        for block in _blocks(a):
            h.update(block)
    return h.hexdigest()


def save(path: str | os.PathLike[str], archive: Archive) -> None:
    """Write to a temporary name and rename: an interrupted or failed save leaves the old file untouched."""
    with atomic_write(path) as file:
        _write(file, archive)


def to_bytes(archive: Archive) -> bytes:
    """Return the content of a model file."""
    file = io.BytesIO()
    _write(file, archive)
    return file.getvalue()


def _write(file: BinaryIO, archive: Archive) -> None:
    """Write a model file piece by piece."""
    from loglinear import __version__

    document = json.dumps(
        {
            "kind": archive.kind,
            "format": FORMAT,
            "version": __version__,
            "settings": archive.settings,
            "summary": archive.summary,
        },
        sort_keys=True,
        allow_nan=False,
    )
    arrays = {name: np.ascontiguousarray(a) for name, a in archive.arrays.items()}
    with ThreadPoolExecutor(1) as executor:
        checksum = executor.submit(_digest, document, arrays)  # while the arrays are written, where that is possible
        file.write(_header_of(document, "0" * _DIGITS if file.seekable() else checksum.result(), arrays))
        for name in _in_file(arrays):
            for block in _blocks(arrays[name]):
                file.write(block)
        if file.seekable():
            header = _header_of(document, checksum.result(), arrays)
            file.seek(0)
            file.write(header)


def _header_of(document: str, checksum: str, arrays: dict[str, np.ndarray]) -> bytes:
    """Return what a safetensors file begins with: a length, and JSON that says what the arrays are and where."""
    header: dict[str, Any] = {"__metadata__": {"loglinear": document, "checksum": checksum}}
    end = 0
    for name in _in_file(arrays):
        begin, end = end, end + arrays[name].nbytes
        type_ = next(key for key, value in _DTYPES.items() if np.dtype(value) == arrays[name].dtype)
        header[name] = {"dtype": type_, "shape": list(arrays[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _in_file(arrays: dict[str, np.ndarray]) -> list[str]:
    """Return the names of the arrays in their order in the file: that of wider numbers first, so that all align."""
    return sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))


def _blocks(array: np.ndarray) -> Iterator[memoryview]:
    """Yield the bytes of an array piece by piece, so that no more of a mapped one is needed at a time."""
    data = array.reshape(-1).view(np.uint8)
    for begin in range(0, data.size, _BLOCK):
        yield data[begin : begin + _BLOCK].data


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Archive:
    """Read a model file; arrays are memory-mapped. ``verify`` compares the checksum, which reads everything."""
    path = Path(path)
    header, start = _header(path)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or "loglinear" not in metadata:
        raise ModelFileError(f"{path}: a safetensors file, but not a loglinear model")
    document = metadata["loglinear"]
    try:
        content = json.loads(document)
        kind, format_, settings = content["kind"], content["format"], content["settings"]
        summary, version = content["summary"], content["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path}: the model's metadata is damaged ({error!r})") from None
    if not isinstance(kind, str) or not isinstance(settings, dict) or not isinstance(summary, dict):
        raise ModelFileError(f"{path}: the model's metadata is damaged (unexpected types)")
    if format_ != FORMAT:
        raise ModelFileError(f"{path}: format {format_!r}, written by loglinear {version}; this one reads {FORMAT}")
    arrays = {name: _map(path, name, entry, start) for name, entry in header.items()}
    checksum = str(metadata.get("checksum", ""))
    archive = Archive(kind, settings, summary, arrays, checksum, str(version))
    if verify and _digest(document, arrays) != checksum:
        raise ModelFileError(f"{path}: the checksum does not match: the file was changed or damaged after it was saved")
    return archive


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return (header, offset of the data) after safetensors has checked that both fit the file."""
    from safetensors import SafetensorError, safe_open

    try:
        size = path.stat().st_size
        if path.is_dir():
            raise ModelFileError(f"{path}: is a folder, not a model file")
        with safe_open(str(path), framework="np"):
            pass
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > size - 8:
                raise ModelFileError(f"{path}: truncated: a header of {length} bytes in a file of {size}")
            header = json.loads(file.read(length))
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (SafetensorError, ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path}: not a model file, or truncated or damaged ({error})") from None
    return header, 8 + length


def _map(path: Path, name: str, entry: Any, start: int) -> np.ndarray:
    try:
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = tuple(int(n) for n in entry["shape"])
        begin, end = (int(n) for n in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(f"{path}: array {name!r} has an unknown type or a damaged description") from None
    if end - begin != dtype.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise ModelFileError(f"{path}: array {name!r} does not have the length its shape needs")
    if begin == end:
        return np.empty(shape, dtype)
    array = np.memmap(path, dtype=dtype, mode="r", offset=start + begin, shape=shape)
    return array if array.flags.aligned else np.array(array)  # other programs may write arrays unaligned


def require(path: Any, archive: Archive, name: str, dtype: str, ndim: int) -> np.ndarray:
    """Return an array of the archive; raise a ModelFileError that says what is missing."""
    array = archive.arrays.get(name)
    if array is None or array.dtype != np.dtype(dtype) or array.ndim != ndim:
        raise ModelFileError(f"{path}: the model lacks its array {name!r} ({dtype}, {ndim} dimensions)")
    return array


LEARNT = ("solver", "solver_reason", "n_iter", "objective", "gap", "gap_is_bound", "converged", "status", "strength",
          "validation_score")  # fmt: skip


OBSOLETE = ("decrease_tolerance",)  # parameters in files of earlier versions that models no longer have


def parameters_of(archive: Archive) -> dict[str, Any]:
    """Return the parameters in a model file by name, without those that models no longer have."""
    return {name: value for name, value in dict(archive.settings["parameters"]).items() if name not in OBSOLETE}


def as_json(value: Any) -> Any:
    """Convert settings to JSON values: paths become text, numpy scalars numbers."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return [as_json(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def finite(value: Any) -> Any:
    """Return a value of JSON; numbers that JSON lacks (infinity, NaN) become text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def not_finite(value: Any) -> Any:
    """Return what ``finite`` was given."""
    return float(value) if value in ("inf", "-inf", "nan") else value


def training_summary(model: Any, *more: str) -> dict[str, Any]:
    """Return the record of training for the file; numbers that JSON lacks (infinity, NaN) become text."""
    summary: dict[str, Any] = {}
    for name in (*LEARNT, "fit_seconds", *more):
        if hasattr(model, name + "_"):
            summary[name] = finite(as_json(getattr(model, name + "_")))
    if hasattr(model, "tuning_"):
        summary["tuning"] = as_json(model.tuning_)
    return summary


def restore_summary(model: Any, summary: dict[str, Any]) -> None:
    """Give a loaded model the record of its training."""
    for name in LEARNT:
        if name in summary:
            setattr(model, name + "_", not_finite(summary[name]))


def check_n_threads(n_threads: Any) -> None:
    """Raise ValueError for a number of threads that no model file should ask for."""
    if n_threads is not None and (type(n_threads) is not int or not (n_threads == -1 or 1 <= n_threads <= 1024)):
        raise ValueError(f"n_threads is {n_threads!r}")
