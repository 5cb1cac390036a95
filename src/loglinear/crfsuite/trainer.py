"""Trainer: collects labelled sequences and trains on them, with the methods of ``pycrfsuite.Trainer``."""

from __future__ import annotations

import time
import warnings
from array import array
from typing import Any

import numpy as np

from loglinear.crfsuite.items import ItemSequence
from loglinear.crfsuite.log import TrainingLog
from loglinear.crfsuite.parameters import ALGORITHMS, convert, find_algorithm
from loglinear.crfsuite.training import Training
from loglinear.features.attributes import AttributeEncoder
from loglinear.features.sequences import FlatLabels, as_label, check_labels
from loglinear.models.tagger.estimator import Tagger as Model


class CRFSuiteError(Exception):
    """Training failed; kept for code that catches it. Errors here say what was wrong, as other exceptions."""


class Trainer:
    """A data set and an algorithm: "lbfgs" (default), "l2sgd", "ap", "pa" or "arow".

    Every line of the log goes to ``message``; with ``verbose``, events go to ``on_start``, ``on_iteration`` and the
    like, which print it. ``logparser`` is the log of the last training, ``model_`` its model.
    """

    logparser: TrainingLog | None = None
    model_: Model | None = None
    n_threads: int | None = None
    verbose: bool
    _given: dict[str, Any]  # parameters that the caller has set
    _algorithm: str
    _event: tuple[str, str] | None  # what the line at hand ends, and its text

    def __new__(cls, *args: Any, **kwargs: Any) -> Trainer:
        """Make it ready before ``__init__``, which subclasses need not call."""
        self = super().__new__(cls)
        self.verbose = True
        self._given, self._algorithm, self._event = {}, "lbfgs", None
        self.clear()
        return self

    def __init__(
        self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # ---- data ------------------------------------------------------------------------------------------------------
    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a sequence, tokens and labels; ``group`` is what ``train(holdout=...)`` refers to."""
        labels = [as_label(label) for label in yseq]
        number = self._encoder.n_sequences
        n = len(xseq) if hasattr(xseq, "__len__") else None
        if n is not None and n != len(labels):
            raise ValueError(f"sequence {number} has {n} tokens but {len(labels)} labels")
        if isinstance(xseq, ItemSequence):
            self._encoder.add_encoded(xseq.encoded)
        else:
            self._encoder.add(xseq if n is not None else list(xseq))
        self._labels.extend(self._names.setdefault(label, len(self._names)) for label in labels)
        self._groups.append(int(group))

    def clear(self) -> None:
        """Remove all sequences."""
        self._encoder = AttributeEncoder(mixed=True)
        self._names: dict[Any, int] = {}
        self._labels, self._groups = array("i"), list[int]()

    # ---- parameters ------------------------------------------------------------------------------------------------
    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters have their defaults again."""
        if type != "crf1d":
            raise ValueError(f"unknown type {type!r}; known: 'crf1d'")
        self._algorithm = find_algorithm(algorithm)
        self._given.clear()

    def params(self) -> list[str]:
        """Return the names of the algorithm's parameters."""
        return list(ALGORITHMS[self._algorithm])

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        self._check_name(name)
        return self._given.get(name, ALGORITHMS[self._algorithm][name].default)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; ValueError where the algorithm has none of this name or the value has no meaning."""
        self._given[name] = convert(self._algorithm, name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters with their values."""
        return {name: self.get(name) for name in self.params()}

    def set_params(self, params: dict[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def _check_name(self, name: str) -> None:
        if name not in self.params():
            raise ValueError(f"Parameter not found: {name!r}; {self._algorithm} has {', '.join(self.params())}")

    def help(self, name: str) -> str:
        """Return what a parameter means."""
        self._check_name(name)
        return ALGORITHMS[self._algorithm][name].help

    # ---- train -----------------------------------------------------------------------------------------------------
    def train(self, model: str, holdout: int = -1) -> None:
        """Train on all groups but ``holdout``, which is predicted after every iteration; write the model to a file.

        An empty name writes none; where it ends in ``.crfsuite``, CRFsuite can read the file too. Without sequences
        there is a warning, and no model.
        """
        self.logparser = TrainingLog()
        groups = np.array(self._groups, dtype=np.int64)
        chosen = np.flatnonzero(groups != holdout) if holdout >= 0 else np.arange(groups.size)
        sequences = self._encoder.finish(more=True)
        labels = FlatLabels(np.array(self._labels, dtype=np.int32), sequences.sequence_ptr, list(self._names))
        if not sequences.take(chosen).n_tokens:
            warnings.warn("there are no tokens to train on, and no model is written: append sequences", stacklevel=2)
            return
        check_labels(self._names)
        held_out = None
        if holdout >= 0:
            rest = np.flatnonzero(groups == holdout)
            held_out = sequences.take(rest), labels.take(rest)
        training = Training(
            self._algorithm, self.get_params(), set(self._given), self.logparser, self._emit, self.n_threads
        )
        self.model_ = training.run(sequences.take(chosen), _occurring(labels.take(chosen)), held_out)
        self._store(model)

    def _store(self, model: str) -> None:
        assert self.logparser is not None
        assert self.model_ is not None
        began = time.perf_counter()
        if model.endswith(".crfsuite"):
            self.model_.to_crfsuite_binary(model)
        elif model:
            self.model_.save(model)
        self.logparser.storing_seconds = time.perf_counter() - began
        active, all_ = int(np.count_nonzero(self.model_.weights_)), self.model_.weights_.size
        lines = ["Storing the model\n", f"Number of active features: {active} ({all_})\n"]
        self._emit("end", [*lines, f"Seconds required: {self.logparser.storing_seconds:.3f}\n", "\n"])

    # ---- the log ---------------------------------------------------------------------------------------------------
    def _emit(self, event: str, lines: list[str]) -> None:
        for k, line in enumerate(lines):
            self._event = (event, "".join(lines)) if k == len(lines) - 1 else None
            self.message(line)

    def message(self, message: str) -> None:
        """Take a line of the log; the last line of an event, with ``verbose``, calls its method."""
        if self.logparser is not None:
            self.logparser.log.append(message)
        if self._event is None or not self.verbose:
            return
        event, text = self._event
        if event == "iteration":
            assert self.logparser is not None
            self.on_iteration(text, self.logparser.iterations[-1])
        else:
            getattr(self, f"on_{event}")(text)

    def on_start(self, log: str) -> None:
        """Print the first lines."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Print what features there are."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Print the settings."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print the figures of an iteration."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Print how training ended."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Print what was stored."""
        print(log, end="")


class LinePerIterationTrainer(Trainer):
    """Prints one line per iteration."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print the loss and, with held-out sequences, the scores."""
        text = f"iteration {info['num']:<4} {info['time']:6.2f} s  loss {info['loss']:<12.2f}"
        if "active_features" in info:
            text += f" {info['active_features']} weights"
        if "avg_f1" in info:
            text += f"  held out: F1 {info['avg_f1']:.3f}, accuracy {info['item_accuracy_float']:.3f}"
        print(text.rstrip())


def _occurring(labels: FlatLabels) -> FlatLabels:
    """Return the labels with the names that occur alone, by first occurrence."""
    values, first = np.unique(labels.numbers, return_index=True)
    return labels.renumbered([labels.names[k] for k in values[np.argsort(first)].tolist()])
