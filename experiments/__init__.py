"""Replications of experiments in published papers: ``python -m experiments.NAME`` writes docs/results/NAME.md."""
