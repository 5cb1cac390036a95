"""Perplexity of texts, from sums of log-probabilities."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from loglinear.metrics.figures import Figures


@dataclass(frozen=True)
class TextScore:
    """The score of a text under a language model. Tokens include the ends of sentences; logarithms are natural."""

    n_sentences: int
    n_words: int
    n_unknown: int
    log_probability: float
    unknown_log_probability: float  # the part of it that belongs to unknown words
    hits: list[int] = field(default_factory=list)  # tokens found as an n-gram of each order

    @property
    def n_tokens(self) -> int:
        """Return the number of words and ends of sentences."""
        return self.n_words + self.n_sentences

    @property
    def perplexity(self) -> float:
        """Return exp(- log-probability per token), unknown words included as ``<unk>``."""
        return perplexity(self.log_probability, self.n_tokens)

    @property
    def perplexity_without_unknown(self) -> float:
        """Return the perplexity of the known tokens only."""
        return perplexity(self.log_probability - self.unknown_log_probability, self.n_tokens - self.n_unknown)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        figures = asdict(self, dict_factory=Figures)
        figures["perplexity"] = self.perplexity
        figures["perplexity_without_unknown"] = self.perplexity_without_unknown
        figures["n_tokens"] = self.n_tokens
        return figures


def perplexity(log_probability: float, n_tokens: int) -> float:
    """Return exp(- log-probability / tokens); infinite if a token has probability zero."""
    if n_tokens == 0:
        return math.nan
    mean = -log_probability / n_tokens
    return math.exp(mean) if mean < 709 else math.inf
