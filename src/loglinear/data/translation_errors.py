"""Errors of translations: what BLEU, chrF or TER of single sentences lack, as sacrebleu counts them.

    bleu, chrf    1 - score / 100 of each text; every transcript has length 1, so that rates are means over lists
    ter           edits, moves of phrases included; the length of a transcript is its number of tokens

BLEU of a sentence uses the orders that the sentence has (effective order), as sacrebleu's own sentence score does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.formats.streams.packages import require

METRICS = ("bleu", "chrf", "ter")


def translation_errors(
    transcripts: Sequence[str], texts: Sequence[str], list_ptr: NDArray[np.int64], metric: str
) -> tuple[FloatArray, FloatArray]:
    """Return (errors of each text, length of each transcript); text i of list j has list_ptr[j] <= i < list_ptr[j + 1].

    The right text of an empty transcript is the empty one; any other has one error.
    """
    metrics = require("sacrebleu.metrics", "errors by BLEU, chrF and TER need", "translation")
    scorer = {"bleu": lambda: metrics.BLEU(effective_order=True), "chrf": metrics.CHRF, "ter": metrics.TER}[metric]()
    errors, lengths = np.empty(len(texts)), np.ones(len(transcripts))
    for j, transcript in enumerate(transcripts):
        if not transcript.strip() and metric == "ter":
            lengths[j] = 0.0
        for i in range(int(list_ptr[j]), int(list_ptr[j + 1])):
            if not transcript.strip():
                errors[i] = float(bool(texts[i].strip()))
                continue
            score = scorer.sentence_score(texts[i], [transcript])
            if metric == "ter":
                errors[i], lengths[j] = score.num_edits, score.ref_length
            else:
                errors[i] = max(0.0, 1.0 - score.score / 100.0)
        if metric == "ter" and list_ptr[j] == list_ptr[j + 1] and transcript.strip():
            lengths[j] = scorer.sentence_score("", [transcript]).ref_length
    return errors, lengths
