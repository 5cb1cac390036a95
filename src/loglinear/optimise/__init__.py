"""Optimising: the objective, the loop that minimises it, checkpoints, and the choice of strengths."""
