"""Conversions: the candidates that an input method finds, as arrays, as words, and as n-best lists for a reranker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray
from loglinear.data.candidates import RANK
from loglinear.data.edit_distance import edit_distances
from loglinear.errors import IncompatibleError
from loglinear.formats.candidate_list import Candidate, CandidateList

if TYPE_CHECKING:
    from loglinear.models.reranker.predictor import RerankerPredictor

SCORE = "score"  # the name of log-probabilities among the scores of candidates


class Conversion(NamedTuple):
    """A string of words for a reading, and the log-probability of words and reading."""

    words: list[str]
    log_probability: float


@dataclass(frozen=True, eq=False)
class Conversions:
    """Candidates of n readings, best first: those of reading i are [reading_ptr[i], reading_ptr[i + 1])."""

    texts: list[str]  # words separated by blanks
    log_probability: FloatArray  # [n_candidates]
    reading_ptr: NDArray[np.int64]  # [n + 1]
    n_unknown: NDArray[np.int64]  # [n] words of the most probable candidate that the lexicon lacks: left as typed
    reranker_score: FloatArray | None = None  # [n_candidates], if a reranker ordered them

    def lists(self) -> list[list[Conversion]]:
        """Return the candidates of every reading, as words."""
        made = [Conversion(text.split(), score) for text, score in zip(self.texts, self.log_probability.tolist())]
        ptr = self.reading_ptr.tolist()
        return [made[a:b] for a, b in pairwise(ptr)]

    def candidate_lists(
        self, references: Sequence[str] | None = None, n_threads: int | None = None, first: int = 1
    ) -> list[CandidateList]:
        """Return the candidates as n-best lists, numbered from ``first``, with the score "score".

        With ``references``, the right words of every reading, each candidate has its number of character errors.
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
        """Return (character errors of each candidate, length of each reference)."""
        return edit_distances(references, self.texts, self.reading_ptr, units="characters", n_threads=n_threads)

    def ranking(self, reranker: RerankerPredictor) -> tuple[NDArray[np.int64], FloatArray]:
        """Return (the candidates of every reading in a reranker's order, their scores); ties keep their order."""
        check_fits(reranker)
        scores = np.concatenate([np.empty(0), *reranker.candidate_scores(self.candidate_lists())])
        owner = np.repeat(np.arange(self.reading_ptr.size - 1), np.diff(self.reading_ptr))
        order = np.lexsort((-scores, owner))  # which is stable
        return order, scores[order]

    def reranked(self, reranker: RerankerPredictor) -> Conversions:
        """Return the same candidates in the reranker's order."""
        order, scores = self.ranking(reranker)
        texts = [self.texts[i] for i in order.tolist()]
        return replace(self, texts=texts, log_probability=self.log_probability[order], reranker_score=scores)

    def first(self, k: int, key: Callable[[str], str]) -> Conversions:
        """Return the first k candidates of every reading that differ in ``key``; of equal ones the first is kept."""
        kept: list[int] = []
        sizes = []
        for a, b in pairwise(self.reading_ptr.tolist()):
            places: dict[str, int] = {}
            for place in range(a, b):
                places.setdefault(key(self.texts[place]), place)
                if len(places) == k:
                    break
            kept += places.values()
            sizes.append(len(places))
        return Conversions(
            [self.texts[i] for i in kept],
            self.log_probability[kept],
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            self.n_unknown,
            None if self.reranker_score is None else self.reranker_score[kept],
        )


def check_fits(reranker: RerankerPredictor) -> None:
    """Raise IncompatibleError for a reranker that was not trained on candidates of an input method."""
    from loglinear.models.reranker.predictor import RerankerPredictor

    if not isinstance(reranker, RerankerPredictor):
        raise TypeError(f"a Reranker is needed, not {type(reranker).__name__}")
    reranker.check_fitted()
    remedy = "train one on the input method's own candidates (InputMethod.adapt; ime adapt)"
    if not set(reranker.base_names_) <= {SCORE, RANK}:
        raise IncompatibleError(
            f"the reranker uses the base scores {', '.join(reranker.base_names_)}, but candidates of an input method "
            f"have only {SCORE!r}; {remedy}"
        )
    if reranker.units != "characters":
        raise IncompatibleError(
            f"the reranker was trained to avoid errors of {reranker.units}, but an input method counts characters; "
            f"{remedy}"
        )


class Coverage(NamedTuple):
    """How much of a text a lexicon covers: no candidate is right if a word, or its reading, is not in the lexicon."""

    n_sentences: int
    n_uncovered: int
    first_uncovered: int | None  # the number of the first such sentence, from 1
