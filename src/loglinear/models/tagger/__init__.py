"""The tagger of sequences."""
