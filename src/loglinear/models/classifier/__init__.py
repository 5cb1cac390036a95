"""The maximum-entropy classifier."""
