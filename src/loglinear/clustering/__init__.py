"""Word classes by the text alone: words that stand between like neighbours share a class."""

from __future__ import annotations

from loglinear.clustering.exchange import Clustering, WordBigrams, cluster_words, exchange

__all__ = ["Clustering", "WordBigrams", "cluster_words", "exchange"]
