"""Losses: how well the weights explain the data."""
