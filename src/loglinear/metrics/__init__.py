"""How good predictions are."""

from loglinear.metrics.accuracy import ClassScores, Scores, accuracy, log_loss, score_labels
from loglinear.metrics.evaluation import Evaluation, evaluate

__all__ = ["ClassScores", "Evaluation", "Scores", "accuracy", "evaluate", "log_loss", "score_labels"]
