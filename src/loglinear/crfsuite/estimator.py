"""CRF: the estimator of sklearn-crfsuite, its parameters, attributes and methods."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from loglinear.crfsuite.items import ItemSequence
from loglinear.crfsuite.log import TrainingLog
from loglinear.crfsuite.metrics import flat_accuracy_score
from loglinear.crfsuite.tagger import ParsedDump, Tagger
from loglinear.crfsuite.trainer import LinePerIterationTrainer
from loglinear.features.attributes import AttributeSequences
from loglinear.models.trainer import training_method

_NAMES = {  # parameters that CRFsuite spells otherwise
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
_OTHER = {"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls", "n_threads"}


class CRF(BaseEstimator):
    """A linear-chain CRF with the parameters of sklearn-crfsuite; None is CRFsuite's default.

    Parameters
    ----------
    algorithm : "lbfgs" (default), "l2sgd", "ap" (averaged perceptron), "pa" (passive-aggressive) or "arow"
    min_freq : features whose values sum to less in training are dropped; default 0
    all_possible_states, all_possible_transitions : weights for pairs that do not occur in training too; default False
    c1, c2 : coefficients of |w|_1 and |w|^2; default 0 and 1 (lbfgs; l2sgd has c2 alone)
    max_iterations : default: no limit for lbfgs, 1000 for l2sgd, else 100
    num_memories, epsilon, period, delta : of lbfgs, and where it ends (``epsilon`` also ends ap, pa and arow)
    linesearch, max_linesearch : accepted without effect
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials : of l2sgd
    pa_type, c, error_sensitive, averaging : of pa
    variance, gamma : of arow
    verbose : bool, whether to print every iteration; default False
    model_filename : file to write the model to; an unfitted estimator predicts with the model there, which may be
        one of CRFsuite
    keep_tempfiles : accepted without effect: there are none
    trainer_cls : a subclass of :class:`loglinear.crfsuite.Trainer`
    n_threads : int or None (default): all cores
    """

    def __init__(
        self, algorithm: str | None = None, min_freq: float | None = None, all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None, c1: float | None = None, c2: float | None = None,
        max_iterations: int | None = None, num_memories: int | None = None, epsilon: float | None = None,
        period: int | None = None, delta: float | None = None, linesearch: str | None = None,
        max_linesearch: int | None = None, calibration_eta: float | None = None,
        calibration_rate: float | None = None, calibration_samples: int | None = None,
        calibration_candidates: int | None = None, calibration_max_trials: int | None = None,
        pa_type: int | None = None, c: float | None = None, error_sensitive: bool | None = None,
        averaging: bool | None = None, variance: float | None = None, gamma: float | None = None,
        verbose: bool = False, model_filename: str | os.PathLike[str] | None = None, keep_tempfiles: bool = False,
        trainer_cls: Any = None, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        values = dict(locals())
        for name in self._get_param_names():
            setattr(self, name, values[name])

    training_log_: TrainingLog | None = None  # None before fit
    _tagger: Tagger | None = None

    @training_method
    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on sequences of tokens and labels; held-out ones are predicted after every iteration.

        A token is a dict or a list of attributes. ``training_log_`` tells of every iteration.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        trainer = self._trainer()
        _append(trainer, X, y, 0)
        if X_dev is not None:
            _append(trainer, X_dev, y_dev, 1)
        name = "" if self.model_filename is None else os.fspath(self.model_filename)
        trainer.train(name, holdout=-1 if X_dev is None else 1)
        if trainer.model_ is None:
            raise ValueError("there are no tokens to learn from")
        self.training_log_, self._tagger = trainer.logparser, Tagger.of(trainer.model_)
        return self

    def _trainer(self) -> Any:
        values = {_NAMES.get(name, name): value for name, value in self.get_params(deep=False).items()
                  if name not in _OTHER and value is not None}  # fmt: skip
        values = {name.replace("calibration_", "calibration."): value for name, value in values.items()}
        kind = self.trainer_cls or LinePerIterationTrainer
        trainer = kind(algorithm=self.algorithm, params=values, verbose=self.verbose)
        trainer.n_threads = self.n_threads
        return trainer

    # ---- predict ---------------------------------------------------------------------------------------------------
    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of sequences, an array of lists [n_sequences]: of rows, where all are equally long."""
        return np.array(self._fitted().model.predict(_sequences(X)), dtype=object)

    def predict_single(self, xseq: Any) -> list[Any]:
        """Return the labels of one sequence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Any) -> np.ndarray:
        """Return, for every token of every sequence, the probability of each label: [n_sequences] lists of dicts."""
        return np.array(self._fitted().model.predict_marginals(_sequences(X)), dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """Return, for every token of one sequence, the probability of each label."""
        return self._fitted().model.predict_marginals(_sequences([xseq]))[0]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of correct labels."""
        return flat_accuracy_score(y, self.predict(X))

    # ---- attributes, None before fit -------------------------------------------------------------------------------
    @property
    def tagger_(self) -> Tagger | None:
        """The tagger, of ``fit`` or of ``model_filename``."""
        if self._tagger is None and self.model_filename is not None and Path(self.model_filename).exists():
            tagger = Tagger()
            tagger.open(self.model_filename)
            self._tagger = tagger
        return self._tagger

    def _fitted(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise NotFittedError("this CRF is not fitted yet: call fit, or name an existing model_filename")
        return tagger

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    @property
    def classes_(self) -> list[Any] | None:
        """The labels, by first occurrence."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The number of bytes of the model's file."""
        return None if self.tagger_ is None else self.tagger_.size()

    @property
    def _info(self) -> ParsedDump | None:
        return None if self.tagger_ is None else self.tagger_.info()

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes that have a weight other than zero."""
        info = self._info
        return None if info is None else len(info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """Their names."""
        info = self._info
        return None if info is None else list(info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights ``{(attribute, label): weight}`` that are not zero."""
        info = self._info
        return None if info is None else info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights ``{(label, next label): weight}`` that are not zero."""
        info = self._info
        return None if info is None else info.transitions


def _append(trainer: Any, X: Any, y: Any, group: int) -> None:
    if hasattr(X, "__len__") and hasattr(y, "__len__") and len(X) != len(y):
        raise ValueError(f"{len(X)} sequences but labels for {len(y)}")
    for xseq, yseq in zip(X, y):
        trainer.append(xseq, yseq, group)


def _sequences(X: Any) -> AttributeSequences:
    if isinstance(X, AttributeSequences):
        return X
    return AttributeSequences.from_lists((x.items() if isinstance(x, ItemSequence) else x for x in X), mixed=True)
