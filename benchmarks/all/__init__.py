"""All benchmarks in one run, as one page, beside earlier runs."""
