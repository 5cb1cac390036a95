"""Scores of labelled sequences: tokens, whole sequences and, if the labels encode spans, spans.

    precision = correct / predicted     recall = correct / gold     F1 = harmonic mean of the two

over spans, where a predicted span is correct if a gold span has the same boundaries and the same type. Spans are read
and counted as the scorer of the CoNLL shared tasks does (conlleval; Tjong Kim Sang and Buchholz 2000); see
:mod:`loglinear.features.schemes`. 0 / 0 counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.features.schemes import FlatSpans, flat_detect, flat_spans, flatten, take_apart
from loglinear.features.sequences import FlatLabels
from loglinear.metrics.accuracy import Scores, score_labels


@dataclass(frozen=True)
class TypeScores:
    """The scores of one span type; ``gold``, ``predicted`` and ``correct`` count its spans."""

    type: str
    precision: float
    recall: float
    f1: float
    gold: int
    predicted: int
    correct: int


@dataclass(frozen=True)
class SpanScores:
    """All measures of labelled sequences.

    ``confusion[gold type][predicted type]`` counts predicted spans with the boundaries of a gold span; gold spans
    without a predicted counterpart are ``missed``, predicted ones without a gold counterpart ``spurious``, by type.
    ``labels`` scores single labels. If the labels follow no scheme there are no spans, and ``precision``, ``recall``
    and ``f1`` are None.
    """

    scheme: str | None
    n_sequences: int
    n_tokens: int
    accuracy: float
    sequence_accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    n_gold: int
    n_predicted: int
    n_correct: int
    types: list[TypeScores]
    confusion: dict[str, dict[str, int]]
    missed: dict[str, int]
    spurious: dict[str, int]
    labels: Scores

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    def conlleval(self) -> str:
        """Return the scores as conlleval prints them."""
        right = round(self.accuracy * self.n_tokens)
        lines = [
            f"processed {self.n_tokens} tokens with {self.n_gold} phrases; "
            f"found: {self.n_predicted} phrases; correct: {self.n_correct}.",
            f"accuracy: {100 * right / self.n_tokens:6.2f}%; "
            + _percentages(self.n_correct, self.n_predicted, self.n_gold),
        ]
        for row in self.types:
            lines.append(f"{row.type:>17}: {_percentages(row.correct, row.predicted, row.gold)}  {row.predicted}")
        return "\n".join(lines) + "\n"


def _percentages(correct: int, predicted: int, gold: int) -> str:
    """Return percentages computed in conlleval's order of operations, so that both round alike."""
    precision = 100 * correct / predicted if predicted else 0.0
    recall = 100 * correct / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def span_scores(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], scheme: str | None = None
) -> SpanScores:
    """Score predicted labels against gold labels; if the scheme is None it is detected from the gold labels.

    Raises ValueError, which names the sequence, if its two lists of labels differ in length.
    """
    truth, guess = _flatten_both(gold, predicted)
    scheme = flat_detect(truth).scheme if scheme is None else scheme
    right = truth.numbers == guess.numbers
    whole = _whole_sequences(right, truth.sequence_ptr)
    counts = _NO_SPANS if scheme is None else _count_spans(truth, guess, scheme)
    none, correct, found, n_gold = scheme is None, counts["n_correct"], counts["n_predicted"], counts["n_gold"]
    return SpanScores(
        scheme=scheme,
        n_sequences=truth.sequence_ptr.size - 1,
        n_tokens=right.size,
        accuracy=float(right.mean()),
        sequence_accuracy=float(whole.mean()),
        precision=None if none else _quotient(correct, found),
        recall=None if none else _quotient(correct, n_gold),
        f1=None if none else _quotient(2 * correct, n_gold + found),
        **counts,
        labels=_label_scores(truth, guess),
    )


_NO_SPANS: dict[str, Any] = {
    "n_gold": 0, "n_predicted": 0, "n_correct": 0, "types": [], "confusion": {}, "missed": {}, "spurious": {},
}


def _flatten_both(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> tuple[FlatLabels, FlatLabels]:
    """Return both sides with common label numbers; raise ValueError if their lengths differ."""
    truth, guess = flatten(gold), flatten(predicted)
    if len(truth) != len(guess):
        raise ValueError(f"{len(truth)} sequences of gold labels, but {len(guess)} of predicted ones")
    expected, found = np.diff(truth.sequence_ptr), np.diff(guess.sequence_ptr)
    unequal = np.flatnonzero(expected != found)
    if unequal.size:
        i = int(unequal[0])
        raise ValueError(f"sequence {i} has {expected[i]} gold labels, but {found[i]} predicted ones")
    if truth.n_tokens == 0:
        raise ValueError("there are no tokens to score")
    names = sorted({*truth.names, *guess.names})
    return truth.renumbered(names), guess.renumbered(names)


def _whole_sequences(right: NDArray[np.bool_], ptr: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which sequences have no wrong label; an empty one has none."""
    wrong = np.zeros(right.size + 1, dtype=np.int64)
    np.cumsum(~right, out=wrong[1:])
    return wrong[ptr[1:]] == wrong[ptr[:-1]]


def _count_spans(truth: FlatLabels, guess: FlatLabels, scheme: str) -> dict[str, Any]:
    """Return the counts of spans, by the names that they have in SpanScores."""
    table = take_apart(truth.names, scheme)
    names, K = table.type_names, len(table.type_names)
    gold, found = flat_spans(truth, table), flat_spans(guess, table)
    gold_twin, found_twin = _twins(gold, found)  # spans with the same boundaries
    pairs = np.bincount(gold.types[gold_twin] * np.int64(K) + found.types[found_twin], minlength=K * K).reshape(K, K)
    in_gold, guessed = np.bincount(gold.types, minlength=K), np.bincount(found.types, minlength=K)
    correct = np.diagonal(pairs)
    rows = [
        TypeScores(name, _quotient(c, p), _quotient(c, g), _quotient(2 * c, g + p), g, p, c)
        for name, g, p, c in zip(names, in_gold.tolist(), guessed.tolist(), correct.tolist())
        if g + p
    ]
    return {
        "n_gold": gold.starts.size,
        "n_predicted": found.starts.size,
        "n_correct": int(correct.sum()),
        "types": rows,
        "confusion": {
            names[i]: {names[j]: int(pairs[i, j]) for j in np.flatnonzero(pairs[i]).tolist()}
            for i in np.flatnonzero(pairs.any(axis=1)).tolist()
        },
        "missed": _nonzero(names, in_gold - pairs.sum(axis=1)),
        "spurious": _nonzero(names, guessed - pairs.sum(axis=0)),
    }


def _twins(gold: FlatSpans, found: FlatSpans) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where both lists have spans with equal boundaries; spans of one side never begin at the same token."""
    _, i, j = np.intersect1d(gold.starts, found.starts, assume_unique=True, return_indices=True)
    same = gold.ends[i] == found.ends[j]
    return i[same], j[same]


def _nonzero(names: list[str], counts: NDArray[np.int64]) -> dict[str, int]:
    return {name: count for name, count in zip(names, counts.tolist()) if count}


def _label_scores(truth: FlatLabels, guess: FlatLabels) -> Scores:
    """Return the scores of single labels, counted by number, which is faster; names are sorted, so order is kept."""
    scores, names = score_labels(truth.numbers, guess.numbers), truth.names
    return replace(
        scores,
        classes=[replace(row, label=names[row.label]) for row in scores.classes],
        confusion={names[t]: {names[p]: n for p, n in row.items()} for t, row in scores.confusion.items()},
    )


def _quotient(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
