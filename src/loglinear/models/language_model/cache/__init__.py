"""Mixtures of models and a memory of the document over them, exactly normalised."""
