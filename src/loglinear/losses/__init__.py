"""Losses: how well the weights explain the data."""

from loglinear.losses.multinomial import MultinomialLoss

__all__ = ["MultinomialLoss"]
