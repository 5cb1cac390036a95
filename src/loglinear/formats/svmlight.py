"""The svmlight / libsvm format: ``label index:value ...`` per line, parsed natively in parallel.

Labels stay text. Indices ascend within a line; comments after ``#``, blank lines and ``qid:`` entries are skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from loglinear import _core
from loglinear.formats.examples import ExampleFormat, Labels, Records
from loglinear.formats.text import Source, name_of, native_errors, plain_label, read_bytes, without_mark


@dataclass(frozen=True)
class SvmlightData:
    """Compressed sparse rows and a label for each."""

    indptr: np.ndarray  # [n_rows + 1] int64
    indices: np.ndarray  # [n_nonzeros] int32, or int64 where one of them needs it; ascending in a row, from 0
    values: np.ndarray  # [n_nonzeros] float64, finite
    labels: Labels  # [n_rows]
    n_features: int


def read_svmlight(
    source: Source, *, n_features: int | None = None, zero_based: bool | Literal["auto"] = "auto", n_threads: int = 1,
) -> SvmlightData:
    """Read a file (plain or compressed, or ``-``); see :func:`parse_svmlight`."""
    data = read_bytes(source)
    return parse_svmlight(data, name_of(source), n_features=n_features, zero_based=zero_based, n_threads=n_threads)


def parse_svmlight(
    data: bytes, source: str = "<bytes>", *, n_features: int | None = None, zero_based: bool | Literal["auto"] = "auto",
    n_threads: int = 1,
) -> SvmlightData:
    """Parse bytes. With ``zero_based="auto"`` indices count from 0 if index 0 occurs, otherwise from 1.

    A file read for prediction should name both ``n_features`` and ``zero_based`` as they were in training.
    """
    if n_features is not None and not 0 <= n_features < 2**63:
        raise ValueError(f"n_features must be between 0 and 2^63 - 1, not {n_features}")
    base = "detect" if zero_based == "auto" else "zero" if zero_based else "one"
    text, limit = without_mark(data), -1 if n_features is None else n_features
    with native_errors(source):
        found = _core.parse_svmlight(_core.ThreadPool(n_threads), text, base, limit)
    indptr, indices, values, ids, blob, offsets, n = found
    raw = blob.tobytes()
    names = [raw[a:b].decode() for a, b in pairwise(offsets.tolist())]
    return SvmlightData(indptr, indices, values, Labels(ids, names), n)


def _parse(data: bytes, name: str, *, encoding: str, labelled: bool, n_threads: int) -> Records:
    """Numbered features: label index:value index:value ... per line; a label is always there."""
    found = parse_svmlight(data, name, zero_based=True, n_threads=n_threads)
    names = [plain_label(label) for label in found.labels.names]
    return Records("matrix", found, Labels(found.labels.numbers, names))


_LINE = re.compile(rb"[^\s#:]+([ \t]+(qid:\S+|\d+:[-+.\deE]+))+[ \t\r]*(#.*)?")
SVMLIGHT = ExampleFormat(_parse, (".svm", ".svmlight", ".libsvm"), lambda line: _LINE.fullmatch(line) is not None)
