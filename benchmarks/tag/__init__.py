"""Taggers against CRFsuite."""
