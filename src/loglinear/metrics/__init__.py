"""How good predictions are."""

from loglinear.metrics.accuracy import ClassScores, Scores, accuracy, log_loss, score_labels
from loglinear.metrics.evaluation import Evaluation, TaggerEvaluation, evaluate, evaluate_tagger
from loglinear.metrics.span_f1 import SpanScores, TypeScores, span_scores

__all__ = [
    "ClassScores",
    "Evaluation",
    "Scores",
    "SpanScores",
    "TaggerEvaluation",
    "TypeScores",
    "accuracy",
    "evaluate",
    "evaluate_tagger",
    "log_loss",
    "score_labels",
    "span_scores",
]
