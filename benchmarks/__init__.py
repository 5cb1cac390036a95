"""Benchmarks: problems x contenders, one runner; figures are ratios to a peer in the same run."""
