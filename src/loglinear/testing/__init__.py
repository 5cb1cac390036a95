"""Checks for your own losses, penalties and solvers: one that passes them works with all the others."""

from loglinear.testing.checks import check_loss, check_penalty, check_solver

__all__ = ["check_loss", "check_penalty", "check_solver"]
