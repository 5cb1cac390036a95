"""Perplexity and what stands behind it, from sums of log-probabilities."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class TextScore:
    """What a language model says of a text. Tokens include the end of each sentence; logarithms are natural."""

    n_sentences: int
    n_words: int
    n_unknown: int
    log_probability: float
    unknown_log_probability: float  # the part of it that unknown words have
    hits: list[int] = field(default_factory=list)  # tokens found as an n-gram of each order

    @property
    def n_tokens(self) -> int:
        """Words and ends of sentences."""
        return self.n_words + self.n_sentences

    @property
    def perplexity(self) -> float:
        """exp(- log-probability per token), unknown words included as ``<unk>``."""
        return perplexity(self.log_probability, self.n_tokens)

    @property
    def perplexity_without_unknown(self) -> float:
        """The same over the known tokens alone."""
        return perplexity(self.log_probability - self.unknown_log_probability, self.n_tokens - self.n_unknown)

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        figures = asdict(self)
        figures["perplexity"] = self.perplexity
        figures["perplexity_without_unknown"] = self.perplexity_without_unknown
        figures["n_tokens"] = self.n_tokens
        return figures


def perplexity(log_probability: float, n_tokens: int) -> float:
    """exp(- log-probability / tokens); infinite where a token has no probability."""
    if n_tokens == 0:
        return math.nan
    mean = -log_probability / n_tokens
    return math.exp(mean) if mean < 709 else math.inf
