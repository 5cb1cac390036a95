r"""CRFsuite's formats: its data files, and the text that ``crfsuite dump`` prints of a model.

A data file has one token per line, ``label TAB attribute[:value] TAB attribute ...``, and a blank line between
sequences; ``\:`` and ``\\`` stand for a colon and a backslash in a name. It is parsed natively in parallel.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.errors import FormatError
from loglinear.formats.text import Source, decode, name_of, native_errors, read_bytes, split_lines, without_mark


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
    """Read a data file (plain, gzip, xz, zstd, or ``-``)."""
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


@dataclass(eq=False)
class CrfsuiteDump:
    """A model as ``crfsuite dump`` prints it: features of zero weight are not listed there."""

    labels: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    transitions: list[tuple[str, str, float]] = field(default_factory=list)  # from, to, weight
    states: list[tuple[str, str, float]] = field(default_factory=list)  # attribute, label, weight


_SECTION = re.compile(r"([A-Z_]+) = \{")
_NAMED = re.compile(r" *([0-9]{1,18}): (.*)")
_FEATURE = re.compile(r" *\((\d+)\) (.*) --> (.*): (\S+)")


def read_crfsuite_dump(source: Source) -> CrfsuiteDump:
    """Read what ``crfsuite dump`` or ``pycrfsuite.Tagger.dump`` wrote (plain, gzip, xz, zstd, or ``-``)."""
    return parse_crfsuite_dump(decode(read_bytes(source), name_of(source)), name_of(source))


def parse_crfsuite_dump(text: str, source: str = "<text>") -> CrfsuiteDump:
    """Return the labels, attributes and weights in the text of a dump."""
    dump = CrfsuiteDump()
    section, seen = None, set()
    for number, line in enumerate(split_lines(text), start=1):
        if section is None:
            if match := _SECTION.fullmatch(line.strip()):
                section = match[1]
                seen.add(section)
            elif line.strip():
                raise FormatError(f"expected a section such as 'LABELS = {{', found {line[:40]!r}", source, number)
        elif line.rstrip() == "}":
            section = None
        else:
            _dump_line(dump, section, line, lambda message, n=number: FormatError(message, source, n))
    if section is not None:
        raise FormatError(f"the text ends inside section {section}; dump the model again", source)
    if missing := {"LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES"} - seen:
        message = f"section {min(missing)} is missing; this is not the text of `crfsuite dump`"
        raise FormatError(message, source)
    return dump


def _dump_line(dump: CrfsuiteDump, section: str, line: str, error: Callable[[str], FormatError]) -> None:
    if section in ("LABELS", "ATTRIBUTES"):
        names = dump.labels if section == "LABELS" else dump.attributes
        match = _NAMED.fullmatch(line)
        if not match or int(match[1]) != len(names):
            raise error(f"expected '{len(names)}: name' in section {section}, found {line[:40]!r}")
        names.append(match[2])
    elif section in ("TRANSITIONS", "STATE_FEATURES"):
        match = _FEATURE.fullmatch(line)
        try:
            weight = float(match[4]) if match else math.nan
        except ValueError:
            weight = math.nan
        if not match or not math.isfinite(weight):
            raise error(f"expected '(kind) from --> to: weight' in section {section}, found {line[:40]!r}")
        features = dump.transitions if section == "TRANSITIONS" else dump.states
        features.append((match[2], match[3], weight))
