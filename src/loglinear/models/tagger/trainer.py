"""Training of taggers: CRF, MEMM, pseudolikelihood, M-estimation and HMM."""

from __future__ import annotations

import copy
import math
import os
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.chain_features import ChainFeatures, union, widen
from loglinear.data.sequence import SequenceData
from loglinear.data.token_arrays import TokenArrays, as_token_arrays
from loglinear.errors import InterruptedWarning
from loglinear.features import schemes
from loglinear.features.sequences import FlatLabels
from loglinear.formats.crfsuite.binary import write_crfsuite_model
from loglinear.formats.crfsuite.model import write_crfsuite_dump
from loglinear.models.tagger import file as tagger_file
from loglinear.models.tagger.base import fit_base
from loglinear.models.tagger.constraints import as_constraint, constraint_base
from loglinear.models.tagger.em import completed, fully_labelled, take_inputs
from loglinear.models.tagger.input_only import InputOnly
from loglinear.models.tagger.inputs import TokenInputs, TokenReader
from loglinear.models.tagger.labels import check_lengths, encode_labels
from loglinear.models.tagger.predictor import TaggerPredictor
from loglinear.models.tagger.training import TaggerProblem, features_of, scheme_of, tune, warn_of_labels
from loglinear.models.trainer import (
    Trainer,
    caller_level,
    record_training,
    solver_settings,
    training_method,
    warn_before_optimum,
)
from loglinear.models.validation import as_pair, renamed
from loglinear.optimise.checkpoint import open_checkpoint
from loglinear.optimise.training import Solution
from loglinear.status import Status

if TYPE_CHECKING:
    from typing_extensions import Self

HeldOut = tuple[TokenInputs, FlatLabels] | None


