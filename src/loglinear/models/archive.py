"""The model file: one `.ll` file for every kind of model, of named arrays and a document of JSON.

The document says the kind of model, the format's version, settings and the record of training; reading never executes
code. ``formats/named_arrays.py`` checks that arrays and file agree; this module checks the document, and the modules
``file.py`` of the models the rest. The checksum covers document and arrays; it is verified on request.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from loglinear.errors import LoglinearError, MissingPackageError, ModelFileError
from loglinear.formats import named_arrays
from loglinear.formats.named_arrays import CHECKSUM, StoredArrays
from loglinear.formats.text import atomic_write

FORMAT = 1
_DOCUMENT = "loglinear"
_FIGURES = "path."  # arrays that tell of training, where a number may be unknown
_DAMAGE = (
    LoglinearError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError, RecursionError,
)  # fmt: skip


@dataclass(frozen=True)
class Archive:
    """The contents of a model file."""

    kind: str
    settings: dict[str, Any]
    summary: dict[str, Any]
    arrays: Mapping[str, Any]  # np.ndarray; to be saved, perhaps named_arrays.Chosen
    checksum: str = ""
    version: str = ""

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays of a file; 0 for arrays that are in memory."""
        return self.arrays.nbytes if isinstance(self.arrays, StoredArrays) else 0

    def part(self, prefix: str) -> Mapping[str, np.ndarray]:
        """Return the arrays whose names begin with a prefix, by the rest of their names."""
        if isinstance(self.arrays, StoredArrays):
            return self.arrays.part(prefix)
        return {name.removeprefix(prefix): a for name, a in self.arrays.items() if name.startswith(prefix)}


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
    named_arrays.write(file, {_DOCUMENT: document}, archive.arrays)


def load(path: str | os.PathLike[str], *, verify: bool = False, mmap: bool = False) -> Archive:
    """Read a model file; arrays are read when they are asked for.

    ``verify`` compares the checksum, which reads everything. With ``mmap`` arrays are the pages of the file, which all
    processes share; the file must then stay as it is while the model is in use.
    """
    path = Path(path)
    strings, arrays = named_arrays.read(path, mmap=mmap)
    if _DOCUMENT not in strings:
        raise ModelFileError(f"{path}: a safetensors file, but not a loglinear model")
    try:
        content = json.loads(strings[_DOCUMENT])
        kind, format_, settings = content["kind"], content["format"], content["settings"]
        summary, version = content["summary"], content["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path}: the model's metadata is damaged ({error!r})") from None
    if not isinstance(kind, str) or not isinstance(settings, dict) or not isinstance(summary, dict):
        raise ModelFileError(f"{path}: the model's metadata is damaged (unexpected types)")
    if format_ != FORMAT:
        raise ModelFileError(f"{path}: format {format_!r}, written by loglinear {version}; this one reads {FORMAT}")
    checksum = strings.get(CHECKSUM, "")
    archive = Archive(kind, settings, summary, arrays, checksum, str(version))
    if verify and named_arrays.digest({_DOCUMENT: strings[_DOCUMENT]}, arrays) != checksum:
        raise ModelFileError(f"{path}: the checksum does not match: the file was changed or damaged after it was saved")
    return archive


@contextmanager
def damage_told(source: Any) -> Iterator[None]:
    """Raise what the content of a file leads to as a ModelFileError that names the file.

    A model's own ``file.py`` says more exactly what is wrong, where it knows.
    """
    try:
        yield
    except MissingPackageError:
        raise
    except _DAMAGE as error:
        why = " ".join(str(error).split()) or type(error).__name__
        named = why if why.startswith(f"{source}: ") else f"{source}: the model is damaged ({why})"
        raise ModelFileError(named) from None


def check_finite(source: Any, archive: Archive) -> None:
    """Raise a ModelFileError for weights, or other numbers that prediction uses, that are NaN or infinity."""
    for name in named_arrays.of_floats(archive.arrays):
        if not name.startswith(_FIGURES) and not np.all(np.isfinite(archive.arrays[name])):
            raise ModelFileError(f"{source}: the model is damaged: array {name!r} has numbers that are not finite")


def require(path: Any, archive: Archive, name: str, dtype: str, ndim: int) -> np.ndarray:
    """Return an array of the archive; raise a ModelFileError that says what is missing."""
    array = archive.arrays.get(name)
    if array is None or array.dtype != np.dtype(dtype) or array.ndim != ndim:
        raise ModelFileError(f"{path}: the model lacks its array {name!r} ({dtype}, {ndim} dimensions)")
    return array


LEARNT = ("solver", "solver_reason", "n_iter", "objective", "gap", "gap_is_bound", "converged", "status", "strength",
          "validation_score")  # fmt: skip


_MOST_STEPS = 60  # of a history in a file
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
    if hasattr(model, "history_"):
        summary["history"] = thinned(model.history_)
    return summary


def thinned(history: Any) -> dict[str, list[Any]]:
    """Return at most about 60 steps of a history, the first and the last among them, for charts."""
    n = len(history.objective)
    kept = np.unique(np.linspace(0, n - 1, min(n, _MOST_STEPS)).round().astype(int)).tolist()
    columns = {"seconds": history.time, "passes": history.passes, "objective": history.objective}
    return {name: [finite(float(values[i])) for i in kept] for name, values in columns.items()}


def restore_summary(model: Any, summary: dict[str, Any]) -> None:
    """Give a loaded model the record of its training."""
    for name in LEARNT:
        if name in summary:
            setattr(model, name + "_", not_finite(summary[name]))


def check_n_threads(n_threads: Any) -> None:
    """Raise ValueError for a number of threads that no model file should ask for."""
    if n_threads is not None and (type(n_threads) is not int or not (n_threads == -1 or 1 <= n_threads <= 1024)):
        raise ValueError(f"n_threads is {n_threads!r}")
