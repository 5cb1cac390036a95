"""CRFsuite's binary models, read and written.

A file is little-endian: a header of twelve words, whose offsets lead to the features, 20 bytes each: kind (0 state,
1 transition), from, to, weight; to two string databases, labels and attributes; and to lists of the features of each
label and of each attribute. A string database has 256 hash tables of (hash, offset) by Jenkins' lookup3, and offsets by
number, each to (number, length, bytes, NUL). Reading uses the numbers alone; every offset and length is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.errors import FormatError
from loglinear.formats.crfsuite.model import CrfsuiteModel, numbered, parse_crfsuite_dump
from loglinear.formats.text import Source, atomic_write, decode, name_of, read_bytes

MAGIC = b"lCRF"
_FEATURES = np.dtype([("kind", "<u4"), ("from", "<u4"), ("to", "<u4"), ("weight", "<f8")])
_HEADER, _CHUNK, _DATABASE = 48, 12, 24  # bytes
_TABLES = 256
_BYTE_ORDER = 0x62445371
Words: TypeAlias = NDArray[np.uint32]


# ---- read ------------------------------------------------------------------------------------------------------------
def read_crfsuite_model(source: Source) -> CrfsuiteModel:
    """Read a model of CRFsuite, binary or as text (plain or compressed, or ``-``)."""
    data, name = read_bytes(source), name_of(source)
    if data[:4] == MAGIC:
        return parse_crfsuite_model(data, name)
    return numbered(parse_crfsuite_dump(decode(data, name), name), name)


def parse_crfsuite_model(data: bytes, source: str = "<bytes>") -> CrfsuiteModel:
    """Return the model in the bytes of a binary file."""
    if data[:4] != MAGIC:
        raise FormatError("this is not a model of CRFsuite: it does not begin with 'lCRF'", source)
    if len(data) < _HEADER:
        raise FormatError("the header of the model is incomplete; copy the file again", source)
    words = np.frombuffer(data, "<u4", _HEADER // 4).tolist()
    if data[8:12] != b"FOMC":
        raise FormatError(f"a model of type {data[8:12]!r}; only first-order chains (FOMC) are known", source)
    n_labels, n_attributes, at_features, at_labels, at_attributes = words[5:10]
    labels = _strings(data, at_labels, n_labels, "labels", source)
    attributes = _strings(data, at_attributes, n_attributes, "attributes", source)
    begin = at_features + _CHUNK
    if begin > len(data) or data[at_features : at_features + 4] != b"FEAT":
        raise FormatError("the features of the model are not where its header says", source)
    n_features = int.from_bytes(data[begin - 4 : begin], "little")  # the header has no number of them
    if begin + n_features * _FEATURES.itemsize > len(data):
        raise _cut_off("features", source)
    found = np.frombuffer(data, _FEATURES, n_features, begin)
    parts = []
    for kind, n_from in ((0, n_attributes), (1, n_labels)):
        chosen = found[found["kind"] == kind]
        first, second, weights = chosen["from"].astype(np.int64), chosen["to"].astype(np.int64), chosen["weight"]
        if np.any(first >= n_from) or np.any(second >= n_labels) or not np.all(np.isfinite(weights)):
            raise FormatError("a feature names no attribute or label, or its weight is not finite", source)
        parts.append((first, second, weights.astype(np.float64)))
    if parts[0][0].size + parts[1][0].size != n_features:
        raise FormatError("a feature is neither of a state nor of a transition", source)
    return CrfsuiteModel(labels, attributes, *parts)


def _strings(data: bytes, begin: int, n: int, what: str, source: str) -> list[str]:
    """Return the strings of a database, by number."""
    if begin + _DATABASE > len(data) or data[begin : begin + 4] != b"CQDB":
        raise FormatError(f"the {what} of the model are not where its header says", source)
    n_links, at_links = np.frombuffer(data, "<u4", 2, begin + 16).tolist()
    if n_links < n or begin + at_links + 4 * n_links > len(data):
        raise _cut_off(what, source)
    names, n_bytes = [], 0
    for offset in np.frombuffer(data, "<u4", n, begin + at_links).tolist():
        at = begin + offset + 8
        size = int.from_bytes(data[at - 4 : at], "little")
        if not size or at + size > len(data):
            raise _cut_off(what, source)
        n_bytes += size
        if n_bytes > len(data):  # many numbers of one long string would fill the memory
            raise FormatError(f"the {what} of the model share their bytes, which no writer does: it is damaged", source)
        names.append(decode(data[at : at + size - 1], source))
    return names


def _cut_off(what: str, source: str) -> FormatError:
    return FormatError(f"the file ends inside the {what} of the model; copy it again", source)


# ---- write -----------------------------------------------------------------------------------------------------------
def write_crfsuite_model(path: Source, model: CrfsuiteModel) -> None:
    """Write a model that CRFsuite opens; its names must have no NUL."""
    n_labels, n_attributes = len(model.labels), len(model.attributes)
    found = np.concatenate([_features(kind, part) for kind, part in enumerate((model.states, model.transitions))])
    states, transitions = model.states[0], model.transitions[0]
    chunks: list[Callable[[int], bytes]] = [  # of where they begin in the file
        lambda _: _chunk(b"FEAT", found.size, found.tobytes()),
        lambda _: _database(model.labels),
        lambda _: _database(model.attributes),
        lambda begin: _references(b"LFRF", n_labels + 2, transitions, states.size, begin),  # two more, for the ends
        lambda begin: _references(b"AFRF", n_attributes, states, 0, begin),
    ]
    data, offsets = b"", []
    for chunk in chunks:
        data += bytes(-len(data) % 4)
        offsets.append(_HEADER + len(data))
        data += chunk(offsets[-1])
    if _HEADER + len(data) >= 2**32:
        raise ValueError("the model is too large for CRFsuite's files, which end at 4 GB: keep it as a .ll file")
    words = [_HEADER + len(data), 100, found.size, n_labels, n_attributes, *offsets]
    header = np.array(words, dtype="<u4")
    with atomic_write(path) as file:
        file.write(MAGIC + header[:1].tobytes() + b"FOMC" + header[1:].tobytes() + data)


def _features(kind: int, part: tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]) -> NDArray[np.void]:
    found = np.empty(part[0].size, dtype=_FEATURES)
    found["kind"], found["from"], found["to"], found["weight"] = kind, *part
    return found


def _chunk(name: bytes, n: int, content: bytes) -> bytes:
    return name + np.array([_CHUNK + len(content), n], dtype="<u4").tobytes() + content


def _references(name: bytes, n: int, owner: NDArray[np.int64], first: int, begin: int) -> bytes:
    """Return lists of the features of each label or attribute: offsets, then lists that begin with their length."""
    counts = np.bincount(owner, minlength=n)
    ends = np.cumsum(counts + 1)
    lists = np.empty(ends[-1] if n else 0, dtype="<u4")
    heads = ends - counts - 1
    lists[heads] = counts
    others = np.ones(lists.size, dtype=bool)
    others[heads] = False
    lists[others] = first + np.argsort(owner, kind="stable")
    offsets = begin + _CHUNK + 4 * n + 4 * heads
    return _chunk(name, n, offsets.astype("<u4").tobytes() + lists.tobytes())


def _database(names: list[str]) -> bytes:
    """Return the database of strings: header, places of the tables, records, tables, offsets by number."""
    strings = [name.encode("utf-8", "surrogatepass") + b"\0" for name in names]
    if any(0 in string[:-1] for string in strings):
        raise ValueError("a name has a NUL, which CRFsuite's files cannot hold: rename it")
    at = _DATABASE + 8 * _TABLES
    sizes = np.array([8 + len(string) for string in strings], dtype=np.int64)
    offsets = at + np.cumsum(sizes) - sizes
    heads = np.array([(number, len(string)) for number, string in enumerate(strings)], dtype="<u4").reshape(-1, 2)
    records = b"".join(head.tobytes() + string for head, string in zip(heads, strings))
    at += len(records)
    hashes = lookup3(strings)
    places, tables = np.zeros((_TABLES, 2), dtype="<u4"), []
    for k in range(_TABLES):
        chosen = np.flatnonzero(hashes % _TABLES == k)
        if chosen.size:
            table = _table(hashes[chosen].tolist(), offsets[chosen].tolist())
            places[k] = at, len(table)
            tables.append(table.tobytes())
            at += table.nbytes
    size = at + 4 * len(names)
    header = np.array([size, 0, _BYTE_ORDER, len(names), at], dtype="<u4")
    parts = (header.tobytes(), places.tobytes(), records, *tables, offsets.astype("<u4").tobytes())
    return b"CQDB" + b"".join(parts)


def _table(hashes: list[int], offsets: list[int]) -> NDArray[np.uint32]:
    """Return a hash table with linear probing, half full: pairs of a hash and an offset, 0 where there is none."""
    n = 2 * len(hashes)
    table = np.zeros((n, 2), dtype="<u4")
    taken = [False] * n
    for hash_, offset in zip(hashes, offsets):
        place = (hash_ >> 8) % n
        while taken[place]:
            place = (place + 1) % n
        taken[place] = True
        table[place] = hash_, offset
    return table


def lookup3(strings: list[bytes]) -> NDArray[np.uint32]:
    """Return the hash of each string, none of them empty, by ``hashlittle`` from 0 (Bob Jenkins, "lookup3.c", 2006).

    Strings are taken twelve bytes at a time, as three words, all strings at once.
    """
    lengths = np.array([len(string) for string in strings], dtype=np.int64)
    n_blocks = np.maximum(1, -(-lengths // 12))
    padded = b"".join(string.ljust(12 * n, b"\0") for string, n in zip(strings, n_blocks.tolist()))
    words, first = np.frombuffer(padded, dtype="<u4").reshape(-1, 3), np.cumsum(n_blocks) - n_blocks
    state = np.repeat((lengths + 0xDEADBEEF).astype(np.uint32)[:, None], 3, axis=1)
    for k in range(int(n_blocks.max(initial=0))):
        here = np.flatnonzero(n_blocks > k)
        a, b, c = (state[here] + words[first[here] + k]).T
        last = n_blocks[here] == k + 1
        state[here] = np.where(last[:, None], np.stack(_final(a, b, c), axis=1), np.stack(_mix(a, b, c), axis=1))
    return state[:, 2]


def _mix(a: Words, b: Words, c: Words) -> tuple[Words, Words, Words]:
    for k in (4, 6, 8, 16, 19, 4):  # each step does to (a, b, c) what the one before did to (c, a, b)
        a, c = (a - c) ^ _turned(c, k), c + b
        a, b, c = b, c, a
    return a, b, c


def _final(a: Words, b: Words, c: Words) -> tuple[Words, Words, Words]:
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _turned(b, k)
        a, b, c = b, c, a
    return c, a, b


def _turned(x: Words, k: int) -> Words:
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))