class TaggerTrainer(TaggerPredictor, Trainer):
    """Trains a tagger. :class:`Tagger`, its estimator of scikit-learn, says what the settings mean."""

    fitted_attribute = "weights_"

    @renamed("validation", "X_dev", "y_dev", after=3)
    @training_method
    def fit(self, X: Any, y: Any, *, validation: Any = None) -> Self:
        """Train on sequences and their labels.

        ``validation`` is a pair (X, y) of held-out sequences: ``tune`` chooses the strength on them, and
        ``validation_score_`` is the score on them. A fit that fails leaves the tagger as it was.
        """
        began = time.perf_counter()
        self.check_settings()
        pair = as_pair(validation)
        self._check_tune(pair)
        for name in ("validation_score_", "tuning_", "history_", "em_"):  # what an earlier fit may have left
            self.__dict__.pop(name, None)
        continued = self.warm_start and hasattr(self, "weights_") and not self.has_base
        if continued:
            self.reader_ = self.reader_.growing()
        else:
            self.reader_ = TokenReader.for_settings(self)
        X = as_token_arrays(X) or X
        inputs = self.reader_.read(X, self.n_threads, "extend" if continued else "fit_transform")
        self._check_arrays(X, continued)
        data = self._training_data(inputs, y, self.classes_ if continued else [], getattr(X, "labels", None) or [])
        held_out = None if pair is None else self._held_out(*pair)

        if self.has_base and np.any(data.labels < 0):
            self._fit_by_em(inputs, data, held_out)
        else:
            self._fit_to(inputs, data, float(self.strength), held_out, continued)
        self.fit_seconds_ = time.perf_counter() - began
        if held_out is not None:
            self.validation_score_ = self.score(*held_out)
        self._warn()
        return self

    def _fit_to(
        self, inputs: TokenInputs, data: SequenceData, strength: float, held_out: HeldOut = None,
        continued: bool = False,
    ) -> None:
        """Train on labelled sequences."""
        features, start = features_of(self, data, self.reader_.featuriser), None
        if continued:
            features, start = self._widened(features)
        self.hmm_ = None
        if self.needs_base:
            assert inputs.columns is not None
            self.hmm_ = fit_base(self.base, inputs.columns, data, self.order, self.smoothing)
        self.input_only_ = None
        if self.input_only is not None:
            self.input_only_ = InputOnly.of(self.input_only, self.reader_.n_columns or 0, self.min_count)
        self.strength_ = strength
        if self.estimator == "hmm":
            self._learn(features, np.zeros(features.n_weights))
            self.n_iter_, self.objective_, self.gap_, self.gap_is_bound_ = 1, float("nan"), 0.0, True
            self.converged_, self.status_ = True, Status.COUNTED
            self.solver_, self.solver_reason_ = "none", "an HMM is counted"
        else:
            problem = TaggerProblem(
                self.estimator, data, features, solver_settings(self), self.machine, hmm=self.hmm_,
                columns=inputs.columns, featuriser=self.reader_.featuriser, base=self.base,
                expectation=self.expectation, n_samples=self.n_samples, input_only=self.input_only_,
            )
            if self.max_features is not None and start is None:
                features = problem.best_features(self.max_features)
                problem = replace(problem, features=features)
            if self.initialise is not None and start is None:
                start = problem.m_estimate()
            solution = self._solve(problem, start, held_out)
            self._learn(features, solution.weights)
            record_training(self, solution)

    def _fit_by_em(self, inputs: TokenInputs, data: SequenceData, held_out: HeldOut) -> None:
        """Train on the sequences whose labels are known, and then, in rounds, on all with unknown labels completed.

        ``em_`` has a dict per round: "round", "changed" (the share of unknown labels that changed) and, where there are
        held-out sequences, "dev_score". The strength is tuned on the labelled sequences alone.
        """
        if not self.em:
            raise ValueError(
                f"estimator {self.estimator!r} needs the label of every token: set em, a number of rounds, to complete "
                "unknown labels by expectation-maximisation, or leave partly labelled sequences to estimator='crf'"
            )
        known, unknown = np.flatnonzero(fully_labelled(data)), data.labels < 0
        if known.size == 0:
            raise ValueError("EM starts from sequences whose labels are all known, and there are none")
        self._fit_to(take_inputs(inputs, known), data.take(known), float(self.strength), held_out)
        rng, before = np.random.default_rng(self.random_state), data.labels
        self.em_ = [{"round": 0, **self._dev_score(held_out)}]
        for number in range(1, self.em + 1):
            if self.status_ == Status.INTERRUPTED:
                return
            seed, best = int(rng.integers(2**62)), self.em_labels == "best"
            whole = completed(self, inputs, data, seed, best=best)
            self._fit_to(inputs, whole, self.strength_)
            changed = float(np.mean(whole.labels[unknown] != before[unknown]))
            before = whole.labels
            self.em_.append({"round": number, "changed": changed, **self._dev_score(held_out)})

    def _dev_score(self, held_out: HeldOut) -> dict[str, float]:
        return {} if held_out is None else {"dev_score": self.score(*held_out)}

    def _check_arrays(self, X: Any, continued: bool) -> None:
        """Raise for numbers or emissions that this tagger cannot be trained with."""
        if not isinstance(X, TokenArrays):
            return
        if self.needs_base:
            raise ValueError("a base distribution is counted from columns: numbers and emissions need estimator='crf'")
        if continued:
            raise ValueError("a model with numbers or emissions cannot be continued: train it again on all data")
        if X.emissions is not None and X.labels is None:
            raise ValueError("emissions need the label of each column: TokenArrays(emissions=..., labels=[...])")

    def _training_data(
        self, inputs: TokenInputs, y: Any, classes: list[Any], given: list[Any] | None = None
    ) -> SequenceData:
        """Number the labels and check them; ``classes`` are those of a continued model, ``given`` of emissions."""
        if y is None:
            raise ValueError("a tagger needs y: a list of label sequences")
        if inputs.sequence_ptr[-1] == 0:
            raise ValueError("there are no tokens to learn from")
        y = y if self.scheme is None else self._converted(y, continued=bool(classes))
        numbers, allowed, self.classes_ = encode_labels(y, inputs.sequence_ptr, given or classes, grow=not given)
        if not self.classes_:
            raise ValueError("no token has a label: there is nothing to learn from")
        labels = FlatLabels(numbers, inputs.sequence_ptr, self.classes_)
        known = (self.scheme_, self.n_illegal_) if classes else (self.scheme, 0)
        self.scheme_, self.n_illegal_ = scheme_of(labels, schemes.Detected(*known))
        # A constraint is refused before training rather than after it.
        constraint_base(self.classes_, as_constraint(self.constraint, self.legal_scheme))
        warn_of_labels(labels, self.scheme_, stacklevel=5)
        if self.estimator != "crf" and not (self.has_base and self.em) and np.all(numbers < 0):
            raise ValueError(f"estimator {self.estimator!r} needs labels; only 'crf' learns from partly known ones")
        n = self.reader_.n_attributes
        return SequenceData(
            inputs.sequence_ptr, inputs.rows, n, numbers, len(self.classes_), allowed, inputs.numbers, inputs.emissions
        )

    def _converted(self, y: Any, *, continued: bool) -> FlatLabels:
        """Return the labels in the scheme that the settings ask for."""
        assert self.scheme is not None
        if continued and self.scheme_ not in (None, self.scheme):
            message = f"the model's labels are of the scheme {self.scheme_!r}: it cannot learn {self.scheme!r} too"
            raise ValueError(message)
        try:
            return schemes.to_scheme(schemes.flatten(y), self.scheme)
        except TypeError as error:
            raise TypeError(f"scheme={self.scheme!r} needs the label of every token: {error}") from None

    def _check_tune(self, held_out: Any) -> None:
        if self.tune is not None and held_out is None:
            raise ValueError("tune chooses the strength on held-out sequences: give fit(..., validation=(X, y))")
        if isinstance(self.tune, str) and self.tune == "dev":
            warnings.warn("tune='dev' is now tune='validation'", FutureWarning, stacklevel=5)

    def _held_out(self, X: Any, y: Any) -> tuple[TokenInputs, FlatLabels]:
        """Encode held-out sequences, once for all trials of a tuning and before any."""
        inputs, labels = self.reader_.read(X, self.n_threads), schemes.flatten(y)
        check_lengths(labels, inputs.sequence_ptr)
        return inputs, labels

    def _widened(self, features: ChainFeatures) -> tuple[ChainFeatures, FloatArray]:
        """Return the features of the old model and of the new data together, and weights to start from."""
        old = widen(self.features_, self.reader_.n_attributes, len(self.classes_))
        features, places = union(old, features)
        start = np.zeros(features.n_weights)
        start[places] = self.weights_
        return features, start

    def _solve(self, problem: TaggerProblem, start: FloatArray | None, held_out: HeldOut) -> Solution:
        def score(weights: FloatArray) -> float:
            self._learn(problem.features, weights)
            return math.nan if held_out is None else self.score(*held_out)

        if self.tune is None or held_out is None:
            named = ("tagger", self.estimator, self.penalty, self.strength, "order", self.order)
            checkpoint = open_checkpoint(self.checkpoint, problem.data, *named)
            scored = None if held_out is None else score
            return problem.solve(self.strength_, start=start, checkpoint=checkpoint, score=scored)
        solution, self.strength_, self.tuning_ = tune(problem, self.tune, score, start)
        return solution

    def _warn(self) -> None:
        if self.status_ == Status.INTERRUPTED:
            message = f"training was interrupted after {self.n_iter_} passes; the best weights so far are kept"
            warnings.warn(message, InterruptedWarning, stacklevel=caller_level())
            return
        warn_before_optimum(self, "Raise max_iterations or loosen tolerance.")

    # ---- other models ----------------------------------------------------------------------------------------------
    @classmethod
    def from_pretrained(cls, model: TaggerPredictor | str | os.PathLike[str]) -> Self:
        """Return a tagger whose ``fit`` continues from a model (or its file), new labels and attributes included."""
        source = model if isinstance(model, TaggerPredictor) else TaggerPredictor.load(model)
        source.check_fitted()
        if source.has_base:
            raise ValueError(f"estimator {source.estimator!r} is counted from its data: fit it again to all of them")
        tagger = cls(**copy.deepcopy(source.parameters()))
        for name, value in vars(source).items():
            if name.endswith("_"):
                setattr(tagger, name, value)
        tagger.warm_start = True
        tagger._learn(source.features_, source.weights_)
        return tagger

    @classmethod
    def from_crfsuite_params(
        cls, algorithm: str = "lbfgs", c1: float = 0.0, c2: float = 1.0, max_iterations: int | None = None,
        all_possible_transitions: bool = False, all_possible_states: bool = False, min_freq: float = 0, **others: Any,
    ) -> Self:
        """Return a tagger with the objective of sklearn-crfsuite's CRF(...): c1 |w|_1 + c2 |w|^2."""
        if algorithm != "lbfgs":
            raise ValueError(
                f"algorithm {algorithm!r} minimises no objective of a Tagger; loglinear.crfsuite.CRF has it"
            )
        if c1 < 0 or c2 < 0:
            raise ValueError("c1 and c2 must not be negative")
        strength = c1 + 2 * c2
        penalty = "none" if strength == 0 else "l2" if c1 == 0 else "l1" if c2 == 0 else "elastic_net"
        return cls(
            penalty=penalty,
            strength=strength,
            l1_ratio=c1 / strength if penalty == "elastic_net" else 0.5,
            max_iterations=max_iterations or 500,
            transitions="all" if all_possible_transitions else "observed",
            features="all" if all_possible_states else "observed",
            min_feature_count=min_freq,
            **others,
        )

    @classmethod
    def from_crfsuite_dump(cls, source: str | os.PathLike[str]) -> Self:
        """Return a model of CRFsuite, its binary file or the text of ``crfsuite dump``; it predicts the same."""
        return tagger_file.from_crfsuite(cls, source)

    def to_crfsuite_dump(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as ``crfsuite dump`` prints them; ``from_crfsuite_dump`` reads them back exactly."""
        self.check_fitted()
        write_crfsuite_dump(path, tagger_file.to_crfsuite_model(self))

    def to_crfsuite_binary(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as a file that CRFsuite opens; ``from_crfsuite_dump`` reads them back exactly."""
        self.check_fitted()
        write_crfsuite_model(path, tagger_file.to_crfsuite_model(self))
