"""Losses: how well the weights explain the data."""

from loglinear.losses.candidate_lists import LIST_LOSSES, ExpectedErrorLoss, ExponentialMarginLoss, ListLogLoss
from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.losses.multinomial import MultinomialLoss

__all__ = [
    "LIST_LOSSES",
    "ExpectedErrorLoss",
    "ExponentialMarginLoss",
    "ListLogLoss",
    "MEstimationLoss",
    "MultinomialLoss",
]
