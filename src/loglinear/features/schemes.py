"""Label schemes: how labels of tokens spell spans such as names or phrases.

A label is ``O`` or a part and a type, as in ``B-PER``; a type may hold hyphens, and may be missing (``B``). Parts may
be in lower case; what is written is in upper case.

    bio     B begins a span, I continues it                                       (IOB2)
    iob1    I continues or begins a span; B begins one right after another of the same type
    iobes   B begins, I continues, E ends, S is a span of one token
    bilou   the same with L for E and U for S
    bmes    the same with M for I; without types it spells words, as in the segmentation of Chinese

Spans are read by one set of rules, which never fail: those of the CoNLL shared tasks' scorer (Tjong Kim Sang and
Buchholz, "Introduction to the CoNLL-2000 shared task: chunking", 2000), with E and S closing what they end:

    a span begins at   B or S;  I or E after O, E, S or the begin of the sequence;  any part whose type changes
    a span ends after  E or S;  B or I before O, B, S or the end of the sequence;   any part whose type changes

So labels that break their scheme still have spans, and a scheme matters only for what is legal and for conversion.
The scheme of a corpus is the one that the fewest of its labels break. Letters tell IOBES and BILOU; BIO and IOB1 share
theirs, but the first token of a span is B in the one and I in the other, unless it touches a span of its type.
Corpora are flat: label numbers of all tokens one after another, and where each sequence begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.features.sequences import FlatLabels, as_label, check_labels

SCHEMES = ("bio", "iob1", "iobes", "bilou", "bmes")  # the commonest first

_O, _B, _I, _E, _S = range(5)
_PARTS = {"O": _O, "B": _B, "I": _I, "E": _E, "S": _S, "L": _E, "U": _S, "M": _I}
_LETTERS = {**{letter: letter for letter in _PARTS}, **{letter.lower(): letter for letter in _PARTS}}
_ALLOWED = {"bio": "OBI", "iob1": "OBI", "iobes": "OBIESLUM", "bilou": "OBIESLUM", "bmes": "OBIESLUM"}
# Letters of _O, _B, _I, _E, _S:
_WRITTEN = {"bio": "OBIIB", "iob1": "OBIIB", "iobes": "OBIES", "bilou": "OBILU", "bmes": "OBMES"}

_Bools = NDArray[np.bool_]


class LabelParts(NamedTuple):
    """The parts and types of label names."""

    parts: NDArray[np.uint8]  # [n_labels], one of O, B, I, E, S
    types: NDArray[np.int32]  # [n_labels], -1 for O
    type_names: list[str]  # sorted


class Detected(NamedTuple):
    """The scheme of labels, None where they spell no spans, and how many tokens break it."""

    scheme: str | None
    n_illegal: int


class FlatSpans(NamedTuple):
    """Spans of a corpus in its order: tokens [starts, ends) of the whole corpus."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    types: NDArray[np.int32]


def flatten(sequences: Iterable[Sequence[Any]]) -> FlatLabels:
    """Return labels as numbers; the names are those of the labels that occur, sorted."""
    if isinstance(sequences, FlatLabels):
        return sequences.renumbered(list(sequences.counts()))
    sequences = list(sequences)
    for number, labels in enumerate(sequences):
        if isinstance(labels, str):
            raise TypeError(f"sequence {number} is the string {labels!r}, not a list of labels")
    ptr = np.zeros(len(sequences) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences)), out=ptr[1:])
    flat = list(chain.from_iterable(sequences))
    if set(map(type, flat)) - {str}:
        flat = list(map(as_label, flat))
        check_labels(flat)
    names = sorted(set(flat))
    number_of = {name: number for number, name in enumerate(names)}
    numbers = np.fromiter(map(number_of.__getitem__, flat), dtype=np.int32, count=len(flat))
    return FlatLabels(numbers, ptr, names)


