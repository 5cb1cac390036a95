"""Labels of sequences to numbers: known, unknown, or one of several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.features.sequences import FlatLabels, as_label


class SequenceLabels(NamedTuple):
    """Numbers of labels, -1 where unknown; ``allowed`` is None unless some token has a set of possible labels."""

    numbers: NDArray[np.int32]  # [n_tokens]
    allowed: NDArray[np.uint8] | None  # [n_tokens, n_labels], 1 where a token may have the label
    classes: list[Any]


Choice = tuple[int, Collection[Any]]  # number of a token, and the labels it may have


def encode_labels(
    y: Iterable[Sequence[Any]], sequence_ptr: NDArray[np.int64], classes: Sequence[Any] = (), *, grow: bool = True
) -> SequenceLabels:
    """Number the labels of all tokens. Labels that are numbers already (:class:`FlatLabels`) stay so.

    Parameters
    ----------
    y : one entry per token: a label, None (unknown) or a collection of labels (one of these)
    sequence_ptr : where the sequences of the tokens begin [n_sequences + 1]; ValueError names the first one that has
        another number of labels than tokens
    classes : labels that keep their numbers; labels that are not among them follow in sorted order
    grow : whether there may be labels that are not in ``classes``; if not, ValueError names the first one
    """
    found: dict[Any, int] = {label: k for k, label in enumerate(classes)}
    n_known = len(found)
    numbers, choices = (_from_numbers if isinstance(y, FlatLabels) else _from_lists)(y, sequence_ptr, found)
    _check_one_type(list(found), numbers, choices, sequence_ptr)
    if not grow and len(found) > n_known:
        _refuse(list(found)[n_known], numbers, choices, n_known, sequence_ptr, list(classes))
    names = list(found)
    order = [*range(n_known), *sorted(range(n_known, len(names)), key=names.__getitem__)]
    renumber = np.full(len(names) + 1, -1, dtype=np.int32)  # the last place is that of -1
    renumber[order] = np.arange(len(names), dtype=np.int32)
    allowed = None
    if choices:
        allowed = np.ones((numbers.size, len(names)), dtype=np.uint8)
        for token, options in choices:
            allowed[token] = 0
            allowed[token, renumber[[found[label] for label in options]]] = 1
    return SequenceLabels(renumber[numbers], allowed, [names[k] for k in order])


def _from_numbers(
    y: Any, sequence_ptr: NDArray[np.int64], found: dict[Any, int]
) -> tuple[NDArray[np.int32], list[Choice]]:
    """Give the names of labels that occur a number in ``found``, and translate the numbers; -1 stays unknown."""
    check_lengths(y, sequence_ptr)
    occurs = np.flatnonzero(np.bincount(y.numbers[y.numbers >= 0], minlength=len(y.names)))
    table = np.full(len(y.names) + 1, -1, dtype=np.int32)  # the last place is that of -1
    for k in occurs.tolist():
        table[k] = found.setdefault(y.names[k], len(found))
    return table[y.numbers], []


def check_lengths(y: FlatLabels, sequence_ptr: NDArray[np.int64]) -> None:
    """Raise ValueError for the first sequence that has another number of labels than tokens."""
    lengths, n_labels = np.diff(sequence_ptr), np.diff(y.sequence_ptr)
    n = min(lengths.size, n_labels.size)
    for i in np.flatnonzero(lengths[:n] != n_labels[:n])[:1]:
        raise _wrong_length(i, lengths[i], n_labels[i])
    if lengths.size != n_labels.size:
        raise ValueError(f"{lengths.size} sequences but labels for {n_labels.size}")


def _from_lists(
    y: Iterable[Sequence[Any]], sequence_ptr: NDArray[np.int64], found: dict[Any, int]
) -> tuple[NDArray[np.int32], list[Choice]]:
    """Number labels by first occurrence after those in ``found``, -1 where None or a collection."""
    numbers: list[int] = []
    choices: list[Choice] = []
    lengths = np.diff(sequence_ptr).tolist()
    n_sequences = 0
    for i, sequence in enumerate(y):
        n_sequences += 1
        if i >= len(lengths):
            continue
        if isinstance(sequence, str) or not hasattr(sequence, "__len__") or len(sequence) != lengths[i]:
            raise _wrong_length(i, lengths[i], len(sequence) if hasattr(sequence, "__len__") else "no")
        for label in sequence:
            if type(label) is str:
                numbers.append(found.setdefault(label, len(found)))
            elif isinstance(label, (str, int, np.integer, np.bool_)):  # numpy's become plain ones
                numbers.append(found.setdefault(as_label(label), len(found)))
            elif label is None:
                numbers.append(-1)
            else:
                choices.append((len(numbers), _choice(label, i, len(numbers) - int(sequence_ptr[i]))))
                numbers.append(-1)
    if n_sequences != len(lengths):
        raise ValueError(f"{len(lengths)} sequences but labels for {n_sequences}")
    for _, options in choices:
        for label in options:
            found.setdefault(label, len(found))
    return np.array(numbers, dtype=np.int32), choices


def _wrong_length(sequence: int, n_tokens: int, n_labels: Any) -> ValueError:
    return ValueError(f"sequence {sequence} has {n_tokens} tokens but {n_labels} labels: one label per token is needed")


def _choice(label: Any, sequence: int, token: int) -> Collection[Any]:
    if isinstance(label, (set, frozenset, list, tuple)) and label:
        try:
            return [as_label(one) for one in label]
        except TypeError:
            pass
    raise TypeError(
        f"sequence {sequence}, token {token}: a label must be text, a whole number, None (unknown) or a non-empty "
        f"collection of labels (one of these), not {label!r}"
    )


def _check_one_type(
    names: list[Any], numbers: NDArray[np.int32], choices: list[Choice], sequence_ptr: NDArray[np.int64]
) -> None:
    """Raise TypeError for the first label of another type than the first of all."""
    for k, name in enumerate(names):
        if type(name) is not type(names[0]):
            sequence, token = _place(k, name, numbers, choices, sequence_ptr)
            raise TypeError(
                f"sequence {sequence}, token {token}: the label {name!r} is {type(name).__name__}, but others are "
                f"{type(names[0]).__name__}; labels are all text or all whole numbers"
            )


def _place(
    k: int, label: Any, numbers: NDArray[np.int32], choices: list[Choice], sequence_ptr: NDArray[np.int64]
) -> tuple[int, int]:
    """Return (sequence, token) of the first occurrence of label number k, alone or in a collection."""
    places = np.flatnonzero(numbers == k)
    place = int(places[0]) if places.size else next(t for t, options in choices if label in options)
    sequence = int(np.searchsorted(sequence_ptr, place, side="right")) - 1
    return sequence, place - int(sequence_ptr[sequence])


def _refuse(
    label: Any, numbers: NDArray[np.int32], choices: list[Choice], n_known: int, sequence_ptr: NDArray[np.int64],
    classes: list[Any],
) -> None:
    """Raise ValueError for a label that never occurred in training, with the place of its first occurrence."""
    sequence, token = _place(n_known, label, numbers, choices, sequence_ptr)
    shown = ", ".join(map(str, classes[:20])) + (" ..." if len(classes) > 20 else "")
    raise ValueError(
        f"label {label!r} (sequence {sequence}, token {token}) was not seen in training; known: {shown}"
    )


def allowed_scores(allowed: Iterable[Any], sequence_ptr: NDArray[np.int64], classes: Sequence[Any]) -> NDArray[Any]:
    """Return scores [n_tokens, n_labels], 0 where a label is allowed and -infinity elsewhere.

    ``allowed`` has the entries of ``y`` in :func:`encode_labels`.
    """
    coded = encode_labels(allowed, sequence_ptr, classes, grow=False)
    scores = np.zeros((coded.numbers.size, len(classes)))
    known = np.flatnonzero(coded.numbers >= 0)
    scores[known] = -np.inf
    scores[known, coded.numbers[known]] = 0.0
    if coded.allowed is not None:
        scores[coded.allowed == 0] = -np.inf
    return scores
