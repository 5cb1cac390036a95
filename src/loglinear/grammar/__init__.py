"""Probabilistic grammars: counted, sampled, their exact expectations; bases that parsers correct."""
