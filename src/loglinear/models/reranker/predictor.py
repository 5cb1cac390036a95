"""RerankerPredictor: a trained reranker, for ranking, evaluation and explanation. It needs numpy and native code only.

score(candidate) = sum over base scores b of w_b b(candidate) + sum over features k of w_k f_k(candidate)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists, base_scores, check_missing, encode_lists
from loglinear.data.edit_distance import ErrorUnits, check_error_units
from loglinear.data.matrix import SparseRows
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.candidate_list import BadList, CandidateList
from loglinear.metrics.error_rate import reranking_scores
from loglinear.metrics.figures import Figures
from loglinear.models.archive import Archive
from loglinear.models.predictor import Predictor
from loglinear.models.reranker import file as reranker_file
from loglinear.models.reranker.explain import ListExplanation, explain_list
from loglinear.models.reranker.inputs import ranked_places, read_lists
from loglinear.models.reranker.path import RerankerPath
from loglinear.models.validation import old_name
from loglinear.threads import pool

if TYPE_CHECKING:
    from typing_extensions import Self

    from loglinear.models.language_model.predictor import LanguageModelPredictor


class RerankerPredictor(Predictor):
    """A trained reranker of n-best lists, as ``Reranker`` makes and saves it."""

    kind = reranker_file.KIND
    # the settings of Reranker that its use needs, with their defaults
    method: str = "blasso"
    units: str = "words"
    missing: str = "error"
    # what training found
    base_names_: tuple[str, ...]
    features_: CandidateFeatures
    weights_: FloatArray  # [n_base + n_features], of base scores first
    path_: RerankerPath
    chosen_: int  # point of the path
    no_change_: bool  # whether that is point 0
    n_lists_: int
    n_pairs_: int
    n_features_: int
    status_: str
    validation_score_: float  # where training had held-out lists
    validation_baseline_errors_: float | None
    dev_baseline_errors_ = old_name("dev_baseline_errors_", "validation_baseline_errors_")
    fit_seconds_: float

    def check_settings(self) -> None:
        """Raise ValueError for settings that cannot be used."""
        check_error_units(self.units)
        check_missing(self.missing)

    def use_weights(self) -> None:
        """Rank only by the features with a weight: this is faster, and equals the saved model to the bit."""
        n_base = len(self.base_names_)
        kept = np.flatnonzero(self.weights_[n_base:])
        self._features = self.features_.take(kept)
        self._weights = np.concatenate([self.weights_[:n_base], self.weights_[n_base:][kept]])

    # ---- ranking ----------------------------------------------------------------------------------------------------
    def candidate_scores(self, X: Any, *, base_model: LanguageModelPredictor | None = None) -> list[FloatArray]:
        """Return the scores of the candidates of every list, [n_candidates] in the order given."""
        self.check_fitted()
        scores, ptr = self._scores(read_lists(X, base_model))
        return [scores[a:b] for a, b in pairwise(ptr)]

    def _scores(self, lists: Sequence[CandidateList]) -> tuple[FloatArray, np.ndarray]:
        """Return (scores of all candidates, where those of each list begin)."""
        ptr = np.concatenate([[0], np.cumsum([len(one.candidates) for one in lists])]).astype(np.int64)
        n_base = len(self.base_names_)
        rows = SparseRows(*self._features.transform(lists, self.n_threads), len(self._features.vocabulary))
        scores = np.empty(int(ptr[-1]))
        rows.margins(pool(self.n_threads), np.ascontiguousarray(self._weights[n_base:]), None, 1, scores)
        base = base_scores(lists, self.base_names_, check_missing(self.missing))
        return scores + base @ self._weights[:n_base], ptr

    def rerank(
        self, X: Any, *, with_scores: bool = False, base_model: LanguageModelPredictor | None = None
    ) -> list[CandidateList]:
        """Return the lists with their candidates sorted by score, highest first; ties stay in the order given.

        ``with_scores`` adds the score to every candidate, under the name "reranker".
        """
        self.check_fitted()
        lists = read_lists(X, base_model)
        scores, ptr = self._scores(lists)
        ranked = []
        for one, places, start in zip(lists, ranked_places(scores, ptr), ptr.tolist()):
            candidates = [one.candidates[place] for place in places]
            if with_scores:
                candidates = [
                    replace(candidate, scores={**candidate.scores, "reranker": float(scores[start + place])})
                    for candidate, place in zip(candidates, places)
                ]
            ranked.append(replace(one, candidates=candidates))
        return ranked

    def predict(self, X: Any, *, base_model: LanguageModelPredictor | None = None) -> list[str]:
        """Return the best text of every list; an empty text for an empty list."""
        ranked = self.rerank(X, base_model=base_model)
        return [one.candidates[0].text if one.candidates else "" for one in ranked]

    # ---- evaluation -------------------------------------------------------------------------------------------------
    def evaluate(
        self, X: Any, *, base_model: LanguageModelPredictor | None = None, n_samples: int = 1000, random_state: int = 0
    ) -> dict[str, Any]:
        """Return the figures of ``rerank eval``: error rates of the choice, the baseline and the oracle; tests.

        The baseline is the choice of the base score or, if there are several, the first candidate as it was given.
        Intervals come from ``n_samples`` bootstrap samples.
        """
        self.check_fitted()
        data = self._encode(read_lists(X, base_model), self._features, self.base_names_)
        scores = reranking_scores(
            data, self._weights, baseline=self._baseline(), n_samples=n_samples, random_state=random_state
        )
        return Figures({"units": self.units} | scores.to_dict())

    def score(self, X: Any, y: Any = None) -> float:
        """Return 1 - error rate: greater is better, as scikit-learn expects."""
        return float(1.0 - self.evaluate(X, n_samples=1)["reranked"]["rate"])

    def _encode(
        self, lists: Sequence[CandidateList], features: CandidateFeatures, names: Sequence[str], *, fit: bool = False
    ) -> CandidateLists:
        return encode_lists(
            lists, features, base=names, fit=fit, units=cast(ErrorUnits, self.units),
            missing=check_missing(self.missing), n_threads=self.n_threads,
        )  # fmt: skip

    def _baseline(self) -> Literal["first"] | None:
        return None if len(self.base_names_) == 1 else "first"

    # ---- explanations -----------------------------------------------------------------------------------------------
    def feature_weights(self, k: int | None = None) -> list[tuple[str, float]]:
        """Return the features with a non-zero weight, the largest first; at most ``k`` of them, None for all."""
        self.check_fitted()
        weights = self._weights[len(self.base_names_) :]
        order = np.argsort(-np.abs(weights), kind="stable")[:k]
        return [(self._features.vocabulary[j], float(weights[j])) for j in order.tolist()]

    def base_weights(self) -> dict[str, float]:
        """Return the weights of the base scores by name."""
        self.check_fitted()
        return dict(zip(self.base_names_, self.weights_[: len(self.base_names_)].tolist()))

    def explain(
        self, one: CandidateList, *, against: str = "chosen", base_model: LanguageModelPredictor | None = None
    ) -> ListExplanation:
        """Return what each base score and feature adds to the scores of the candidates of a list.

        Candidates are compared with the "chosen" one or with the "reference", the one with the fewest errors.
        """
        self.check_fitted()
        (one,) = read_lists([one], base_model)
        if not one.candidates:
            raise BadList(one, " is empty: there is nothing to explain")
        scores, _ = self._scores([one])
        base = base_scores([one], self.base_names_, check_missing(self.missing))
        rows = self._features.transform([one], self.n_threads)
        named = (self.base_names_, self._features.vocabulary, self._weights)
        return explain_list(one, against, scores, base, rows, *named, units=cast(ErrorUnits, self.units))

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically. Features with zero weight are left out."""
        self.check_fitted()
        reranker_file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Make the model of an opened file; ``source`` is the name of the file in messages."""
        return reranker_file.load(cls, archive, source)
