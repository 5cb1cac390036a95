"""Base distributions q0 that a log-linear model corrects, and baselines by themselves."""
