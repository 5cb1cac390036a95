"""Expectation-maximisation for joint models: sequences whose labels are unknown are completed by the model so far.

A round draws one labelling of every such sequence from p(y | x), given the labels that are known, or takes the best one
(Viterbi training), and estimates the model anew from all sequences. Drawn labels stand for the expectations over all
labellings: with many sequences their counts differ little, and M-estimation needs no inference but this one pass per
round, whereas the expectation of its exponential loss over labellings would take one per evaluation (Celeux and
Diebolt, "The SEM algorithm", 1985; the use of M-estimation within EM is a wish of Smith, Vail and Lafferty, section 6).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.data.sequence import SequenceData
from loglinear.features.sequences import take_ranges
from loglinear.models.tagger.inputs import TokenInputs


def take_inputs(inputs: TokenInputs, sequences: NDArray[np.intp]) -> TokenInputs:
    """Return the sequences with these numbers."""
    ptr, tokens = take_ranges(inputs.sequence_ptr, sequences)
    columns = None if inputs.columns is None else inputs.columns.take(sequences)
    return TokenInputs(ptr, inputs.rows.take(tokens), inputs.n_attributes, columns)


def fully_labelled(data: SequenceData) -> NDArray[np.bool_]:
    """Return which sequences have a known label for every token [n_sequences]."""
    unknown = np.concatenate([[0], np.cumsum(data.labels < 0)])[data.sequence_ptr]
    return np.diff(unknown) == 0


def completed(model: Any, inputs: TokenInputs, data: SequenceData, seed: int, *, best: bool = False) -> SequenceData:
    """Return the data with unknown labels drawn from the model, or (``best``) taken from the best labelling."""
    sequences = np.flatnonzero(~fully_labelled(data))
    _, tokens = take_ranges(data.sequence_ptr, sequences)
    part = data.take(sequences)
    lattices = model._lattices(take_inputs(inputs, sequences))
    limits = np.zeros((part.n_tokens, part.n_labels))
    if part.allowed is not None:
        limits[part.allowed == 0] = -np.inf
    known = np.flatnonzero(part.labels >= 0)
    limits[known] = -np.inf
    limits[known, part.labels[known]] = 0.0
    lattices = replace(lattices, nodes=limits if lattices.nodes is None else lattices.nodes + limits)
    labels = data.labels.copy()
    labels[tokens] = lattices.best() if best else lattices.sample(1, seed)[0]
    return replace(data, labels=labels, allowed=None)
