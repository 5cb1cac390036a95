"""Encoded data: flat, read-only arrays."""
