"""Tagger: label sequences with a CRF, MEMM, pseudolikelihood, M-estimation or HMM, as a scikit-learn estimator."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures, chain_features, union, widen
from loglinear.data.sequence import SequenceData
from loglinear.errors import InterruptedWarning
from loglinear.features import schemes
from loglinear.features.sequences import FlatLabels
from loglinear.hmm.model import HMM
from loglinear.models.estimator import restore_on_failure
from loglinear.models.tagger import file as tagger_file
from loglinear.models.tagger.constraints import as_constraint, constraint_base
from loglinear.models.tagger.explain import SequenceExplanation, explain
from loglinear.models.tagger.inputs import TokenInputs, TokenReader
from loglinear.models.tagger.labels import allowed_scores, encode_labels
from loglinear.models.tagger.lattices import Lattices
from loglinear.models.tagger.prediction import ChainPredictions
from loglinear.models.tagger.training import BASES, ESTIMATORS, TaggerProblem, chain_of, fit_base, hmm_base
from loglinear.optimise.checkpoint import open_checkpoint
from loglinear.optimise.training import Settings, Solution
from loglinear.status import Status


class Tagger(ChainPredictions, BaseEstimator):
    """Labels for every token of a sequence.

    Minimises  sum of losses + strength * penalty,  l2 = |w|^2 / 2, l1 = |w|_1. CRFsuite's c2 is strength / 2 and its
    c1 is the strength of l1 (see ``from_crfsuite_params``); Wapiti's rho2 is strength. M-estimation keeps its paper's
    mean over sequences, so its strength is 1 / c there.

    Parameters
    ----------
    estimator : "crf", "memm", "pseudolikelihood", "m-estimation" or "hmm"
    templates : for input in columns: a built-in set ("chunking", "sha-pereira", "ner", "pos", "hmm"), a file of
        CRF++ or Wapiti templates, or their text. None: input is dicts or strings of attributes per token
    order : 1, or 2 for features of three labels
    features : "observed" (attribute-label pairs that occur in training) or "all"
    transitions : "observed" or "all"; label pairs without a weight are possible, with weight zero
    min_count : attributes seen less often are dropped
    hash_bits : number attributes by hashing into 2**hash_bits instead of keeping their names
    oov : map the first occurrence of every column value in training to one symbol, and unknown values to it; always
        so for an HMM and M-estimation
    base, smoothing : for M-estimation the base distribution: "hmm", "locally-uniform" or "empirical"; add-lambda of
        its emissions
    expectation, n_samples : "exact" or "sample": how expectations under the base are found
    initialise : None, or "m-estimation": start a CRF from an M-estimate (needs templates)
    constraint : None, "bio", "iobes", "iob1", "bilou", "auto" or forbidden label pairs: labellings to exclude when
        predicting
    penalty, strength, l1_ratio, solver, solver_options, tolerance, decrease_tolerance, max_iterations, n_threads,
    random_state, warm_start, verbose, checkpoint : as in MaxentClassifier; training also stops when the objective has
        gained less than ``decrease_tolerance`` of itself over five steps
    tune : None, "dev" (strengths from strong to weak, best score on X_dev) or a list of strengths to try
    machine : "auto", "dense" or "sparse": how transitions are stored while training

    ``X`` is a list of sequences: of dicts, of lists of strings, or (with templates) of tuples of column values; or
    ``Columns`` / ``AttributeSequences`` as read from files. ``y`` is a list of lists of labels; None is an unknown
    label and a set one of several (estimator "crf").
    """

    def __init__(
        self,
        estimator: str = "crf",
        templates: str | None = None,
        *,
        order: int = 1,
        features: str = "observed",
        transitions: str = "observed",
        min_count: int = 1,
        hash_bits: int | None = None,
        oov: bool = False,
        base: str = "hmm",
        smoothing: float = 1.0,
        expectation: str = "exact",
        n_samples: int = 10_000,
        initialise: str | None = None,
        constraint: Any = None,
        penalty: str = "l2",
        strength: float = 1.0,
        l1_ratio: float = 0.5,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tolerance: float = 1e-4,
        decrease_tolerance: float = 1e-5,
        max_iterations: int = 500,
        tune: Any = None,
        machine: str = "auto",
        n_threads: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: str | int = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.templates = templates
        self.order = order
        self.features = features
        self.transitions = transitions
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.oov = oov
        self.base = base
        self.smoothing = smoothing
        self.expectation = expectation
        self.n_samples = n_samples
        self.initialise = initialise
        self.constraint = constraint
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.solver_options = solver_options
        self.tolerance = tolerance
        self.decrease_tolerance = decrease_tolerance
        self.max_iterations = max_iterations
        self.tune = tune
        self.machine = machine
        self.n_threads = n_threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint

    # ---- training ---------------------------------------------------------------------------------------------------
    def _settings(self) -> Settings:
        for name, known in (
            ("estimator", ESTIMATORS),
            ("base", BASES),
            ("features", ("observed", "all")),
            ("transitions", ("observed", "all")),
            ("initialise", (None, "m-estimation")),
            ("order", (1, 2)),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {getattr(self, name)!r}")
        if isinstance(self.constraint, Iterator):
            raise ValueError("constraint must be a list of label pairs: it is read more than once")
        if isinstance(self.tune, str) and self.tune != "dev":
            raise ValueError(f"tune must be None, 'dev' or a list of strengths, not {self.tune!r}")
        if isinstance(self.strength, bool) or not isinstance(self.strength, Real) or not self.strength >= 0:
            raise ValueError(f"strength must be a number, not negative, but is {self.strength!r}")
        return Settings(
            penalty=self.penalty,
            strength=float(self.strength),
            l1_ratio=self.l1_ratio,
            solver=self.solver,
            solver_options=dict(self.solver_options or {}),
            tolerance=self.tolerance,
            decrease_tolerance=self.decrease_tolerance,
            max_iterations=self.max_iterations,
            n_threads=self.n_threads,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    @property
    def _has_base(self) -> bool:
        return self.estimator in ("hmm", "m-estimation")

    @restore_on_failure
    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Tagger:
        """Train; ``X_dev`` and ``y_dev`` choose the strength (``tune``), and give ``dev_score_``.

        A fit that fails leaves the tagger as it was.
        """
        began = time.perf_counter()
        settings = self._settings()
        before = (self.classes_, self.features_, self.weights_) if self._continues() else None
        for name in ("dev_score_", "tuning_", "history_"):  # what an earlier fit may have left
            self.__dict__.pop(name, None)
        if before is None:
            self.reader_ = TokenReader.make(
                self.templates,
                columns=self._has_base or self.initialise is not None,
                oov=self.oov or self._has_base,
                features=self.estimator != "hmm",
                min_count=self.min_count,
                hash_bits=self.hash_bits,
            )
        else:
            self.reader_ = self.reader_.growing()
        inputs = self.reader_.read(X, self.n_threads, "fit_transform" if before is None else "extend")
        data = self._training_data(inputs, y, [] if before is None else before[0])
        features, start = self._chain_features(data), None
        if before is not None:
            old = widen(before[1], self.reader_.n_attributes, len(self.classes_))
            features, places = union(old, features)
            start = np.zeros(features.n_weights)
            start[places] = before[2]
        self.hmm_: HMM | None = None
        if self._has_base or self.initialise is not None:
            assert inputs.columns is not None
            self.hmm_ = fit_base(self.base, inputs.columns, data, self.order, self.smoothing)
        self.strength_ = settings.strength
        if self.estimator == "hmm":
            self._learn(features, np.zeros(features.n_weights))
            self.n_iter_, self.objective_, self.violation_ = 1, float("nan"), 0.0
            self.converged_, self.status_ = True, Status.COUNTED
            self.solver_, self.solver_reason_ = "none", "an HMM is counted"
        else:
            problem = TaggerProblem(
                self.estimator,
                data,
                features,
                settings,
                self.machine,
                hmm=self.hmm_,
                columns=inputs.columns,
                featuriser=self.reader_.featuriser,
                base=self.base,
                expectation=self.expectation,
                n_samples=self.n_samples,
            )
            if self.initialise is not None and start is None:
                start = problem.m_estimate()
            solution = self._solve(problem, start, X_dev, y_dev)
            self._learn(features, solution.weights)
            result = solution.result
            self.solver_, self.solver_reason_ = solution.solver, solution.reason
            self.n_iter_, self.history_, self.objective_ = max(result.n_iterations, 1), result.history, result.value
            self.violation_, self.converged_, self.status_ = result.violation, result.converged, result.status
        self.fit_seconds_ = time.perf_counter() - began
        if X_dev is not None:
            self.dev_score_ = self.score(X_dev, y_dev)
        self._warn()
        return self

    def _continues(self) -> bool:
        return self.warm_start and hasattr(self, "weights_") and not self._has_base

    def _training_data(self, inputs: TokenInputs, y: Any, classes: list[str]) -> SequenceData:
        if y is None:
            raise ValueError("a tagger needs y: a list of label sequences")
        if inputs.sequence_ptr[-1] == 0:
            raise ValueError("there are no tokens to learn from")
        numbers, allowed, self.classes_ = encode_labels(y, inputs.sequence_ptr, classes)
        if not self.classes_:
            raise ValueError("no token has a label: there is nothing to learn from")
        if len(self.classes_) == 1:
            message = f"every token has the label {self.classes_[0]!r}: the model can say nothing else"
            warnings.warn(message, stacklevel=4)
        constraint_base(self.classes_, as_constraint(self.constraint))  # refused before training rather than after it
        self.scheme_ = schemes.detect(self.classes_)
        if self.scheme_ is not None and not np.any(numbers < 0):
            corpus = FlatLabels(numbers, inputs.sequence_ptr, self.classes_)
            illegal = schemes.flat_illegal(corpus, self.scheme_)
            if illegal.size:
                place = corpus.place(int(illegal[0]))
                warnings.warn(
                    f"{illegal.size} labels of the training data are illegal in the scheme {self.scheme_!r}, the first "
                    f"at sequence {place[0]}, token {place[1]} (counting from 0); training goes on with them",
                    stacklevel=4,
                )
        if self.estimator != "crf" and np.all(numbers < 0):
            raise ValueError(f"estimator {self.estimator!r} needs labels; only 'crf' learns from partly known ones")
        n = self.reader_.n_attributes
        return SequenceData(inputs.sequence_ptr, inputs.rows, n, numbers, len(self.classes_), allowed)

    def _chain_features(self, data: SequenceData) -> ChainFeatures:
        featuriser = self.reader_.featuriser
        return chain_features(
            data,
            scopes=None if featuriser is None else featuriser.scopes,
            order=self.order,
            transitions=featuriser is not None and featuriser.has_transitions,
            all_features=self.features == "all",
            all_transitions=self.transitions == "all",
            n_threads=self.n_threads,
        )

    def _solve(self, problem: TaggerProblem, start: FloatArray | None, X_dev: Any, y_dev: Any) -> Solution:
        if self.tune is None:
            named = ("tagger", self.estimator, self.penalty, self.strength, "order", self.order)
            checkpoint = open_checkpoint(self.checkpoint, problem.data, *named)
            return problem.solve(self.strength_, start=start, checkpoint=checkpoint)
        if X_dev is None or y_dev is None:
            raise ValueError("tune needs X_dev and y_dev in fit: the sequences to choose the strength by")
        strengths = np.geomspace(10.0, 0.01, 7) if isinstance(self.tune, str) else sorted(self.tune, reverse=True)
        best: tuple[float, float, Solution] | None = None
        self.tuning_: list[tuple[float, float]] = []
        for strength in strengths:
            solution = problem.solve(float(strength), start=start)
            self._learn(problem.features, solution.weights)
            score = float(self.score(X_dev, y_dev))
            self.tuning_.append((float(strength), score))
            if best is None or score > best[0]:
                best = score, float(strength), solution
            start = solution.weights
            if solution.result.status == Status.INTERRUPTED or len(self.tuning_) - self._best_place() > 3:
                break
        assert best is not None
        self.strength_ = best[1]
        ended = Status.INTERRUPTED if solution.result.status == Status.INTERRUPTED else best[2].result.status
        return replace(best[2], result=replace(best[2].result, status=ended))

    def _best_place(self) -> int:
        return 1 + max(range(len(self.tuning_)), key=lambda i: self.tuning_[i][1])

    def _warn(self) -> None:
        if self.status_ == Status.INTERRUPTED:
            message = f"training was interrupted after {self.n_iter_} steps; the best weights so far are kept"
            warnings.warn(message, InterruptedWarning, stacklevel=4)
        elif self.status_ == Status.MAX_ITERATIONS:
            warnings.warn(
                f"training stopped at max_iterations={self.max_iterations}, before the optimum (violation "
                f"{self.violation_:.3g})",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _learn(self, features: ChainFeatures, weights: FloatArray) -> None:
        """Take features and weights for prediction."""
        self.features_, self.weights_ = features, np.ascontiguousarray(weights, dtype=np.float64)
        self._models: dict[Any, _core.ChainModel] = {}
        self._model_for(None, ChainBase())

    # ---- prediction -------------------------------------------------------------------------------------------------
    def _model_for(self, key: Any, base: ChainBase) -> _core.ChainModel:
        """The native model with a constraint; made once. Two threads may both make it, to the same effect."""
        model = self._models.get(key)
        if model is None:
            if self.hmm_ is not None and self._has_base:
                base = base.plus(chain_of(self.hmm_))
            model = replace(base, nodes=None).model(self.features_, self.machine)
            model.set(self.weights_)
            self._models[key] = model
        return model

    def _lattices(self, X: Any, constraint: Any = None, allowed: Any = None) -> Lattices:
        """Encoded sequences under the model and the constraints."""
        check_is_fitted(self, "weights_")
        inputs = self.reader_.read(X, self.n_threads)
        constraint = as_constraint(self.constraint if constraint is None else constraint)
        model = self._models.get(constraint)
        if model is None:
            model = self._model_for(constraint, constraint_base(self.classes_, constraint) or ChainBase())
        nodes = None
        if self.hmm_ is not None and self._has_base:
            assert inputs.columns is not None
            nodes = hmm_base(self.hmm_, inputs.columns).nodes
        if allowed is not None:
            scores = allowed_scores(allowed, inputs.sequence_ptr, self.classes_)
            nodes = scores if nodes is None else nodes + scores
        local = None
        if self.estimator == "memm":  # its labels are normalised before anything is forbidden
            free = constraint is None and allowed is None
            local = model if free else self._model_for(False, ChainBase())
        n, L = self.reader_.n_attributes, len(self.classes_)
        return Lattices(inputs, model, n, L, nodes, local, self.n_threads)

    # ---- looking inside ---------------------------------------------------------------------------------------------
    def attribute_names(self) -> list[str]:
        """The name of every attribute, by number."""
        check_is_fitted(self, "weights_")
        return [] if self.reader_.featuriser is None else self.reader_.featuriser.names()

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """(attribute, label) -> weight, zero weights left out."""
        names, f = self.attribute_names(), self.features_
        node = f.split(self.weights_)[0]
        kept = np.flatnonzero(node)
        attributes, labels = f.attribute_of()[kept].tolist(), f.node_label[kept].tolist()
        return {(names[a], self.classes_[y]): w for a, y, w in zip(attributes, labels, node[kept].tolist())}

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """(label, next label) -> weight, zero weights left out."""
        check_is_fitted(self, "weights_")
        steps = self.features_.split(self.weights_)[2]
        L, codes = len(self.classes_), self.features_.transition_code.tolist()
        return {(self.classes_[c // L], self.classes_[c % L]): w for c, w in zip(codes, steps.tolist()) if w}

    def transition_matrix(self) -> FloatArray:
        """Weights of label successions [n_labels, n_labels], the base distribution included."""
        check_is_fitted(self, "weights_")
        L = len(self.classes_)
        matrix = np.zeros((L, L))
        matrix.reshape(-1)[self.features_.transition_code] = self.features_.split(self.weights_)[2]
        if self._has_base and self.hmm_ is not None and self.hmm_.log_transitions is not None:
            matrix = matrix + self.hmm_.log_transitions
        return matrix

    def explain(self, sequence: Any) -> SequenceExplanation:
        """Which attributes and labels before made each token's label."""
        return explain(self, sequence)

    # ---- other models and files -------------------------------------------------------------------------------------
    @classmethod
    def from_pretrained(cls, model: Tagger | str | os.PathLike[str]) -> Tagger:
        """A tagger whose ``fit`` continues from a model (or its file), new labels and attributes included."""
        from loglinear.models import load

        source: Tagger = model if isinstance(model, Tagger) else load(model, "tagger")
        check_is_fitted(source, "weights_")
        if source._has_base:
            raise ValueError(f"estimator {source.estimator!r} rests on counts of its data: fit it to all of them anew")
        tagger = clone(source)
        for name, value in vars(source).items():
            if name.endswith("_"):
                setattr(tagger, name, value)
        tagger.warm_start = True
        tagger._learn(source.features_, source.weights_)
        return tagger

    @classmethod
    def from_crfsuite_params(
        cls,
        algorithm: str = "lbfgs",
        c1: float = 0.0,
        c2: float = 1.0,
        max_iterations: int | None = None,
        all_possible_transitions: bool = False,
        all_possible_states: bool = False,
        min_freq: int = 0,
        **others: Any,
    ) -> Tagger:
        """A tagger with the objective of sklearn-crfsuite's CRF(...): c1 |w|_1 + c2 |w|^2."""
        if algorithm != "lbfgs":
            raise ValueError(f"algorithm {algorithm!r} has no counterpart; 'lbfgs' does")
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
            min_count=max(int(min_freq), 1),
            **others,
        )

    @classmethod
    def from_crfsuite_dump(cls, source: str | os.PathLike[str]) -> Tagger:
        """The model in the text of ``crfsuite dump`` (pycrfsuite: ``Tagger.dump``); it predicts the same."""
        return tagger_file.from_crfsuite_dump(cls, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically; ``loglinear.load`` reads it. Zero weights are left out."""
        check_is_fitted(self, "weights_")
        tagger_file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Any, source: Any) -> Tagger:
        """The model in a file that ``loglinear.load`` has opened."""
        return tagger_file.load(cls, archive, source)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_models"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "weights_"):
            self._learn(self.features_, self.weights_)

