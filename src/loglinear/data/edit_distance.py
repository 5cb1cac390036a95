"""Errors of texts: edit distance, the smallest number of insertions, deletions and substitutions, of words or of
characters; or what a metric of translations counts (``translation_errors``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.translation_errors import METRICS, translation_errors
from loglinear.features.vocabulary import pack_strings
from loglinear.threads import pool

ErrorUnits: TypeAlias = Literal["words", "characters", "bleu", "chrf", "ter"]
UNITS = ("words", "characters", *METRICS)


def check_error_units(units: str) -> None:
    """Raise ValueError unless the units are one of UNITS."""
    if units not in UNITS:
        raise ValueError(f"units must be one of {', '.join(map(repr, UNITS))}, not {units!r}")


def edit_distances(
    transcripts: Sequence[str], texts: Sequence[str], list_ptr: NDArray[np.int64] | None = None, *,
    units: ErrorUnits = "words", n_threads: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return (distance of each text to the transcript of its list, length of each transcript).

    ``list_ptr`` [n_transcripts + 1] says where the texts of each transcript begin; None: there is one text for each.
    Blanks do not count as characters.
    """
    check_error_units(units)
    if list_ptr is None:
        if len(transcripts) != len(texts):
            raise ValueError(f"{len(transcripts)} transcripts for {len(texts)} texts")
        list_ptr = np.arange(len(texts) + 1, dtype=np.int64)
    if units in METRICS:
        return translation_errors(transcripts, texts, list_ptr, units)
    distances, lengths = np.empty(len(texts)), np.empty(len(transcripts))
    _core.edit_distances(
        pool(n_threads), *pack_strings(transcripts), *pack_strings(texts), list_ptr, units == "characters",
        distances, lengths,
    )  # fmt: skip
    return distances, lengths
