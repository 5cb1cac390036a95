"""Reranker: chooses among the candidates of n-best lists, by their base scores and a few features that matter.

    score(candidate) = sum over base scores b of w_b b(candidate) + sum over features k of w_k f_k(candidate)

learnt from lists whose right text is known, by boosting and its lasso approximations (Gao, Suzuki and Yu 2006;
Collins and Koo 2005), by the perceptron, or by a convex loss of lists with a penalty.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists, MissingPolicy, base_scores, encode_lists
from loglinear.data.edit_distance import ErrorUnits, check_error_units, edit_distances
from loglinear.data.matrix import SparseRows
from loglinear.errors import InterruptedWarning
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import CandidateList
from loglinear.metrics.error_rate import RerankingScores, baseline_errors, reranking_scores
from loglinear.models.estimator import restore_on_failure
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.models.push import Push
from loglinear.models.reranker import file as reranker_file
from loglinear.models.reranker.explain import CandidateExplanation, ListExplanation, base_name
from loglinear.models.reranker.inputs import base_names, check_comparable, ranked_places, read_lists
from loglinear.models.reranker.methods import BATCH, METHODS, Task, strengths_of
from loglinear.models.reranker.path import RerankerPath
from loglinear.status import Status
from loglinear.threads import pool


class Reranker(BaseEstimator):
    """Chooses among the candidates of n-best lists.

    Parameters
    ----------
    method : "blasso", "f-boosting", "fslr", "boosting" (one feature at a time), "perceptron", "maxent", "exponential",
        "expected-error" (a loss and a penalty), "none" (the base scores alone)
    step : length of a step of blasso, f-boosting and fslr
    threshold : of blasso: a backward step must gain more than this
    smoothing, shrinkage : of boosting: what its update adds to sums of losses, and the share of an update that is taken
    by_errors : candidates with more errors weigh more in the loss
    words, min_count, boundaries, skips, headwords, characters : features, see ``features.CandidateFeatures``
    base : names of the base scores; None: "score" where the lists have it, else all scores they have, else their order
        ("rank")
    units : what errors are counted in, "words" or "characters"
    missing : "error", or "worst": a candidate without a base score gets the lowest of its list
    penalty, l1_ratio, strength : of the batch methods; several strengths are a path, from which ``dev`` chooses
    solver, tolerance : of the batch methods, see ``MaxentClassifier``
    max_iterations : steps, epochs or iterations at most; None: 20,000 steps, 20 epochs, 1000 iterations
    patience : stop after so many steps or epochs without fewer held-out errors
    random_state : seed of what is random
    warm_start : fit again on the same lists goes on from the path where it ended
    verbose : "auto" (progress on a terminal after two seconds), 0, or 1
    n_threads : native threads; None means all cores
    """

    def __init__(
        self,
        method: str = "blasso",
        step: float = 0.5,
        *,
        threshold: float = 0.0,
        smoothing: float = 1e-3,
        shrinkage: float = 1.0,
        by_errors: bool = False,
        words: Iterable[int] = (1, 2),
        min_count: int = 2,
        boundaries: bool = True,
        skips: int = 0,
        headwords: str | Iterable[str] | None = None,
        characters: Iterable[int] = (),
        base: Sequence[str] | str | None = None,
        units: str = "words",
        missing: str = "error",
        penalty: str = "l1",
        l1_ratio: float = 0.5,
        strength: float | Sequence[float] = 1.0,
        solver: str = "auto",
        tolerance: float = 1e-4,
        max_iterations: int | None = None,
        patience: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
        n_threads: int | None = None,
    ) -> None:
        self.method = method
        self.step = step
        self.threshold = threshold
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.by_errors = by_errors
        self.words = words
        self.min_count = min_count
        self.boundaries = boundaries
        self.skips = skips
        self.headwords = headwords
        self.characters = characters
        self.base = base
        self.units = units
        self.missing = missing
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.strength = strength
        self.solver = solver
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.patience = patience
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_threads = n_threads

    # ---- training ---------------------------------------------------------------------------------------------------
    def check_settings(self) -> CandidateFeatures:
        """Refuse settings that make no sense, before anything is read; gives the features, yet to be fitted."""
        METHODS.factory(self.method)
        check_error_units(self.units)
        if self.missing not in ("error", "worst"):
            raise ValueError(f"missing must be 'error' or 'worst', not {self.missing!r}")
        strengths_of(self.strength)
        if self.verbose not in ("auto", 0, 1, True, False):
            raise ValueError(f"verbose must be 'auto', 0 or 1, not {self.verbose!r}")
        for name in ("max_iterations", "patience"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name} must be a whole number, not negative, or None, not {value!r}")
        return CandidateFeatures(
            self.words, self.min_count, boundaries=self.boundaries, skips=self.skips, headwords=self.headwords,
            characters=self.characters,
        )  # fmt: skip

    @restore_on_failure
    def fit(
        self, X: Any, y: Any = None, *, dev: Any = None, base_model: LanguageModelPredictor | None = None
    ) -> Reranker:
        """Learn from lists with references or errors: lists, or the path of a file, or several.

        ``dev`` are lists held out, on which the point of the path is chosen; no change, point 0, is one of them.
        ``base_model`` gives every candidate its log-probability as the base score "lm". A fit that fails leaves the
        model as it was.
        """
        began = time.perf_counter()
        features = self.check_settings()
        if dev is None and self.method in BATCH and strengths_of(self.strength).size > 1:
            raise ValueError("several strengths are chosen from on held-out lists: give dev, or one strength")
        lists = read_lists(X, base_model)
        if not lists:
            raise ValueError("there are no lists to learn from")
        names = base_names(lists, self.base, base_model is not None)
        data = self._encode(lists, features, names, fit=True)
        held_out = None
        if dev is not None:
            held_out = self._held_out(dev, base_model, features, names)
            check_comparable(data, held_out)
        task = Task(data, held_out, self, self._path_before(data))
        self.features_, self.base_names_ = features, names
        self.path_ = METHODS.factory(self.method)(task)
        self._fingerprint = data.fingerprint()
        self._describe(data, held_out)
        self.take(self.path_.chosen)
        self.fit_seconds_ = time.perf_counter() - began
        self._warn()
        return self

    def _encode(
        self, lists: Sequence[CandidateList], features: CandidateFeatures, names: Sequence[str], *, fit: bool = False
    ) -> CandidateLists:
        units, missing = cast(ErrorUnits, self.units), cast(MissingPolicy, self.missing)
        return encode_lists(
            lists, features, base=names, fit=fit, units=units, missing=missing, n_threads=self.n_threads
        )

    def _held_out(
        self, dev: Any, base_model: LanguageModelPredictor | None, features: CandidateFeatures, names: Sequence[str]
    ) -> CandidateLists:
        if isinstance(dev, CandidateLists):
            return dev
        lists = read_lists(dev, base_model)
        if not lists:
            raise ValueError("there are no dev lists to choose on")
        try:
            return self._encode(lists, features, names)
        except ValueError as error:
            raise type(error)(f"dev: {error}") from None

    def _path_before(self, data: CandidateLists) -> RerankerPath | None:
        """That of the last fit, where it is to go on and was of the same lists."""
        path: RerankerPath | None = getattr(self, "path_", None)
        if not self.warm_start or path is None or path.source is None:
            return None
        return path if getattr(self, "_fingerprint", "") == data.fingerprint() else None

    def _describe(self, data: CandidateLists, dev: CandidateLists | None) -> None:
        self.n_lists_, self.n_pairs_, self.n_features_ = data.n_lists, data.n_pairs, data.n_features
        self.status_ = self.path_.stopped
        self.dev_baseline_errors_: float | None = None
        if dev is not None:
            self.dev_baseline_errors_ = float(baseline_errors(dev, self._baseline()).sum())

    def _warn(self) -> None:
        if self.status_ == Status.INTERRUPTED:
            message = "training was interrupted; the best point of the path so far is kept"
            warnings.warn(message, InterruptedWarning, stacklevel=4)
            return
        results = [solution.result for solution in self.path_.solutions]
        worst = max(results, key=lambda result: result.violation, default=None)
        if worst is not None and not all(result.converged for result in results):
            warnings.warn(
                f"training stopped before the optimum ({worst.status}): violation {worst.violation:.3g}. Raise "
                "max_iterations, loosen tolerance or give a stronger penalty.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- the path ---------------------------------------------------------------------------------------------------
    def weights_at(self, point: int) -> FloatArray:
        """Weights of a point of the path, of base scores first: [n_base + n_features]."""
        check_is_fitted(self, "weights_")
        return self.path_.weights(point)

    def take(self, point: int) -> Reranker:
        """Make a point of the path the model; 0 is no change."""
        check_is_fitted(self, "path_")
        at = self.path_.check(point)
        self.weights_ = self.path_.weights(at)
        self.path_ = replace(self.path_, chosen=at)
        self.chosen_, self.no_change_ = at, at == 0
        self._use()
        return self

    def _use(self) -> None:
        """Rank by the features with a weight alone: faster, and to the bit as the saved model does."""
        n_base = len(self.base_names_)
        kept = np.flatnonzero(self.weights_[n_base:])
        self._features = self.features_.take(kept)
        self._weights = np.concatenate([self.weights_[:n_base], self.weights_[n_base:][kept]])

    # ---- use --------------------------------------------------------------------------------------------------------
    def candidate_scores(self, X: Any, *, base_model: LanguageModelPredictor | None = None) -> list[FloatArray]:
        """Score of every candidate of every list, in the order given."""
        check_is_fitted(self, "weights_")
        lists = read_lists(X, base_model)
        scores, ptr = self._scores(lists)
        return [scores[a:b] for a, b in pairwise(ptr)]

    def _scores(self, lists: Sequence[CandidateList]) -> tuple[FloatArray, np.ndarray]:
        """(scores of all candidates, where those of each list begin)."""
        ptr = np.concatenate([[0], np.cumsum([len(one.candidates) for one in lists])]).astype(np.int64)
        n_base = len(self.base_names_)
        rows = SparseRows(*self._features.transform(lists, self.n_threads), len(self._features.vocabulary))
        scores = np.empty(int(ptr[-1]))
        rows.margins(pool(self.n_threads), np.ascontiguousarray(self._weights[n_base:]), None, 1, scores)
        missing = cast(MissingPolicy, self.missing)
        return scores + base_scores(lists, self.base_names_, missing) @ self._weights[:n_base], ptr

    def rerank(
        self, X: Any, *, with_scores: bool = False, base_model: LanguageModelPredictor | None = None
    ) -> list[CandidateList]:
        """The lists, candidates sorted by score, equal ones in the order given; the score is "reranker" if asked."""
        check_is_fitted(self, "weights_")
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
        """The best text of every list; empty for an empty list."""
        ranked = self.rerank(X, base_model=base_model)
        return [one.candidates[0].text if one.candidates else "" for one in ranked]

    def evaluate(
        self, X: Any, *, base_model: LanguageModelPredictor | None = None, n_samples: int = 1000, random_state: int = 0
    ) -> RerankingScores:
        """Error rate of what is chosen, beside the baseline and the oracle, with intervals and significance.

        The baseline is the choice of the base score, or with several of them the first candidate as it was given.
        """
        check_is_fitted(self, "weights_")
        data = self._encode(read_lists(X, base_model), self._features, self.base_names_)
        return reranking_scores(
            data, self._weights, baseline=self._baseline(), n_samples=n_samples, random_state=random_state
        )

    def _baseline(self) -> Literal["first"] | None:
        return None if len(self.base_names_) == 1 else "first"

    def score(self, X: Any, y: Any = None) -> float:
        """1 - error rate (the greater the better, as scikit-learn wants)."""
        return 1.0 - self.evaluate(X, n_samples=1).reranked.rate

    # ---- explanations -----------------------------------------------------------------------------------------------
    def feature_weights(self, k: int | None = None) -> list[tuple[str, float]]:
        """Features with a weight, the largest first; ``k``: so many of them."""
        check_is_fitted(self, "weights_")
        weights = self._weights[len(self.base_names_) :]
        order = np.argsort(-np.abs(weights), kind="stable")[:k]
        return [(self._features.vocabulary[j], float(weights[j])) for j in order.tolist()]

    def base_weights(self) -> dict[str, float]:
        """Weights of the base scores by name."""
        check_is_fitted(self, "weights_")
        return dict(zip(self.base_names_, self.weights_[: len(self.base_names_)].tolist()))

    def explain(
        self, one: CandidateList, *, against: str = "chosen", base_model: LanguageModelPredictor | None = None
    ) -> ListExplanation:
        """What each base score and feature adds to the candidates of a list.

        They are held against the "chosen" candidate, or against the "reference", the one with the least errors.
        """
        check_is_fitted(self, "weights_")
        (one,) = read_lists([one], base_model)
        if not one.candidates:
            raise ValueError(f"list {one.id!r} is empty: there is nothing to explain")
        if against not in ("chosen", "reference"):
            raise ValueError(f"against must be 'chosen' or 'reference', not {against!r}")
        errors = self._known_errors(one)
        scores, ptr = self._scores([one])
        base = base_scores([one], self.base_names_, cast(MissingPolicy, self.missing))
        rows = self._features.transform([one], self.n_threads)
        explained = [
            CandidateExplanation(
                one.candidates[place].text, place, float(scores[place]), self._pushes(base[place], rows, place),
                None if errors is None else errors[place],
            )
            for place in ranked_places(scores, ptr)[0].tolist()
        ]  # fmt: skip
        if against == "chosen":
            return ListExplanation(one.id, explained, explained[0])
        if errors is None:
            raise ValueError(f"list {one.id!r} has neither a reference nor errors of its candidates")
        best = min(explained, key=lambda item: (item.errors, -item.score))
        return ListExplanation(one.id, explained, best)

    def _known_errors(self, one: CandidateList) -> list[float] | None:
        if all(candidate.errors is not None for candidate in one.candidates):
            return [float(cast(float, candidate.errors)) for candidate in one.candidates]
        if one.reference is None:
            return None
        texts = [candidate.text for candidate in one.candidates]
        ptr = np.asarray([0, len(texts)], dtype=np.int64)
        return edit_distances([one.reference], texts, ptr, units=cast(ErrorUnits, self.units))[0].tolist()

    def _pushes(self, base: FloatArray, rows: Any, place: int) -> list[Push]:
        indptr, indices, values = rows
        n_base, names = len(self.base_names_), self._features.vocabulary
        shares = [(base_name(n), v, w) for n, v, w in zip(self.base_names_, base.tolist(), self._weights.tolist())]
        part = slice(indptr[place], indptr[place + 1])
        weights = self._weights[n_base + indices[part]]
        counted = zip(indices[part].tolist(), values[part].tolist(), weights.tolist())
        shares += [(names[j], value, weight) for j, value, weight in counted]
        pushes = [Push(name, value, weight, value * weight) for name, value, weight in shares]
        return sorted(pushes, key=lambda push: -abs(push.contribution))

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically. Features without a weight are left out."""
        check_is_fitted(self, "weights_")
        reranker_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reranker:
        """Read a model file; its arrays are memory-mapped."""
        from loglinear.models import open_archive

        return cls.from_archive(open_archive(path, reranker_file.KIND), path)

    @classmethod
    def from_archive(cls, archive: Any, source: Any) -> Reranker:
        """The model of a file that is already open."""
        return reranker_file.load(cls, archive, source)
