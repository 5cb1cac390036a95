"""How good predictions are."""

from loglinear.metrics.accuracy import ClassScores, Scores, accuracy, log_loss, score_labels
from loglinear.metrics.error_rate import (
    ErrorComparison,
    ErrorRate,
    RerankingScores,
    compare_errors,
    error_rate,
    reranking_scores,
    text_error_rate,
)
from loglinear.metrics.evaluation import Evaluation, TaggerEvaluation, evaluate, evaluate_tagger
from loglinear.metrics.span_f1 import SpanScores, TypeScores, span_scores

__all__ = [
    "ClassScores",
    "ErrorComparison",
    "ErrorRate",
    "Evaluation",
    "RerankingScores",
    "Scores",
    "SpanScores",
    "TaggerEvaluation",
    "TypeScores",
    "accuracy",
    "compare_errors",
    "error_rate",
    "evaluate",
    "evaluate_tagger",
    "log_loss",
    "reranking_scores",
    "score_labels",
    "span_scores",
    "text_error_rate",
]
