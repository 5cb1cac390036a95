"""How sure a tagger is of its labels, its most confident mistakes, and the attributes that decided them.

The label that was predicted for a token is compared with the gold one while all other labels stay as predicted:

    log p(predicted labelling) - log p(the same with the gold label) = attributes of the token + labels around it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.data.token_arrays import TokenArrays
from loglinear.features.sequences import EncodedSequences
from loglinear.metrics.calibration import calibration
from loglinear.metrics.evaluation import gold_labels
from loglinear.models.push import Push, by_effect, push_dicts
from loglinear.models.tagger.explain import attribute_weights

if TYPE_CHECKING:
    from loglinear.models.tagger.predictor import TaggerPredictor

AROUND = "(labels around it)"  # transitions, attributes of label pairs at the next token, the base distribution
_FEATURES = 10  # of a mistake
_TABLE = 1 << 22  # entries of a table of marginals, made some sequences at a time


@dataclass(frozen=True)
class Mistake:
    """A token with another label than the predicted one."""

    sequence: int  # its number, from 0
    token: int  # its number in the sequence, from 0
    words: list[str] | None  # the first column of the sequence, if it has columns
    gold: str
    predicted: str
    probability: float  # marginal, of the predicted label
    gold_probability: float  # zero for a label that never occurred in training
    pushes: list[Push]  # for the predicted label against the gold one, or by itself if that one is unknown

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**vars(self), "pushes": push_dicts(self.pushes)}


def judge_tokens(
    model: TaggerPredictor, X: Any, y: Any, n: int, constraint: Any = None
) -> tuple[list[Mistake], dict[str, Any]]:
    """Return the n mistakes of the highest marginal probability, and the calibration of all predicted labels."""
    if n < 0:
        raise ValueError(f"the number of errors must not be negative, not {n}")
    X = X if isinstance(X, EncodedSequences) else list(X)
    gold = gold_labels(model, y)[0]
    names = np.asarray(gold.names, dtype=object)[gold.numbers]
    best = model.predict_flat(X, constraint=constraint)
    right = names == np.asarray(best.names, dtype=object)[best.numbers]
    sure = np.concatenate([np.empty(0), *_marginals(model, X, best.sequence_ptr, best.numbers, constraint)])
    wrong, found = np.flatnonzero(~right), []
    for at in wrong[np.argsort(-sure[wrong], kind="stable")[:n]].tolist():
        sequence, token = best.place(at)
        found.append(_mistake(model, X, sequence, token, str(names[at]), constraint))
    return found, calibration(sure, right)


def _marginals(
    model: TaggerPredictor, X: Any, ptr: np.ndarray, labels: np.ndarray, constraint: Any
) -> Iterator[np.ndarray]:
    """Yield the marginal probabilities of the labels of all tokens, some sequences at a time."""
    sizes = ptr[1:] * len(model.classes_)
    for part in np.split(np.arange(ptr.size - 1), np.flatnonzero(np.diff(sizes // _TABLE)) + 1):
        if part.size:
            table = model.marginal_array(_take(X, part), constraint=constraint)
            yield table[np.arange(table.shape[0]), labels[ptr[part[0]] : ptr[part[-1] + 1]]]


def _take(X: Any, rows: Sequence[int] | np.ndarray) -> Any:
    return X.take(rows) if isinstance(X, EncodedSequences) else [X[i] for i in rows]


def _mistake(
    model: TaggerPredictor, X: Any, sequence: int, token: int, gold: str, constraint: Any
) -> Mistake:
    one = _take(X, [sequence])
    lattices = model._lattices(one, constraint)
    labels, inputs = lattices.best(), lattices.inputs
    shares, y = lattices.marginals()[token], int(labels[token])
    last = int(labels[token - 1]) if token else None
    parts = attribute_weights(model, inputs, token, y, last)
    other = model.classes_.index(gold) if gold in model.classes_ else None
    if other is not None:
        against = attribute_weights(model, inputs, token, other, last)
        parts = [(a, value, weight - less) for (a, value, weight), (_, _, less) in zip(parts, against)]
    pushes = [Push(model.attribute_name(a), value, weight, value * weight) for a, value, weight in parts if weight]
    if other is not None:
        swapped = labels.copy()
        swapped[token] = other
        apart = float((lattices.scores(labels) - lattices.scores(swapped))[0])
        around = apart - sum(push.contribution for push in pushes)
        if np.isfinite(around):  # it is not where the constraint excludes the gold label there
            pushes.append(Push(AROUND, 1.0, around, around))
    return Mistake(
        sequence, token, words_of(model, one[0]), gold, model.classes_[y], float(shares[y]),
        0.0 if other is None else float(shares[other]), by_effect(pushes)[:_FEATURES],
    )


def words_of(model: TaggerPredictor, sequence: Sequence[Any]) -> list[str] | None:
    """Return the first column of the tokens; None where the model reads attributes."""
    if not model.reader_.reads_columns:
        return None
    sequence = sequence.attributes[0] if isinstance(sequence, TokenArrays) else sequence
    return [token if isinstance(token, str) else str(token[0]) for token in sequence]
