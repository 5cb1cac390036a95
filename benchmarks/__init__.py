"""Benchmarks: problems x contenders with one runner. Figures are ratios to a peer measured in the same run."""
