"""Rerankers against a plain peer."""
