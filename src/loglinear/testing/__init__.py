"""Checks for pieces of your own: a new loss, penalty or solver that passes these works with everything else."""

from loglinear.testing.checks import check_loss, check_penalty, check_solver

__all__ = ["check_loss", "check_penalty", "check_solver"]
