"""Features of the input alone, for M-estimation: they have a weight whatever the labels.

    p_w(x, y)  ∝  q0(x, y) exp( w . f(x, y) + v . g(x) )

They cancel in p(y | x), so decoding does not see them. In M-estimation, which models x too, they take from w the burden
of explaining the input (Smith, Vail and Lafferty, "Computationally Efficient M-Estimation of Log-Linear Structure
Models", section 5.2), and they count in the score of an input.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.matrix import SparseRows
from loglinear.data.sequence import SequenceData
from loglinear.features.columns import Columns
from loglinear.features.sequences import TokenRows
from loglinear.features.template_syntax import LABEL
from loglinear.features.templates import TemplateFeatures, load_templates
from loglinear.hmm.counts import feature_counts
from loglinear.hmm.expectations import input_expectations
from loglinear.hmm.model import HMM
from loglinear.hmm.templates import template_observations
from loglinear.threads import pool

_LONGEST = 10  # tokens of an n-gram


@dataclass
class InputOnly:
    """Attributes of tokens that templates make, counted per sequence, with a weight each once it is trained."""

    featuriser: TemplateFeatures
    weights: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, setting: Any, n_columns: int, min_count: int = 1) -> InputOnly:
        """Make it of the setting: the length of n-grams of every column, or templates (a file or text)."""
        if isinstance(setting, int):
            text = ngram_templates(setting, n_columns)
        else:
            text = os.fspath(setting)
            text = text if "\n" in text or "%" in text else load_templates(text)
        featuriser = TemplateFeatures(text, min_count=min_count)
        if featuriser.has_transitions or any(template.scope != LABEL for template in featuriser.templates):
            raise ValueError(
                "input_only: a template that begins with B or * is joined with a pair of labels, but features of the "
                "input alone are joined with none: begin every line with U, and leave the transitions to templates"
            )
        return cls(featuriser)

    def fit_counts(self, columns: Columns, n_threads: int | None = None) -> SparseRows:
        """Learn the attributes of training sequences; return how often each sequence has each."""
        return self._sums(columns.sequence_ptr, self.featuriser.fit_transform(columns, pool(n_threads).size), n_threads)

    def counts(self, columns: Columns, n_threads: int | None = None) -> SparseRows:
        """Return how often each sequence has each known attribute [n_sequences, n_attributes]."""
        return self._sums(columns.sequence_ptr, self.featuriser.transform(columns, pool(n_threads).size), n_threads)

    def _sums(self, sequence_ptr: NDArray[np.int64], rows: TokenRows, n_threads: int | None) -> SparseRows:
        n, labels = self.featuriser.n_attributes, np.zeros(rows.n_tokens, dtype=np.int32)
        # One label for all tokens: its features are the attributes.
        empty, none = np.empty(0, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
        features = ChainFeatures(1, np.arange(n + 1), np.zeros(n, dtype=np.int32), none, empty, empty, empty)
        return feature_counts(SequenceData(sequence_ptr, rows, n, labels, 1), features, pool(n_threads))

    def expectations(self, hmm: HMM, columns: Columns, n_threads: int | None = None) -> FloatArray:
        """Return their exact expected counts in a sequence of the HMM [n_attributes]."""
        return input_expectations(hmm, template_observations(self.featuriser, columns), n_threads)

    def scores(self, columns: Columns, n_threads: int | None = None) -> FloatArray:
        """Return v . g(x) of every sequence [n_sequences]."""
        out = np.empty(columns.sequence_ptr.size - 1)
        self.counts(columns, n_threads).margins(pool(n_threads), self.weights, None, 1, out)
        return out

    def trained(self, weights: FloatArray) -> InputOnly:
        """Return the same features with these weights."""
        return replace(self, weights=np.ascontiguousarray(weights))

    def nonzero(self) -> InputOnly:
        """Return the features whose weights are not zero."""
        kept = np.flatnonzero(self.weights)
        return InputOnly(self.featuriser.take(kept), self.weights[kept])


def ngram_templates(longest: int, n_columns: int) -> str:
    """Return templates of the n-grams of every column, of up to ``longest`` tokens."""
    return "".join(
        f"U{column}.{n}:" + "/".join(f"%x[{k},{column}]" for k in range(1 - n, 1)) + "\n"
        for column in range(n_columns)
        for n in range(1, longest + 1)
    )


def check_input_only(setting: Any, estimator: str) -> None:
    """Raise ValueError for a setting that has no meaning."""
    if setting is None:
        return
    if estimator != "m-estimation":
        raise ValueError(
            f"input_only features cancel in p(y | x), so the estimator {estimator!r} cannot learn from them: use "
            "estimator='m-estimation', or leave them out"
        )
    number = isinstance(setting, int) and not isinstance(setting, bool) and 1 <= setting <= _LONGEST
    text = isinstance(setting, os.PathLike) or (isinstance(setting, str) and bool(setting.strip()))
    if not (number or text):
        raise ValueError(
            f"input_only must be a length of n-grams from 1 to {_LONGEST}, a file of templates or their text, "
            f"not {setting!r}"
        )
