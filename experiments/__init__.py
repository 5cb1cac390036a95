"""Experiments of published papers, run again: ``python -m experiments.NAME`` writes docs/results/NAME.md."""
