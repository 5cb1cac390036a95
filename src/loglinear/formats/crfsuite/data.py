r"""CRFsuite's data files: one token per line, a blank line between sequences.

A line is ``label TAB attribute[:value] TAB attribute ...``; ``\:`` and ``\\`` stand for a colon and a backslash in a
name. Files are parsed natively, in parallel.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.text import Source, name_of, native_errors, read_bytes, without_mark


@dataclass(frozen=True, eq=False)
class CrfsuiteData:
    """Token t has the label ``labels[t]`` and the attributes ``indices[indptr[t]:indptr[t + 1]]``."""

    sequence_ptr: NDArray[np.int64]  # [n_sequences + 1]
    indptr: NDArray[np.int64]  # [n_tokens + 1]
    indices: NDArray[np.int32]  # [n_occurrences]
    values: NDArray[np.float64] | None  # [n_occurrences]; None where all are 1
    attribute_blob: NDArray[np.uint8]  # names of the attributes, by first occurrence
    attribute_offsets: NDArray[np.int64]
    labels: NDArray[np.int32]  # [n_tokens]
    label_names: list[str]  # by first occurrence
    source: str = "<bytes>"


def read_crfsuite(source: Source, *, n_threads: int | None = None) -> CrfsuiteData:
    """Read a data file (plain or compressed, or ``-``)."""
    return parse_crfsuite(read_bytes(source), name_of(source), n_threads=n_threads)


def parse_crfsuite(data: bytes, source: str = "<bytes>", *, n_threads: int | None = None) -> CrfsuiteData:
    """Parse the bytes of a data file."""
    with native_errors(source):
        found = _core.parse_crfsuite(threads.pool(n_threads), without_mark(data))
    ptr, indptr, indices, values, blob, offsets, labels, label_blob, label_offsets = found
    if not labels.size:
        raise FormatError("there are no tokens; expected lines of label TAB attribute TAB attribute ...", source)
    names = _unpack(label_blob, label_offsets)
    return CrfsuiteData(ptr, indptr, indices, values if values.size else None, blob, offsets, labels, names, source)


def _unpack(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    raw, bounds = blob.tobytes(), offsets.tolist()
    return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(bounds)]
