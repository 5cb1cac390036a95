"""Training as CRFsuite does it: its features, its objectives, its criteria to stop, with our solvers.

    lbfgs   minimises  sum of -log p(y | x) + c1 |w|_1 + c2 |w|^2:  our l1 of strength c1, our l2 of strength 2 c2
    l2sgd   the same without c1, by stochastic gradient descent
    averaged-perceptron, passive-aggressive, arow   minimise no objective (models/tagger/online.py)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loglinear import penalties
from loglinear.arrays import FloatArray
from loglinear.crfsuite.log import HeldOut, TrainingLog, iteration_lines
from loglinear.crfsuite.parameters import UNLIMITED
from loglinear.data.chain_features import ChainFeatures
from loglinear.data.sequence import SequenceData
from loglinear.features import schemes
from loglinear.features.attributes import AttributeSequences
from loglinear.features.sequences import FlatLabels
from loglinear.interrupts import CtrlC
from loglinear.losses.chain import ChainLoss
from loglinear.models.tagger.estimator import Tagger
from loglinear.models.tagger.inputs import TokenReader
from loglinear.models.tagger.online import Arow, PassiveAggressive, Perceptron, Sgd, train_online
from loglinear.models.tagger.training import features_of
from loglinear.models.trainer import record_training
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.optimise.solver_choice import choose_solver
from loglinear.optimise.training import Solution
from loglinear.status import Status

Emit = Callable[[str, list[str]], None]  # event, lines
_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}


class Training:
    """One run: sequences and labels in, a tagger out, with its log."""

    def __init__(
        self, algorithm: str, values: dict[str, Any], given: set[str], log: TrainingLog, emit: Emit,
        n_threads: int | None = None,
    ) -> None:
        self.algorithm, self.values, self.given = algorithm, values, given  # given: parameters that a caller has set
        self.log, self.emit, self.n_threads = log, emit, n_threads
        self.tagger = self._untrained()
        self.held_out: HeldOut | None = None

    def _untrained(self) -> Tagger:
        v = self.values
        return Tagger.from_crfsuite_params(
            c1=v.get("c1", 0.0), c2=v.get("c2", 0.0), max_iterations=min(v["max_iterations"], UNLIMITED),
            all_possible_transitions=v["feature.possible_transitions"],
            all_possible_states=v["feature.possible_states"], min_freq=v["feature.minfreq"], n_threads=self.n_threads,
            verbose=0,
        )

    def run(
        self, sequences: AttributeSequences, labels: FlatLabels, held_out: tuple[AttributeSequences, FlatLabels] | None
    ) -> Tagger:
        """Train, and return the model. Ctrl-C ends training after the current iteration with the weights so far."""
        began = time.perf_counter()
        tagger = self.tagger
        data, features = self._features(sequences, labels)
        if held_out is not None:
            self._hold_out(*held_out, features)
        title = [f"{_TITLES[self.algorithm]}\n"]
        title += [f"{name}: {value}\n" for name, value in self.values.items() if not name.startswith("feature.")]
        self.emit("prepared", [*title, "\n"])
        weights = self._lbfgs(data, features) if self.algorithm == "lbfgs" else self._online(data, features)
        tagger._learn(features, weights)
        tagger.fit_seconds_ = self.log.training_seconds = time.perf_counter() - began
        ending = [f"Terminated: {tagger.status_}\n"]
        ending += [f"Total seconds required for training: {self.log.training_seconds:.3f}\n", "\n"]
        self.emit("optimization_end", ending)
        return tagger

    def _features(self, sequences: AttributeSequences, labels: FlatLabels) -> tuple[SequenceData, ChainFeatures]:
        began, tagger, v = time.perf_counter(), self.tagger, self.values
        tagger.reader_ = TokenReader.for_settings(tagger)
        inputs = tagger.reader_.read(sequences, self.n_threads, "fit_transform")
        tagger.classes_ = list(labels.names)
        tagger.scheme_, tagger.n_illegal_ = schemes.flat_detect(labels)
        tagger.hmm_ = tagger.input_only_ = None
        tagger.strength_ = float(tagger.strength)
        numbers = labels.numbers.astype(np.int32, copy=False)
        data = SequenceData(inputs.sequence_ptr, inputs.rows, inputs.n_attributes, numbers, len(labels.names))
        features = features_of(tagger, data, tagger.reader_.featuriser)
        data = replace(data, rows=data.rows.without_zeros())  # such as booleans that are False
        self.log.featgen_num_features = features.n_weights
        self.log.featgen_seconds = time.perf_counter() - began
        self.emit("start", ["Feature generation\n"])
        settings = [f"{name}: {v[name]:f}\n" if name == "feature.minfreq" else f"{name}: {int(v[name])}\n"
                    for name in v if name.startswith("feature.")]  # fmt: skip
        figures = [f"Number of features: {features.n_weights}\n", f"Seconds required: {self.log.featgen_seconds:.3f}\n"]
        self.emit("featgen_end", ["type: CRF1d\n", *settings, *figures, "\n"])
        return data, features

    def _hold_out(self, sequences: AttributeSequences, labels: FlatLabels, features: ChainFeatures) -> None:
        tagger = self.tagger
        inputs = tagger.reader_.read(sequences, self.n_threads)
        gold = labels.renumbered(tagger.classes_).numbers
        self.held_out = HeldOut(lambda: tagger.predict_numbers(inputs), gold, inputs.sequence_ptr, tagger.classes_)
        tagger._learn(features, np.zeros(features.n_weights))

    def _iteration(self, features: ChainFeatures, weights: FloatArray, info: dict[str, Any]) -> None:
        info["scores"] = {}
        if self.held_out is not None:
            self.tagger._learn(features, weights)
            info |= self.held_out.figures()
        self.log.iterations.append(info)
        self.emit("iteration", list(iteration_lines(info, "Epoch" if self.algorithm == "l2sgd" else "Iteration")))

    # ---- lbfgs -----------------------------------------------------------------------------------------------------
    def _lbfgs(self, data: SequenceData, features: ChainFeatures) -> FloatArray:
        v, tagger = self.values, self.tagger
        loss = ChainLoss(data, features, n_threads=self.n_threads)
        penalty = penalties.make(
            tagger.penalty, tagger.strength, l1_ratio=tagger.l1_ratio, n_threads=self.n_threads
        )
        objective = Objective(loss, penalty, self.n_threads)
        options: dict[str, Any] = {} if v["c1"] == 0 else {"metric": "estimate"}  # fewer iterations, dearer ones
        if "num_memories" in self.given:
            options["memory"] = v["num_memories"]
        solver, reason = choose_solver(objective, "auto", options)
        mark = time.perf_counter()  # the end of the iteration before

        def after(number: int, state: Any, history: Any) -> bool:
            nonlocal mark
            now, weights = time.perf_counter(), state.weights
            error_norm, norm = _gradient_norm(state), float(np.linalg.norm(weights))
            # Passes of the start, which may be many stochastic ones, are no trials of the first iteration.
            trials, active = round(state.passes - history.passes[-2]), int(np.count_nonzero(weights))
            info = {"num": number, "loss": state.value, "feature_norm": norm, "error_norm": error_norm}
            info |= {"active_features": active, "linesearch_trials": trials, "time": now - mark}
            self._iteration(features, weights, info)
            mark = time.perf_counter()
            past = history.objective[-1 - v["period"]] if number >= v["period"] else None
            settled = past is not None and past - state.value < v["delta"] * abs(state.value)
            return number >= v["max_iterations"] or settled or error_norm <= v["epsilon"] * max(1.0, norm)

        if v["max_iterations"] == 0 or features.n_weights == 0:
            return self._untouched(features)
        result = minimise(objective, solver, tolerance=None, max_iterations=sys.maxsize, callback=after)
        record_training(tagger, Solution(result.weights, result, solver.name, reason, result.weights))
        return result.weights

    def _untouched(self, features: ChainFeatures) -> FloatArray:
        self._record(0, Status.MAX_ITERATIONS, float("nan"))
        return np.zeros(features.n_weights)

    # ---- the others ------------------------------------------------------------------------------------------------
    def _method(self) -> Any:
        v = self.values
        if self.algorithm == "averaged-perceptron":
            return Perceptron(v["epsilon"])
        if self.algorithm == "passive-aggressive":
            return PassiveAggressive(v["type"], v["c"], v["error_sensitive"], v["averaging"], v["epsilon"])
        if self.algorithm == "arow":
            return Arow(v["variance"], v["gamma"], v["epsilon"])
        calibration = {name.replace(".", "_"): v[name] for name in v if name.startswith("calibration.")}
        return Sgd(v["c2"], v["period"], v["delta"], **calibration)

    def _online(self, data: SequenceData, features: ChainFeatures) -> FloatArray:
        weights, loss, number, status = np.zeros(features.n_weights), float("nan"), 0, Status.MAX_ITERATIONS
        limit = self.values["max_iterations"]
        with CtrlC() as ctrl_c:
            mark = time.perf_counter()
            for number, found in enumerate(train_online(data, features, self._method(), max_iterations=limit), 1):
                weights, loss = found.weights, found.loss
                info = {"num": number, "loss": loss, "feature_norm": float(np.linalg.norm(weights)), **found.more}
                self._iteration(features, weights, {**info, "time": time.perf_counter() - mark})
                mark = time.perf_counter()
                if found.ends:
                    status = Status.STOPPED
                elif ctrl_c.pressed:
                    status = Status.INTERRUPTED
                    break
        self._record(number, status, loss)
        return weights

    def _record(self, n_iterations: int, status: Status, loss: float) -> None:
        tagger = self.tagger
        tagger.n_iter_, tagger.objective_, tagger.status_ = n_iterations, loss, status
        tagger.gap_, tagger.gap_is_bound_, tagger.converged_ = float("inf"), False, False
        tagger.solver_, tagger.solver_reason_ = self.algorithm, "as asked"


def _gradient_norm(state: Any) -> float:
    """Return the norm of the gradient, or of the pseudo-gradient where the objective is not smooth."""
    pseudo = getattr(state, "pseudo", None)
    if pseudo is not None:
        return float(np.linalg.norm(pseudo))
    return float(np.linalg.norm(state.gradient if state.unit is None else state.gradient / state.unit))

