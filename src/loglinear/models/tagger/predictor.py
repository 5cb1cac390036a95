"""TaggerPredictor: everything that a trained tagger can be asked. It needs numpy and the extension only."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.token_arrays import TokenArrays
from loglinear.features.sequences import FlatLabels
from loglinear.hmm.model import HMM
from loglinear.metrics.evaluation import evaluate_tagger
from loglinear.models.archive import Archive
from loglinear.models.predictor import Predictor
from loglinear.models.tagger import file as tagger_file
from loglinear.models.tagger.base import chain_of, hmm_base
from loglinear.models.tagger.constraints import as_constraint, constraint_base
from loglinear.models.tagger.explain import SequenceExplanation, explain
from loglinear.models.tagger.input_only import InputOnly
from loglinear.models.tagger.inputs import TokenInputs, TokenReader, number_name
from loglinear.models.tagger.labels import allowed_scores, encode_labels
from loglinear.models.tagger.lattices import Lattices
from loglinear.models.tagger.mistakes import judge_tokens
from loglinear.models.tagger.normaliser import estimate_log_normaliser
from loglinear.models.tagger.settings import TaggerSettings
from loglinear.models.validation import old_name

if TYPE_CHECKING:
    from typing_extensions import Self


class TaggerPredictor(TaggerSettings, Predictor):
    """A trained tagger: labels, probabilities and explanations of new sequences.

    ``X`` is as in :class:`Tagger`. Most methods take two limits on the labellings, by name:

    constraint : None (that of the model), a label scheme ("bio", "iob1", "iobes", "bilou", "bmes"), "auto" (that of the
        training data, unless they break it), or pairs of labels of which the second must not follow the first
    allowed : None, or per sequence a list with, per token, None (any label), a label, or a set of labels
    """

    kind = tagger_file.KIND
    classes_: list[Any]  # labels, sorted: text or whole numbers
    scheme_: str | None  # the label scheme of the training data, where they follow one
    n_illegal_: int  # number of training labels that break it
    reader_: TokenReader
    features_: ChainFeatures
    weights_: FloatArray
    validation_score_: float  # where training had held-out sequences
    dev_score_ = old_name("dev_score_", "validation_score_")
    hmm_: HMM | None  # the base distribution q0; also where a CRF started from an M-estimate
    input_only_: InputOnly | None = None  # features of the input alone, with their weights

    def encode(self, X: Any) -> TokenInputs:
        """Return sequences as the model reads them; the other methods take them in place of ``X``, read already."""
        self.check_fitted()
        if isinstance(X, TokenArrays) and X.labels is not None and X.labels != self.classes_:
            raise ValueError(f"emissions for the labels {X.labels}, but those of the model are {self.classes_}")
        return X if isinstance(X, TokenInputs) else self.reader_.read(X, self.n_threads)

    @property
    def legal_scheme(self) -> str | None:
        """The scheme that the constraint "auto" means: that of the training data, or None where they break it."""
        return self.scheme_ if self.n_illegal_ == 0 else None

    # ---- labels ----------------------------------------------------------------------------------------------------
    def predict(self, X: Any, *, constraint: Any = None, allowed: Any = None) -> list[list[Any]]:
        """Return the best labelling of every sequence."""
        return list(self.predict_flat(X, constraint=constraint, allowed=allowed))

    def predict_flat(self, X: Any, *, constraint: Any = None, allowed: Any = None) -> FlatLabels:
        """Return the best labelling of every sequence as numbers, without a Python object per token."""
        lattices = self._lattices(X, constraint, allowed)
        return FlatLabels(lattices.best(), lattices.inputs.sequence_ptr, self.classes_)

    def predict_numbers(self, X: Any, *, constraint: Any = None) -> np.ndarray:
        """Return the best labels of all tokens, one after another, as numbers in ``classes_`` [n_tokens]."""
        return self.predict_flat(X, constraint=constraint).numbers

    def predict_nbest(
        self, X: Any, k: int = 10, *, logarithms: bool = False, **limits: Any
    ) -> list[list[tuple[list[Any], float]]]:
        """Return up to k best labellings of every sequence with their probabilities, best first.

        ``logarithms`` gives those of the probabilities, which of long sequences may be too small for a number.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        lattices = self._lattices(X, **limits)
        labels, scores = lattices.nbest(k)
        probabilities = scores - lattices.log_normalisers()[:, None]
        if not logarithms:
            np.exp(probabilities, out=probabilities)
        names, result = np.array(self.classes_, dtype=object), []
        for i, (a, b) in enumerate(itertools.pairwise(lattices.inputs.sequence_ptr.tolist())):
            found = np.flatnonzero(scores[i] > -np.inf)
            result.append([(names[labels[r, a:b]].tolist(), float(probabilities[i, r])) for r in found])
        return result

    def sample(self, X: Any, n_samples: int = 1, random_state: int = 0, **limits: Any) -> list[list[list[Any]]]:
        """Return, for every sequence, ``n_samples`` labellings drawn from p(y | x)."""
        if n_samples < 0 or not 0 <= random_state < 2**64:
            raise ValueError("n_samples and random_state must not be negative, and random_state below 2^64")
        lattices = self._lattices(X, **limits)
        ptr = lattices.inputs.sequence_ptr
        drawn = [FlatLabels(row, ptr, self.classes_) for row in lattices.sample(n_samples, random_state)]
        return [list(samples) for samples in zip(*drawn)] if drawn else [[] for _ in range(ptr.size - 1)]

    # ---- probabilities ---------------------------------------------------------------------------------------------
    def predict_marginals(self, X: Any, **limits: Any) -> list[list[dict[Any, float]]]:
        """Return, for every token, the probability of every label."""
        lattices = self._lattices(X, **limits)
        flat = [dict(zip(self.classes_, row)) for row in lattices.marginals().tolist()]
        return [flat[a:b] for a, b in itertools.pairwise(lattices.inputs.sequence_ptr.tolist())]

    def marginal_array(self, X: Any, **limits: Any) -> FloatArray:
        """Return p(label of token) [n_tokens, n_labels], all sequences one after another."""
        return self._lattices(X, **limits).marginals()

    def edge_marginal_array(self, X: Any, **limits: Any) -> FloatArray:
        """Return p(label before, label) [n_tokens, n_labels, n_labels]; zero at the first token of a sequence."""
        return self._lattices(X, **limits).edge_marginals()

    def log_probability(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of every sequence [n_sequences]."""
        lattices = self._lattices(X)
        coded = encode_labels(y, lattices.inputs.sequence_ptr, self.classes_, grow=False)
        if np.any(coded.numbers < 0):
            raise ValueError("log_probability needs the label of every token")
        return lattices.scores(coded.numbers) - lattices.log_normalisers()

    def input_log_probability(self, X: Any) -> FloatArray:
        """Return log of the sum over labellings of q0 exp(w . f), scores of inputs under a joint model [n_sequences].

        For an HMM it is log p(x); for an M-estimate it lacks one constant, the normaliser over all inputs, which
        ``log_normaliser`` estimates. Scores of two M-estimates cannot be compared without it.
        """
        if not self.has_base:
            raise ValueError(f"estimator {self.estimator!r} models labels given the input, not the input itself")
        lattices = self._lattices(X)
        scores = lattices.log_normalisers()
        if self.input_only_ is not None and lattices.inputs.columns is not None:
            scores += self.input_only_.scores(lattices.inputs.columns, self.n_threads)
        return scores

    def log_normaliser(self, n_samples: int = 10_000, random_state: int = 0) -> tuple[float, float]:
        """Estimate log Z, Z = sum over all x and y of q0 exp(w . f), and the standard error of the estimate.

        Z is the mean, over inputs drawn from q0, of the input's score under the model over its score under q0. The
        estimate of Z is unbiased, but where weights are large a few inputs decide it, and its error is larger than it
        looks. For an HMM, which is normalised, it is (0, 0).
        """
        return estimate_log_normaliser(self, n_samples, random_state)

    def evaluate(self, X: Any, y: Any, *, constraint: Any = None, errors: int = 0) -> dict[str, Any]:
        """Return the figures of ``tag eval``: accuracy, spans as conlleval counts them, single labels, unseen labels.

        Labels that never occurred in training count as errors. With ``errors``, the calibration of probabilities is
        told too, and so many of the most confident mistakes, each with the attributes that decided it.
        """
        found = evaluate_tagger(self, self.encode(X), y, constraint).to_dict()
        if errors:
            mistakes, found["calibration"] = judge_tokens(self, X, y, errors, constraint)
            found["errors"] = [mistake.to_dict() for mistake in mistakes]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the F1 of spans where labels follow a scheme (BIO, IOBES, ...), else the share of correct labels."""
        result = evaluate_tagger(self, X, y).scores
        return float(result.accuracy if result.f1 is None else result.f1)

    # ---- looking inside --------------------------------------------------------------------------------------------
    def attribute_names(self) -> list[str]:
        """Return the name of every attribute, by number."""
        self.check_fitted()
        names = [] if self.reader_.featuriser is None else self.reader_.featuriser.names()
        return [*names, *map(number_name, range(self.reader_.n_numbers))]

    def attribute_name(self, number: int) -> str:
        """Return the name of one attribute."""
        first = self.reader_.n_attributes - self.reader_.n_numbers
        if number >= first:
            return number_name(number - first)
        assert self.reader_.featuriser is not None
        return self.reader_.featuriser.name(number)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """Return {(attribute, label): weight}, without zero weights."""
        names, f = self.attribute_names(), self.features_
        node = f.split(self.weights_)[0]
        kept = np.flatnonzero(node)
        attributes, labels = f.attribute_of()[kept].tolist(), f.node_label[kept].tolist()
        return {(names[a], self.classes_[y]): w for a, y, w in zip(attributes, labels, node[kept].tolist())}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """Return {(label, next label): weight}, without zero weights."""
        self.check_fitted()
        steps = self.features_.split(self.weights_)[2]
        L, codes = len(self.classes_), self.features_.transition_code.tolist()
        return {(self.classes_[c // L], self.classes_[c % L]): w for c, w in zip(codes, steps.tolist()) if w}

    def transition_matrix(self) -> FloatArray:
        """Return the weights of label successions [n_labels, n_labels], the base distribution included."""
        self.check_fitted()
        L = len(self.classes_)
        matrix = np.zeros((L, L))
        matrix.reshape(-1)[self.features_.transition_code] = self.features_.split(self.weights_)[2]
        if self.has_base and self.hmm_ is not None and self.hmm_.log_transitions is not None:
            matrix = matrix + self.hmm_.log_transitions
        return matrix

    def explain(self, sequence: Any) -> SequenceExplanation:
        """Return the share of every attribute and of the preceding labels in the score of each token's label."""
        return explain(self, sequence)

    # ---- lattices --------------------------------------------------------------------------------------------------
    def _learn(self, features: ChainFeatures, weights: FloatArray) -> None:
        """Take features and weights for prediction; those of input-only features, if any, come last."""
        n = features.n_weights
        if self.input_only_ is not None and weights.size > n:
            self.input_only_ = self.input_only_.trained(weights[n:])
            weights = weights[:n]
        self.features_, self.weights_ = features, np.ascontiguousarray(weights, dtype=np.float64)
        self._models: dict[Any, _core.ChainModel] = {}
        self._model_for(None, ChainBase())

    def _model_for(self, key: Any, base: ChainBase) -> _core.ChainModel:
        """Return the native model with a constraint, made once. Two threads may both make it, to the same effect."""
        model = self._models.get(key)
        if model is None:
            if self.hmm_ is not None and self.has_base:
                base = base.plus(chain_of(self.hmm_))
            model = replace(base, nodes=None).model(self.features_, self.machine)
            model.set(self.weights_)
            self._models[key] = model
        return model

    def _lattices(self, X: Any, constraint: Any = None, allowed: Any = None) -> Lattices:
        """Return the lattices of sequences under the model and the constraints."""
        inputs = self.encode(X)
        constraint = as_constraint(self.constraint if constraint is None else constraint, self.legal_scheme)
        model = self._models.get(constraint)
        if model is None:
            model = self._model_for(constraint, constraint_base(self.classes_, constraint) or ChainBase())
        nodes = None
        if self.hmm_ is not None and self.has_base:
            assert inputs.columns is not None
            nodes = hmm_base(self.hmm_, inputs.columns).nodes
        if allowed is not None:
            scores = allowed_scores(allowed, inputs.sequence_ptr, self.classes_)
            nodes = scores if nodes is None else nodes + scores
        local = None
        if self.estimator == "memm":  # its labels are normalised before anything is forbidden
            free = constraint is None and allowed is None
            local = model if free else self._model_for(False, ChainBase())
        return Lattices(inputs, model, len(self.classes_), nodes, local, self.n_threads)

    # ---- files -----------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.ll` file, atomically; ``loglinear.load`` reads it. Zero weights are left out."""
        self.check_fitted()
        tagger_file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Return the model in a file that ``loglinear.load`` has opened."""
        return tagger_file.load(cls, archive, source)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_models"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "weights_" in state:
            self._learn(self.features_, self.weights_)
