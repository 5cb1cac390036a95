"""What an input method answers: candidates of readings, as arrays, as words, as n-best lists for a reranker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from loglinear.arrays import FloatArray
from loglinear.data.candidates import RANK
from loglinear.data.edit_distance import edit_distances
from loglinear.errors import IncompatibleError
from loglinear.formats.candidate_list import Candidate, CandidateList
from loglinear.models.reranker.estimator import Reranker

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
    n_unknown: NDArray[np.int64]  # [n] words of the most probable that the lexicon lacks, written as they were typed
    reranker_score: FloatArray | None = None  # [n_candidates], where a reranker put them in order

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


    # ---- under a reranker ----
    def ranking(self, reranker: Reranker) -> tuple[NDArray[np.int64], FloatArray]:
        """(candidates of every reading in the order of a reranker, equal ones as they were; their scores)."""
        check_fits(reranker)
        scores = np.concatenate([np.empty(0), *reranker.candidate_scores(self.candidate_lists())])
        owner = np.repeat(np.arange(self.reading_ptr.size - 1), np.diff(self.reading_ptr))
        order = np.lexsort((-scores, owner))  # which is stable
        return order, scores[order]

    def reranked(self, reranker: Reranker) -> Conversions:
        """The same candidates, the best by the reranker first."""
        order, scores = self.ranking(reranker)
        texts = [self.texts[i] for i in order.tolist()]
        return replace(self, texts=texts, log_probability=self.log_probability[order], reranker_score=scores)

    def first(self, k: int, key: Callable[[str], str]) -> Conversions:
        """The first k candidates of every reading, of those that ``key`` makes equal the first."""
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


def check_fits(reranker: Reranker) -> None:
    """Refuse a reranker that was not trained on candidates of an input method."""
    if not isinstance(reranker, Reranker):
        raise TypeError(f"a Reranker is needed, not {type(reranker).__name__}")
    check_is_fitted(reranker, "weights_")
    remedy = "train one on the input method's own candidates (InputMethod.adapt; ime adapt)"
    if not set(reranker.base_names_) <= {SCORE, RANK}:
        raise IncompatibleError(
            f"the reranker uses the base scores {', '.join(reranker.base_names_)}, but candidates of an input method "
            f"have {SCORE!r} alone; {remedy}"
        )
    if reranker.units != "characters":
        raise IncompatibleError(
            f"the reranker was trained to avoid errors of {reranker.units}, but an input method counts characters; "
            f"{remedy}"
        )


class Coverage(NamedTuple):
    """What a lexicon knows of a text: sentences with a word, or a reading of a word, that it lacks are uncovered."""

    n_sentences: int
    n_uncovered: int
    first_uncovered: int | None  # the number of the first, from 1
