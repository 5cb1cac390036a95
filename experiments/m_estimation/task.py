"""The task: corpora, feature sets, and chains that are prepared once and solved at many strengths.

A chain is built of the same parts as ``loglinear.Tagger`` (a test compares their labels), so that what does not depend
on the strength (features, base model, expectations) is computed and timed once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.chain_base import ChainBase
from loglinear.data.chain_features import ChainFeatures, chain_features
from loglinear.data.sequence import SequenceData
from loglinear.features.columns import Columns
from loglinear.features.sequences import FlatLabels
from loglinear.formats.conll import parse_conll
from loglinear.formats.text import read_bytes
from loglinear.metrics.span_f1 import span_scores
from loglinear.models.tagger.base import fit_base, hmm_base
from loglinear.models.tagger.input_only import InputOnly
from loglinear.models.tagger.inputs import TokenInputs, TokenReader
from loglinear.models.tagger.labels import encode_labels
from loglinear.models.tagger.lattices import Lattices
from loglinear.models.tagger.training import TaggerProblem
from loglinear.optimise.minimise import Callback
from loglinear.optimise.training import Settings, Solution

TUNING = 900  # sentences, the last of the training file
TEMPLATES = {"hmm": "hmm", "extended": "sha-pereira"}


@dataclass(frozen=True, eq=False)
class Part:
    """Sentences and their labels."""

    X: Columns
    y: list[list[str]]

    def __len__(self) -> int:
        return len(self.y)

    def first(self, n: int | None) -> Part:
        return self if n is None else Part(self.X[:n], self.y[:n])

    def split(self, n: int) -> tuple[Part, Part]:
        return Part(self.X[:-n], self.y[:-n]), Part(self.X[-n:], self.y[-n:])


def read(path: Path) -> Part:
    """Read a CoNLL file whose last column is the label; lines of blanks alone also separate sentences."""
    lines = [b"" if not line.strip() else line for line in read_bytes(path).splitlines()]
    columns = Columns.from_conll(parse_conll(b"\n".join(lines) + b"\n", path.name))
    return Part(columns.without(-1), columns.column(columns.n_columns - 1))


def one_type(part: Part, kind: str) -> Part:
    """Return the part with spans of one type only: all other labels become O."""
    return Part(part.X, [[label if label[1:] == f"-{kind}" else "O" for label in labels] for labels in part.y])


@dataclass(frozen=True)
class Corpus:
    train: Part
    tune: Part
    test: Part

    def map(self, change: Any) -> Corpus:
        return Corpus(change(self.train), change(self.tune), change(self.test))


def chunking(folder: Path, quick: bool = False) -> Corpus:
    """Return CoNLL-2000 with all chunk labels; the last 900 sentences of its training file are for tuning."""
    whole, test = read(folder / "conll2000" / "train.txt.gz"), read(folder / "conll2000" / "test.txt.gz")
    if quick:
        whole, test = whole.first(120), test.first(40)
    return Corpus(*whole.split(len(whole) // 4 if quick else TUNING), test)


def entities(folder: Path, quick: bool = False) -> Corpus:
    """Return WNUT-17 with its six types of entities."""
    names = "wnut17train.conll.gz", "emerging.dev.conll.gz", "emerging.test.annotated.gz"
    parts = [read(folder / "wnut17" / name) for name in names]
    return Corpus(*(part.first(60) if quick else part for part in parts))


def speech(folder: Path, quick: bool = False, treebank: str = "ewt") -> Corpus:
    """Return words with their parts of speech (the treebank's own tags), of UD English-EWT by default."""
    parts = []
    for name in ("train", "dev", "test"):
        part = read(folder / treebank / f"{name}.tsv.gz")  # form, tag, universal tag with features
        parts.append(Part(part.X.without(-1), part.X.column(1)))
    return Corpus(*(part.first(60) if quick else part for part in parts))


@dataclass(frozen=True)
class Family:
    """The settings of a model, all but its strength."""

    estimator: str  # as in Tagger
    templates: str
    base: str = "hmm"
    input_only: int = 0  # longest n-grams; 0 for none
    order: int = 2
    oov: bool = True


@dataclass(frozen=True)
class Scores:
    precision: float
    recall: float
    f1: float


class Chain:
    """A family on training data: features, base model and expectations; ``seconds`` holds the time of each."""

    def __init__(self, family: Family, train: Part, max_iterations: int, n_threads: int | None) -> None:
        self.family, self.n_threads = family, n_threads
        self._read: dict[Part, TokenInputs] = {}
        self.seconds: dict[str, float] = {}
        clock = time.perf_counter
        began = clock()
        is_hmm = family.estimator == "hmm"
        self.reader = TokenReader.make(
            family.templates, columns=True, oov=family.oov, features=not is_hmm, min_count=1, hash_bits=None
        )
        inputs = self.reader.read(train.X, n_threads, "fit_transform")
        numbers, _, self.classes = encode_labels(train.y, inputs.sequence_ptr)
        n = self.reader.n_attributes
        self.data = SequenceData(inputs.sequence_ptr, inputs.rows, n, numbers, len(self.classes))
        featuriser = self.reader.featuriser
        self.features: ChainFeatures = chain_features(
            self.data,
            scopes=None if featuriser is None else featuriser.scopes,
            order=family.order,
            transitions=featuriser is not None and featuriser.has_transitions,
            n_threads=n_threads,
        )
        self.seconds["features"] = clock() - began
        began = clock()
        self.columns = inputs.columns
        assert self.columns is not None
        self.has_base = family.estimator in ("hmm", "m-estimation")
        self.hmm = fit_base(family.base, self.columns, self.data, family.order, 1.0) if family.oov else None
        self.seconds["base"] = clock() - began
        began = clock()
        self.problem = None if is_hmm else self._problem(max_iterations)
        self.seconds["precomputation"] = clock() - began

    def _problem(self, max_iterations: int) -> TaggerProblem:
        settings = Settings(
            solver="lbfgs",
            tolerance=1e-10,
            max_iterations=max_iterations,
            n_threads=self.n_threads,
            verbose=0,
        )
        assert self.columns is not None
        inputs = InputOnly.of(self.family.input_only, self.columns.n_columns) if self.family.input_only else None
        return TaggerProblem(
            self.family.estimator,
            self.data,
            self.features,
            settings,
            hmm=self.hmm,
            columns=self.columns,
            featuriser=self.reader.featuriser,
            base=self.family.base,
            input_only=inputs,
        )

    def solve(
        self, c: float, *, start: FloatArray | None = None, callback: Callback | None = None, **changes: Any
    ) -> Solution:
        """Minimise at strength 1 / c; c may be infinite."""
        assert self.problem is not None
        changes["penalty"] = "none" if np.isinf(c) else "l2"
        problem = replace_settings(self.problem, **changes)
        return problem.solve(0.0 if np.isinf(c) else 1.0 / c, start=start, callback=callback)

    def predict(self, part: Part, weights: FloatArray) -> list[list[str]]:
        """Return the best labels; input-only weights come last and cannot change them."""
        if part not in self._read:
            self._read[part] = self.reader.read(part.X, self.n_threads)
        inputs = self._read[part]
        base = ChainBase()
        if self.has_base:
            assert self.hmm is not None
            assert inputs.columns is not None
            base = hmm_base(self.hmm, inputs.columns)
        model = replace(base, nodes=None).model(self.features)
        model.set(np.ascontiguousarray(weights[: self.features.n_weights]))
        local = self.family.estimator == "memm"
        lattices = Lattices(inputs, model, len(self.classes), base.nodes, model if local else None, self.n_threads)
        return list(FlatLabels(lattices.best(), inputs.sequence_ptr, self.classes))

    def accuracy(self, part: Part, weights: FloatArray) -> float:
        """Return the percentage of right labels."""
        pairs = [(a, b) for gold, found in zip(part.y, self.predict(part, weights)) for a, b in zip(gold, found)]
        return 100 * sum(a == b for a, b in pairs) / max(len(pairs), 1)

    def score(self, part: Part, weights: FloatArray | None) -> Scores:
        """Return percentages over spans; None as weights scores the base model alone."""
        weights = np.zeros(self.features.n_weights) if weights is None else weights
        found = span_scores(part.y, self.predict(part, weights), "bio")
        assert found.precision is not None
        assert found.recall is not None
        assert found.f1 is not None
        return Scores(100 * found.precision, 100 * found.recall, 100 * found.f1)


def replace_settings(problem: TaggerProblem, **changes: Any) -> TaggerProblem:
    """Return the same problem with other settings; the loss is shared."""
    other = object.__new__(TaggerProblem)
    other.__dict__.update(problem.__dict__, settings=replace(problem.settings, **changes))
    return other
