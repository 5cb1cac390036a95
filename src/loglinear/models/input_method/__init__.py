"""The input method."""
