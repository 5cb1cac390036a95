"""Constituency parsers: grammars, M-estimates and random fields over trees."""