def schemes_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the schemes that have all these labels, in the order of SCHEMES; none where they spell no spans.

    Labels without types count only where B and I, or B and M, are both there.
    """
    split = [_split(name) for name in names]
    letters = {letter for letter, _ in split} - {"O"}
    bare = {letter for letter, kind in split if kind is None} - {"O"}
    if not letters or (bare and not {"B", "I"} <= bare and not {"B", "M"} <= bare):
        return ()
    return tuple(scheme for scheme in SCHEMES if letters <= set(_WRITTEN[scheme]))


def detect(sequences: Iterable[Sequence[str]]) -> Detected:
    """Return the scheme that the fewest labels break, and how many do; of equals the first of SCHEMES."""
    return flat_detect(flatten(sequences))


def flat_detect(corpus: FlatLabels) -> Detected:
    """Return the scheme of a corpus whose unknown labels are -1; they break nothing."""
    return least_broken(corpus.names, lambda scheme: flat_illegal(corpus, scheme).size)


def detect_by_pairs(names: Sequence[str], codes: NDArray[np.int32]) -> Detected:
    """Return the scheme of labels of which only the different pairs in a corpus are known: before * L + label.

    Where all pairs are there, they were not counted, and tell nothing.
    """
    seen = codes if codes.size < len(names) ** 2 else codes[:0]

    def count(scheme: str) -> int:
        legal = legal_transitions(names, scheme)[1].reshape(-1)[seen]
        return int(np.count_nonzero(legal == 0))

    return least_broken(names, count)


def least_broken(names: Sequence[str], count: Callable[[str], int]) -> Detected:
    """Return the scheme of labels with these names; ``count`` tells how many tokens break a scheme."""
    counted: list[tuple[int, str | None]] = [(count(scheme), scheme) for scheme in schemes_of(names)]
    n_illegal, scheme = min(counted, key=lambda pair: pair[0], default=(0, None))
    return Detected(scheme, n_illegal)


def _split(name: str) -> tuple[str, str | None]:
    """Return the letter of the part, empty where the name is of no scheme, and the type, None without a hyphen."""
    if not isinstance(name, str):  # numbers are of no scheme
        return "", None
    part, hyphen, kind = name.partition("-")
    letter = _LETTERS.get(part, "")
    if hyphen and (letter == "O" or not kind):
        letter = ""
    return letter, kind if hyphen else None


def take_apart(labels: Sequence[str], scheme: str) -> LabelParts:
    """Return parts and types of label names; ValueError names one that is not of the scheme."""
    allowed = _ALLOWED.get(scheme)
    if allowed is None:
        raise ValueError(f"no label scheme {scheme!r}: there are {', '.join(SCHEMES)}")
    split = [_split(name) for name in labels]
    for name, (letter, _) in zip(labels, split):
        if not letter or letter not in allowed:
            other = "; the scheme iobes has it" if letter else ""
            known = ", ".join(part if part == "O" else f"{part}-" for part in allowed)
            raise ValueError(f"label {name!r} is not of the scheme {scheme} ({known}){other}")
    type_names = sorted({kind or "" for letter, kind in split if letter != "O"})
    number = {kind: i for i, kind in enumerate(type_names)}
    parts = np.array([_PARTS[letter] for letter, _ in split], dtype=np.uint8)
    types = np.array([-1 if letter == "O" else number[kind or ""] for letter, kind in split], dtype=np.int32)
    return LabelParts(parts, types, type_names)


def flat_spans(corpus: FlatLabels, table: LabelParts) -> FlatSpans:
    """Return all spans of a corpus. Spans do not overlap, so the k-th beginning and the k-th end belong together."""
    parts, types = table.parts[corpus.numbers], table.types[corpus.numbers]
    n = parts.size
    first = np.zeros(n + 1, dtype=bool)
    first[corpus.sequence_ptr] = True  # between sequences, and at both ends
    before, after = _beside(parts, types, first)
    starts = np.flatnonzero(before)
    return FlatSpans(starts, np.flatnonzero(after) + 1, types[starts])


def _beside(parts: NDArray[np.uint8], types: NDArray[np.int32], first: _Bools) -> tuple[_Bools, _Bools]:
    """Return whether a span begins at a token, and whether one ends after it: [n_tokens] each."""
    n = parts.size
    # Left and right neighbours, where whatever is outside the sequence counts as O.
    previous, following = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.uint8)
    previous[1:], following[:-1] = parts[:-1], parts[1:]
    previous[first[:-1]] = _O
    following[first[1:]] = _O
    changes = np.ones(n + 1, dtype=bool)  # the type, between token t - 1 and token t
    changes[1:-1] = types[1:] != types[:-1]
    inside = parts != _O
    opens = (parts == _B) | (parts == _S) | (previous == _O) | (previous == _E) | (previous == _S) | changes[:-1]
    closes = (parts == _E) | (parts == _S) | (following == _O) | (following == _B) | (following == _S) | changes[1:]
    return inside & opens, inside & closes


def spans(labels: Sequence[str], scheme: str = "bio") -> list[tuple[int, int, str]]:
    """Return (start, end, type) of the spans of one sequence; the end is the token after the last."""
    corpus = flatten([labels])
    table = take_apart(corpus.names, scheme)
    found = flat_spans(corpus, table)
    kinds = [table.type_names[kind] for kind in found.types.tolist()]
    return list(zip(found.starts.tolist(), found.ends.tolist(), kinds))


def legal_transitions(
    labels: Sequence[str], scheme: str
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return 1 where a label may be first [L], where j may follow i [L, L], and where a label may be last [L]."""
    parts, types, _ = take_apart(labels, scheme)
    same = types[:, None] == types[None, :]
    if scheme in ("bio", "iob1"):
        needs = _I if scheme == "bio" else _B  # the part that needs a span of its type on its left
        start = parts != needs
        transitions = (parts != needs)[None, :] | same
        stop = np.ones(parts.size, dtype=bool)
    else:
        outside_after = np.isin(parts, (_O, _E, _S))
        outside_before = np.isin(parts, (_O, _B, _S))
        goes_on = ~outside_after[:, None] & ~outside_before[None, :]
        transitions = (outside_after[:, None] & outside_before[None, :]) | (goes_on & same)
        start, stop = outside_before, outside_after
    return start.astype(np.uint8), transitions.astype(np.uint8), stop.astype(np.uint8)


