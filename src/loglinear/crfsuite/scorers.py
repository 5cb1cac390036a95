"""Scorers for scikit-learn's searches, with the names of ``sklearn_crfsuite.scorers``."""

from __future__ import annotations

from sklearn.metrics import make_scorer

from loglinear.crfsuite import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
