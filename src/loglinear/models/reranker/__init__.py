"""The reranker of n-best lists."""