def illegal(sequences: Iterable[Sequence[str]], scheme: str) -> tuple[int, tuple[int, int] | None]:
    """Return how many tokens break the scheme, and the (sequence, token) of the first of them.

    A token breaks it by following its neighbour, by being the first, or by being the last of its sequence.
    """
    corpus = flatten(sequences)
    wrong = flat_illegal(corpus, scheme)
    return int(wrong.size), corpus.place(int(wrong[0])) if wrong.size else None


def flat_illegal(corpus: FlatLabels, scheme: str) -> NDArray[np.int64]:
    """Return the tokens that break the scheme, in order; an unknown label, -1, breaks nothing."""
    start, transitions, stop = legal_transitions(corpus.names, scheme)
    numbers, ptr = corpus.numbers, corpus.sequence_ptr
    filled = np.diff(ptr) > 0
    firsts, lasts = ptr[:-1][filled], ptr[1:][filled] - 1
    legal, unknown = np.ones(numbers.size, dtype=bool), numbers < 0
    legal[1:] = (transitions[numbers[:-1], numbers[1:]] != 0) | unknown[:-1]
    legal[firsts] = start[numbers[firsts]] != 0
    legal[lasts] &= stop[numbers[lasts]] != 0
    return np.flatnonzero(~legal & ~unknown)


def convert(sequences: Iterable[Sequence[str]], source: str, target: str) -> list[list[str]]:
    """Return the same spans in another scheme; labels that break the source scheme become legal in the target's."""
    return list(flat_convert(flatten(sequences), source, target))


def flat_convert(corpus: FlatLabels, source: str, target: str) -> FlatLabels:
    """Return the labels of a corpus in another scheme; see :func:`convert`."""
    if target not in SCHEMES:
        raise ValueError(f"no label scheme {target!r}: there are {', '.join(SCHEMES)}")
    table = take_apart(corpus.names, source)
    found = flat_spans(corpus, table)
    parts = np.full(corpus.numbers.size, _I, dtype=np.int64)
    types = table.types[corpus.numbers].astype(np.int64)  # within a span they are all the same
    parts[found.ends - 1] = _E
    parts[_begins(found, corpus.sequence_ptr) if target == "iob1" else found.starts] = _B
    single = found.starts[found.ends - found.starts == 1]
    parts[single] = _S if target != "iob1" else np.where(parts[single] == _B, _B, _I)
    letters = _WRITTEN[target]
    endings = [f"-{kind}" if kind else "" for kind in table.type_names]
    names = ["O", *(letters[part] + ending for ending in endings for part in (_B, _I, _E, _S))]
    numbers = np.where(types < 0, 0, 1 + 4 * types + parts - _B).astype(np.int32)
    return flatten(FlatLabels(numbers, corpus.sequence_ptr, names))


def to_scheme(corpus: FlatLabels, target: str) -> FlatLabels:
    """Return the labels in a scheme, whichever they are of; ValueError where they spell no spans."""
    return flat_convert(corpus, source_scheme(corpus.names, flat_detect(corpus).scheme, target), target)


def source_scheme(names: Iterable[str], detected: str | None, target: str) -> str:
    """Return the scheme to convert labels from, that of the target where all are O; ValueError where there is none."""
    if detected is None and any(_split(name)[0] != "O" for name in names):
        wrong = next((name for name in names if not _split(name)[0]), None)
        mixed = "the letters of their parts are mixed"
        why = mixed if wrong is None else f"{wrong!r} is a label of none"
        raise ValueError(f"the labels follow no scheme and cannot be converted to {target!r}: {why}")
    return detected or target


def _begins(found: FlatSpans, sequence_ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where IOB1 writes B: at spans that touch another of the same type in their sequence."""
    touches = (found.starts[1:] == found.ends[:-1]) & (found.types[1:] == found.types[:-1])
    starts = found.starts[1:][touches]
    return starts[~np.isin(starts, sequence_ptr)]
