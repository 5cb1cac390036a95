"""Word classes by the text alone: words that stand between like neighbours share a class."""

from __future__ import annotations

from loglinear.clustering.exchange import (
    Clustering,
    WordBigrams,
    bidirectional,
    cluster_words,
    exchange,
    log_likelihood,
)
from loglinear.clustering.merge import brown, class_bits

__all__ = [
    "Clustering",
    "WordBigrams",
    "bidirectional",
    "brown",
    "class_bits",
    "cluster_words",
    "exchange",
    "log_likelihood",
]
