"""Older ways to compute a loss, kept to compare with; no model is trained by them."""
