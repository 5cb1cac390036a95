"""The back-off form that every n-gram model takes, whatever estimated it.

    p(w | h) = exp(log_probability[e])                     where h has an entry e for w
    p(w | h) = exp(log_backoff[h]) * p(w | h without its oldest word)   otherwise

Contexts and entries are laid out as in ``loglinear.data.ngram``; here a context may have no entries and an entry no
parent. A maximum-entropy model with nested n-gram features is of this form exactly, with backoff Z(parent h) / Z(h);
and any model of this form is a maximum-entropy model with weights
theta(h, w) = log p(w | h) - log p(w | parent h) - log backoff(h).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loglinear.features.word_vocabulary import WordVocabulary

IndexArray = NDArray[np.uint32]


@dataclass(frozen=True)
class BackoffModel:
    """Natural logarithms throughout; float64 while a model is being made."""

    vocabulary: WordVocabulary
    order: int
    context_start: NDArray[np.int64]  # [order + 1]
    entry_start: NDArray[np.int64]  # [order + 1]
    context_word: IndexArray  # [n_contexts]
    context_child: IndexArray  # [n_contexts + 1]
    context_entry: IndexArray  # [n_contexts + 1]
    log_backoff: NDArray[np.float64]  # [n_contexts]; that of the empty context is unused and 0
    entry_word: IndexArray  # [n_entries]
    log_probability: NDArray[np.float64]  # [n_entries]

    @property
    def n_contexts(self) -> int:
        """Contexts of all lengths, the empty one included."""
        return self.context_word.size

    @property
    def n_entries(self) -> int:
        """Return the number of n-grams of all orders."""
        return self.entry_word.size
