"""What an input method answers: candidates of readings, as arrays, as words, as n-best lists for a reranker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.data.edit_distance import edit_distances
from loglinear.formats.candidate_list import Candidate, CandidateList
from loglinear.structure import FloatArray

SCORE = "score"  # of candidates: their log-probabilities


class Conversion(NamedTuple):
    """A string of words for a reading, and its log-probability, that of the readings included."""

    words: list[str]
    log_probability: float


@dataclass(frozen=True, eq=False)
class Conversions:
    """Candidates of n readings, best first: those of reading i are [reading_ptr[i], reading_ptr[i + 1])."""

    texts: list[str]  # words separated by blanks
    log_probability: FloatArray  # [n_candidates]
    reading_ptr: NDArray[np.int64]  # [n + 1]
    n_unknown: NDArray[np.int64]  # [n] words of the best that the lexicon lacks, written as they were typed

    def lists(self) -> list[list[Conversion]]:
        """The candidates of every reading, as words."""
        made = [Conversion(text.split(), score) for text, score in zip(self.texts, self.log_probability.tolist())]
        ptr = self.reading_ptr.tolist()
        return [made[a:b] for a, b in pairwise(ptr)]

    def candidate_lists(
        self, references: Sequence[str] | None = None, n_threads: int | None = None, first: int = 1
    ) -> list[CandidateList]:
        """The candidates as n-best lists, numbered from ``first``, with the score "score".

        ``references`` are the right words of every reading: then with the errors of characters of each candidate.
        """
        wrong: Iterable[float | None] = repeat(None)
        right: Iterable[str | None] = repeat(None)
        if references is not None:
            wrong, right = self.errors(references, n_threads)[0].tolist(), references
        scores = self.log_probability.tolist()
        made = [Candidate(text, {SCORE: score}, errors) for text, score, errors in zip(self.texts, scores, wrong)]
        ptr = self.reading_ptr.tolist()
        return [
            CandidateList(str(number), made[a:b], reference)
            for number, (a, b), reference in zip(count(first), pairwise(ptr), right)
        ]

    def errors(self, references: Sequence[str], n_threads: int | None = None) -> tuple[FloatArray, FloatArray]:
        """(errors of characters of each candidate, length of each reference)."""
        return edit_distances(references, self.texts, self.reading_ptr, units="characters", n_threads=n_threads)


class Coverage(NamedTuple):
    """What a lexicon knows of a text: sentences with a word, or a reading of a word, that it lacks are uncovered."""

    n_sentences: int
    n_uncovered: int
    first_uncovered: int | None  # the number of the first, from 1
