"""Measures of how good predictions are."""
