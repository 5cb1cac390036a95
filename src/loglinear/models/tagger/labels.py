"""Labels of sequences to numbers and back: known, unknown, or one of several."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class SequenceLabels(NamedTuple):
    """Numbers of labels, -1 where unknown; ``allowed`` then says which may be, where any token says so."""

    numbers: NDArray[np.int32]  # [n_tokens]
    allowed: NDArray[np.uint8] | None  # [n_tokens, n_labels]
    classes: list[str]


def encode_labels(
    y: Iterable[Sequence[Any]], sequence_ptr: NDArray[np.int64], classes: Sequence[str] = (), *, grow: bool = True
) -> SequenceLabels:
    """One entry per token: a label, None (unknown) or a collection of labels (one of these).

    New labels are added to ``classes`` in sorted order; without ``grow`` they are refused with their place.
    """
    found: dict[str, int] = {label: k for k, label in enumerate(classes)}
    n_known = len(found)
    numbers: list[int] = []
    choices: list[tuple[int, Collection[str]]] = []
    lengths = np.diff(sequence_ptr).tolist()
    n_sequences = 0
    for i, sequence in enumerate(y):
        n_sequences += 1
        if i >= len(lengths):
            continue
        if isinstance(sequence, str) or not hasattr(sequence, "__len__") or len(sequence) != lengths[i]:
            size = len(sequence) if hasattr(sequence, "__len__") else "no"
            raise ValueError(f"sequence {i} has {lengths[i]} tokens but {size} labels: one label per token is needed")
        for label in sequence:
            if type(label) is str:
                numbers.append(found.setdefault(label, len(found)))
            elif isinstance(label, str):  # numpy's, say, which would print as such in predictions
                numbers.append(found.setdefault(str(label), len(found)))
            elif label is None:
                numbers.append(-1)
            else:
                choices.append((len(numbers), _choice(label, i, len(numbers) - int(sequence_ptr[i]))))
                numbers.append(-1)
    if n_sequences != len(lengths):
        raise ValueError(f"{len(lengths)} sequences but labels for {n_sequences}")
    for _, options in choices:
        for label in options:
            found.setdefault(str(label), len(found))
    if not grow and len(found) > n_known:
        _refuse(list(found)[n_known], numbers, choices, n_known, sequence_ptr, list(classes))
    names = list(found)
    order = [*range(n_known), *sorted(range(n_known, len(names)), key=names.__getitem__)]
    renumber = np.full(len(names) + 1, -1, dtype=np.int32)  # the last place is that of -1
    renumber[order] = np.arange(len(names), dtype=np.int32)
    coded = renumber[np.asarray(numbers, dtype=np.int64)] if numbers else np.empty(0, dtype=np.int32)
    allowed = None
    if choices:
        allowed = np.ones((len(numbers), len(names)), dtype=np.uint8)
        for token, options in choices:
            allowed[token] = 0
            allowed[token, renumber[[found[label] for label in options]]] = 1
    return SequenceLabels(coded, allowed, [names[k] for k in order])


def _choice(label: Any, sequence: int, token: int) -> Collection[str]:
    if isinstance(label, (set, frozenset, list, tuple)) and label and all(isinstance(k, str) for k in label):
        return label
    raise TypeError(
        f"sequence {sequence}, token {token}: a label must be text, None (unknown) or a non-empty collection of texts "
        f"(one of these), not {label!r}"
    )


def _refuse(
    label: str,
    numbers: list[int],
    choices: list[tuple[int, Collection[str]]],
    n_known: int,
    sequence_ptr: NDArray[np.int64],
    classes: list[str],
) -> None:
    place = next((t for t, k in enumerate(numbers) if k >= n_known), None)
    if place is None:
        place = next(t for t, options in choices if label in options)
    sequence = int(np.searchsorted(sequence_ptr, place, side="right")) - 1
    shown = ", ".join(classes[:20]) + (" ..." if len(classes) > 20 else "")
    raise ValueError(
        f"label {label!r} (sequence {sequence}, token {place - int(sequence_ptr[sequence])}) was not seen in training; "
        f"known: {shown}"
    )


def decode_labels(
    numbers: NDArray[np.int32], classes: Sequence[str], sequence_ptr: NDArray[np.int64]
) -> list[list[str]]:
    """Lists of labels, one per sequence."""
    names = np.empty(len(classes), dtype=object)
    names[:] = list(classes)
    flat = names[numbers].tolist()
    return [flat[a:b] for a, b in itertools.pairwise(sequence_ptr.tolist())]


def allowed_scores(allowed: Iterable[Any], sequence_ptr: NDArray[np.int64], classes: Sequence[str]) -> NDArray[Any]:
    """Scores [n_tokens, n_labels], 0 where a label is allowed and -infinity elsewhere; entries as in encode_labels."""
    coded = encode_labels(allowed, sequence_ptr, classes, grow=False)
    scores = np.zeros((coded.numbers.size, len(classes)))
    known = np.flatnonzero(coded.numbers >= 0)
    scores[known] = -np.inf
    scores[known, coded.numbers[known]] = 0.0
    if coded.allowed is not None:
        scores[coded.allowed == 0] = -np.inf
    return scores
