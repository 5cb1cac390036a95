"""From encoded sequences to a trained chain: which loss, which base distribution, which start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.features.columns import Columns
from loglinear.features.templates import TemplateFeatures
from loglinear.hmm.counts import feature_counts, mean_counts
from loglinear.hmm.empirical import empirical_expectations
from loglinear.hmm.expectations import expectations
from loglinear.hmm.locally_uniform import locally_uniform
from loglinear.hmm.model import HMM
from loglinear.hmm.sampled import sampled_expectations
from loglinear.hmm.templates import column_attributes, template_observations
from loglinear.losses.chain import ChainLoss
from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.minimise import Callback
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.threads import pool

ESTIMATORS = ("crf", "memm", "pseudolikelihood", "m-estimation", "hmm")
BASES = ("hmm", "locally-uniform", "empirical")


def fit_base(name: str, columns: Columns, data: SequenceData, order: int, smoothing: float) -> HMM:
    """The distribution q0 that decoding multiplies with: an HMM, or the locally uniform one (eq. 15)."""
    if np.any(data.labels < 0):
        raise ValueError("an HMM needs the label of every token: leave partly labelled sequences to estimator='crf'")
    sizes = [len(vocabulary) for vocabulary in columns.vocabularies]
    ids = [np.ascontiguousarray(c) for c in columns.ids]
    arguments = (ids, sizes, data.sequence_ptr, data.labels, data.n_labels)
    if name == "locally-uniform":
        return locally_uniform(*arguments, smoothing=smoothing)
    return HMM.fit(*arguments, order=order, smoothing=smoothing)


NEVER_SEEN = -50.0


def chain_of(hmm: HMM) -> ChainBase:
    """Scores log q0 of starts, successions and ends.

    Those never seen in training have probability zero under maximum likelihood. They get exp(-50), so that every input
    has a labelling (a sentence of one word, say, where training had none) and no other probability changes.
    """
    parts = (hmm.log_start, hmm.log_stop, hmm.log_transitions, hmm.log_trigrams)
    return ChainBase(*(None if part is None else np.maximum(part, NEVER_SEEN) for part in parts))


def hmm_base(hmm: HMM, columns: Columns) -> ChainBase:
    """Scores log q0 of all tokens."""
    return replace(chain_of(hmm), nodes=hmm.emission_scores([np.ascontiguousarray(c) for c in columns.ids]))


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
    featuriser: Any = None
    base: str = "hmm"
    expectation: str = "exact"
    n_samples: int = 10_000

    def __post_init__(self) -> None:
        self.loss: Any = self._m_estimation() if self.estimator == "m-estimation" else self._chain(self.estimator)

    def _chain(self, kind: str) -> ChainLoss:
        return ChainLoss(self.data, self.features, kind, machine=self.machine, n_threads=self.settings.n_threads)

    def _m_estimation(self) -> MEstimationLoss:
        n_threads = self.settings.n_threads
        counts = feature_counts(self.data, self.features, pool(n_threads))
        return MEstimationLoss(counts, self._expectations(counts), n_threads=n_threads)

    def _expectations(self, counts: Any) -> FloatArray:
        """E_q0[f] per sequence."""
        hmm, columns, n_threads = self.hmm, self.columns, self.settings.n_threads
        assert hmm is not None
        assert columns is not None
        if self.base == "empirical":  # eq. 16: labels from the HMM, inputs as they are
            ids = [np.ascontiguousarray(c) for c in columns.ids]
            return empirical_expectations(hmm, self.features, self.data, ids, n_threads)
        if self.expectation == "exact":
            if not isinstance(self.featuriser, TemplateFeatures):
                raise ValueError("exact expectations need templates; use expectation='sample' or base='empirical'")
            return expectations(hmm, self.features, template_observations(self.featuriser, columns), n_threads)
        if self.expectation != "sample":
            raise ValueError(f"expectation must be 'exact' or 'sample', not {self.expectation!r}")
        attributes = column_attributes(self.featuriser, columns.vocabularies, pool(n_threads).size)
        rng, prior = np.random.default_rng(self.settings.random_state), mean_counts(counts)
        return sampled_expectations(
            hmm, self.features, attributes, self.n_samples, rng, smoothing=1.0, prior=prior, n_threads=n_threads
        )

    def objective(self, strength: float) -> Objective:
        """Loss + penalty."""
        s = self.settings
        penalty = penalties.make(s.penalty, strength, l1_ratio=s.l1_ratio, n_threads=s.n_threads)
        return Objective(self.loss, penalty, s.n_threads)

    def solve(
        self,
        strength: float | None = None,
        *,
        start: FloatArray | None = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Train, from ``start`` or zero."""
        strength = self.settings.strength if strength is None else strength
        return train(self.objective(strength), self.settings, start, callback=callback, checkpoint=checkpoint)

    def m_estimate(self, strength: float = 1.0) -> FloatArray:
        """Weights for a CRF to start from (Smith, Vail and Lafferty, section 6).

        The correction w alone, without log q0: spread over the weights of rare values, log q0 costs a ridge more than
        it gains, and L-BFGS then took longer than from zero on chunking. The strength is that of the M-estimate, 1 / c;
        a weak one leaves it far from any model of labels.
        """
        settings = replace(self.settings, solver="lbfgs", solver_options={}, penalty="l2", verbose=0)
        problem = replace(self, estimator="m-estimation", settings=settings)
        return problem.solve(strength).weights
