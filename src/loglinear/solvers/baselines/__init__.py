"""Iterative scaling, the solvers of the early papers, kept to compare with."""
