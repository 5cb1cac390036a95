"""Losses: how well the weights explain the data."""

from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.losses.multinomial import MultinomialLoss

__all__ = ["MEstimationLoss", "MultinomialLoss"]
