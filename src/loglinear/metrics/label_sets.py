"""Scores of predictions where an example may have several labels, or none.

A label's counts are those of the examples that have it, that were given it, and both. Micro F1 is that of the sums
of these over all labels, macro F1 the mean of the labels' (0 for a label that is never right); subset accuracy is the
share of examples with all labels right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def score_label_sets(
    truth: NDArray[np.bool_], predicted: NDArray[np.bool_], names: Sequence[Any], unseen: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the figures as plain values.

    truth, predicted : [n_examples, n_labels], columns in the order of ``names``
    unseen : those of the names that never occurred in training
    """
    both, support, guessed = ((truth & predicted).sum(0), truth.sum(0), predicted.sum(0))
    f1 = _share(2 * both, support + guessed)
    rows = zip(names, _share(both, guessed).tolist(), _share(both, support).tolist(), f1.tolist(), support.tolist(),
               guessed.tolist())  # fmt: skip
    fields = ("label", "precision", "recall", "f1", "support", "predicted")
    missed = {name: n for name, n in zip(names, support.tolist()) if name in set(unseen)}
    return {
        "n_examples": truth.shape[0],
        "subset_accuracy": float(np.mean((truth == predicted).all(axis=1))) if truth.shape[0] else 0.0,
        "micro_precision": float(_share(both.sum(), guessed.sum())),
        "micro_recall": float(_share(both.sum(), support.sum())),
        "micro_f1": float(_share(2 * both.sum(), support.sum() + guessed.sum())),
        "macro_f1": float(f1.mean()),
        "unseen_labels": missed,
        "classes": [{**dict(zip(fields, row)), "seen": row[0] not in missed} for row in rows],
    }


def _share(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) > 0)
