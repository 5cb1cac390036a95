"""CRFsuite's models as the text of ``crfsuite dump``, read and written; binary.py has the binary files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.errors import FormatError
from loglinear.formats.text import Source, atomic_write, decode, each_line, name_of, read_bytes


@dataclass(frozen=True, eq=False)
class CrfsuiteModel:
    """Weights of a first-order chain by the numbers of attributes and labels."""

    labels: list[str]
    attributes: list[str]
    states: tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]  # attribute, label, weight
    transitions: tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]  # from, to, weight


# ---- text ------------------------------------------------------------------------------------------------------------
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
    """Read what ``crfsuite dump`` or ``pycrfsuite.Tagger.dump`` wrote (plain or compressed, or ``-``)."""
    return parse_crfsuite_dump(decode(read_bytes(source), name_of(source)), name_of(source))


def parse_crfsuite_dump(text: str, source: str = "<text>") -> CrfsuiteDump:
    """Return the labels, attributes and weights in the text of a dump."""
    dump = CrfsuiteDump()
    section, seen = None, set()
    for number, line in enumerate(each_line(text), start=1):
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


def numbered(dump: CrfsuiteDump, source: str) -> CrfsuiteModel:
    """Return the model of a dump, names replaced by numbers."""
    label = {name: k for k, name in enumerate(dump.labels)}
    attribute = {name: k for k, name in enumerate(dump.attributes)}

    def part(features: list[tuple[str, str, float]], numbers: dict[str, int]) -> Any:
        try:
            first, second = [numbers[a] for a, _, _ in features], [label[b] for _, b, _ in features]
        except KeyError as error:
            raise FormatError(f"a feature names {error.args[0]!r}, which no section lists", source) from None
        weights = np.array([w for _, _, w in features], dtype=np.float64)
        return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), weights

    return CrfsuiteModel(dump.labels, dump.attributes, part(dump.states, attribute), part(dump.transitions, label))


def write_crfsuite_dump(path: Source, model: CrfsuiteModel, *, size: int = 0) -> None:
    """Write a model as ``crfsuite dump`` prints it, weights to their last digit; ``size``: bytes of its file."""
    with atomic_write(path) as file:
        for line in dump_lines(model, size=size):
            file.write((line + "\n").encode())


def dump_lines(model: CrfsuiteModel, *, size: int = 0) -> Iterable[str]:
    """Yield the lines of a dump."""
    for name in (*model.labels, *model.attributes):
        if "\n" in name or "\r" in name:
            raise ValueError(f"the name {name!r} has a line break, which the text of a dump cannot hold: rename it")
    n = model.states[0].size + model.transitions[0].size
    header = {"magic": "lCRF", "size": size, "type": "FOMC", "version": 100, "num_features": n}
    header |= {"num_labels": len(model.labels), "num_attrs": len(model.attributes)}
    yield from _section("FILEHEADER", (f"  {key}: {value}" for key, value in header.items()))
    for title, names in (("LABELS", model.labels), ("ATTRIBUTES", model.attributes)):
        yield from _section(title, (f"  {k:5d}: {name}" for k, name in enumerate(names)))
    yield from _section("TRANSITIONS", _features(1, model.labels, model.labels, model.transitions))
    yield from _section("STATE_FEATURES", _features(0, model.attributes, model.labels, model.states))


def _section(title: str, lines: Iterable[str]) -> Iterable[str]:
    yield f"{title} = {{"
    yield from lines
    yield from ("}", "")


def _features(kind: int, first: list[str], second: list[str], part: Any) -> Iterable[str]:
    for a, b, weight in zip(*(column.tolist() for column in part)):
        yield f"  ({kind}) {first[a]} --> {second[b]}: {np.format_float_positional(weight, trim='0')}"
