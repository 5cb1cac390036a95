"""From encoded sequences to a trained chain: its features, its loss, its start, and the choice of its strength."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures, chain_features
from loglinear.data.matrix import SparseRows
from loglinear.data.memory import check_room
from loglinear.data.sequence import SequenceData
from loglinear.features import schemes
from loglinear.features.columns import Columns
from loglinear.features.sequences import FlatLabels
from loglinear.features.templates import TemplateFeatures
from loglinear.features.token_featuriser import TokenFeaturiser
from loglinear.hmm.counts import feature_counts, mean_counts
from loglinear.hmm.empirical import empirical_expectations
from loglinear.hmm.expectations import expectations
from loglinear.hmm.model import HMM
from loglinear.hmm.sampled import InputCounts, sampled_expectations
from loglinear.hmm.templates import column_attributes, template_observations
from loglinear.losses.chain import ChainLoss
from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.models.tagger.input_only import InputOnly
from loglinear.models.tagger.settings import TaggerSettings
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.minimise import Callback
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.status import Status
from loglinear.threads import pool

_STRENGTHS = np.geomspace(10.0, 0.01, 7)  # those that tune="validation" tries, strong to weak
_TABLES, _VECTORS = 2, 3  # of all pairs of labels, of all weights, which training has at least
_PATIENCE = 4  # strengths without a better score after which tuning ends


def features_of(settings: TaggerSettings, data: SequenceData, featuriser: TokenFeaturiser | None) -> ChainFeatures:
    """Return the features of the training data that get a weight."""
    L, n_attributes = data.n_labels, data.n_attributes if settings.features == "all" else 0
    check_room(
        8 * L * (_TABLES * L + _VECTORS * n_attributes), f"the scores of {L} labels after each other",
        "check that the labels are labels, or train on sequences with fewer",
    )
    return chain_features(
        data, scopes=None if featuriser is None else featuriser.scopes, order=settings.order,
        transitions=settings.estimator != "hmm" if featuriser is None else featuriser.has_transitions,
        all_features=settings.features == "all",
        all_transitions=settings.transitions == "all", min_frequency=settings.min_feature_count,
        n_threads=settings.n_threads,
    )


def scheme_of(labels: FlatLabels, known: schemes.Detected) -> schemes.Detected:
    """Return the scheme of the labels: the one that they were converted to or that a continued model has, if it can be.

    ``known`` is that scheme, or None, and the number of labels that broke it before.
    """
    if known.scheme is None or known.scheme not in schemes.schemes_of(labels.names):
        return schemes.flat_detect(labels)
    more = schemes.flat_illegal(labels, known.scheme).size
    return schemes.Detected(known.scheme, known.n_illegal + more)


def warn_of_labels(labels: FlatLabels, scheme: str | None, stacklevel: int) -> None:
    """Warn of training data with one label only, or with labels that are illegal in their scheme."""
    illegal = np.empty(0, np.int64) if scheme is None else schemes.flat_illegal(labels, scheme)
    place = labels.place(int(illegal[0])) if illegal.size else None
    warn_of_broken(labels.names, scheme, illegal.size, place, stacklevel + 1)


def warn_of_broken(
    names: Sequence[Any], scheme: str | None, n_illegal: int, place: tuple[int, int] | None, stacklevel: int
) -> None:
    """Warn of the same by what is known of the labels: their names, and the sequence and token of the first illegal."""
    if len(names) == 1:
        message = f"every token has the label {names[0]!r}: the model can say nothing else"
        warnings.warn(message, stacklevel=stacklevel + 1)
    if place is not None:
        warnings.warn(
            f"{n_illegal} labels of the training data are illegal in the scheme {scheme!r}, the first at sequence "
            f"{place[0]}, token {place[1]} (counting from 0); training goes on with them, and the constraint 'auto' "
            f"constrains nothing (scheme={scheme!r} would mend them)",
            stacklevel=stacklevel + 1,
        )


@dataclass
class TaggerProblem:
    """A tagging problem made ready for the solvers; it can be solved at one strength after another."""

    estimator: str
    data: SequenceData
    features: ChainFeatures
    settings: Settings
    machine: str = "auto"
    # M-estimation
    hmm: HMM | None = None
    columns: Columns | None = None
    featuriser: TokenFeaturiser | None = None
    base: str = "hmm"
    expectation: str = "exact"
    n_samples: int = 10_000
    input_only: InputOnly | None = None  # their weights follow those of ``features``

    def __post_init__(self) -> None:
        self.loss: Any = self._m_estimation() if self.estimator == "m-estimation" else self._chain(self.estimator)

    def _chain(self, kind: str) -> ChainLoss:
        return ChainLoss(self.data, self.features, kind, machine=self.machine, n_threads=self.settings.n_threads)

    def _m_estimation(self) -> MEstimationLoss:
        n_threads, columns = self.settings.n_threads, self.columns
        assert columns is not None
        counts = feature_counts(self.data, self.features, pool(n_threads))
        if self.input_only is not None:
            counts = counts.beside(self.input_only.fit_counts(columns, n_threads))
        return MEstimationLoss(counts, self._expectations(counts, columns), n_threads=n_threads)

    def _expectations(self, counts: SparseRows, columns: Columns) -> FloatArray:
        """Return E_q0[f] per sequence [n_weights], those of input-only features last."""
        hmm, inputs, n_threads = self.hmm, self.input_only, self.settings.n_threads
        assert hmm is not None
        if self.base == "empirical":  # equation 16: labels from the HMM, inputs as they are
            expected = empirical_expectations(hmm, self.features, self.data, columns.ids, n_threads)
            return np.concatenate([expected, mean_counts(counts)[expected.size :]])
        if self.expectation == "exact":
            if not isinstance(self.featuriser, TemplateFeatures):
                raise ValueError("exact expectations need templates; use expectation='sample' or base='empirical'")
            expected = expectations(hmm, self.features, template_observations(self.featuriser, columns), n_threads)
            return expected if inputs is None else np.append(expected, inputs.expectations(hmm, columns, n_threads))
        if self.expectation != "sample":
            raise ValueError(f"expectation must be 'exact' or 'sample', not {self.expectation!r}")
        assert self.featuriser is not None
        attributes = column_attributes(self.featuriser, columns.vocabularies, pool(n_threads).size)
        rng, prior = np.random.default_rng(self.settings.random_state), mean_counts(counts)
        return sampled_expectations(
            hmm, self.features, attributes, self.n_samples, rng, smoothing=1.0, prior=prior,
            input_counts=None if inputs is None else self._input_counts(inputs, columns), n_threads=n_threads,
        )

    def _input_counts(self, inputs: InputOnly, columns: Columns) -> InputCounts:
        return lambda ids, ptr: inputs.counts(Columns(ptr, ids, columns.vocabularies), self.settings.n_threads)

    def objective(self, strength: float) -> Objective:
        """Return loss + penalty."""
        s = self.settings
        penalty = penalties.make(s.penalty, strength, l1_ratio=s.l1_ratio, n_threads=s.n_threads)
        return Objective(self.loss, penalty, s.n_threads)

    def solve(
        self, strength: float | None = None, *, start: FloatArray | None = None, callback: Callback | None = None,
        checkpoint: Checkpoint | None = None, score: Callable[[FloatArray], float] | None = None,
    ) -> Solution:
        """Train, from ``start`` or zero; a strength of None is that of the settings. ``score`` is as in ``train``."""
        strength = self.settings.strength if strength is None else strength
        return train(
            self.objective(strength), self.settings, start, callback=callback, checkpoint=checkpoint, score=score
        )

    def m_estimate(self, strength: float = 1.0) -> FloatArray:
        """Return weights for a CRF to start from, or to rank its features by (Smith, Vail and Lafferty, section 6).

        They are the correction w alone, without log q0: a ridge charges more for log q0, spread over the weights of
        rare values, than a start from it gains. The strength is that of the M-estimate, 1 / c; a weak one leaves it
        far from any model of labels.
        """
        settings = replace(self.settings, solver="lbfgs", solver_options={}, penalty="l2", verbose=0)
        problem = replace(self, estimator="m-estimation", settings=settings, input_only=None)
        return problem.solve(strength).weights

    def best_features(self, k: int) -> ChainFeatures:
        """Return the k features of attributes whose M-estimated weights are largest, and all transitions."""
        n = int(self.features.offsets[2])
        if k >= n:
            return self.features
        order = np.argsort(-np.abs(self.m_estimate()[:n]), kind="stable")
        chosen = np.ones(self.features.n_weights, dtype=bool)
        chosen[order[k:]] = False
        return self.features.keep(chosen)


class Tuning(NamedTuple):
    """The best of several strengths.

    A row of the table has "strength", "dev_score", "nonzero_weights" and, for one of them, "chosen".
    """

    solution: Solution
    strength: float
    table: list[dict[str, Any]]


def tune(
    problem: TaggerProblem,
    strengths: str | Sequence[float],
    score: Callable[[FloatArray], float],
    start: FloatArray | None = None,
) -> Tuning:
    """Train at falling strengths, each from the solution before, and keep the one whose weights score best.

    Parameters
    ----------
    strengths : "validation" for seven strengths from 10 to 0.01, or those to try
    score : weights -> score on the held-out sequences; the first of equal scores wins
    start : weights to start the first trial from; None for zero
    """
    best, best_place, table = None, 0, list[dict[str, Any]]()
    for strength in _STRENGTHS if isinstance(strengths, str) else sorted(strengths, reverse=True):
        solution = problem.solve(float(strength), start=start)
        start = solution.weights
        kept = int(np.count_nonzero(start))
        table.append({"strength": float(strength), "dev_score": score(start), "nonzero_weights": kept, "chosen": False})
        if best is None or table[-1]["dev_score"] > table[best_place]["dev_score"]:
            best, best_place = solution, len(table) - 1
        interrupted = solution.result.status == Status.INTERRUPTED
        if interrupted or len(table) - 1 - best_place >= _PATIENCE:
            break
    if best is None:
        raise ValueError("tune is an empty list: give the strengths to try")
    if interrupted:
        best = replace(best, result=replace(best.result, status=Status.INTERRUPTED))
    table[best_place]["chosen"] = True
    return Tuning(best, table[best_place]["strength"], table)
