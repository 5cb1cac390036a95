"""Tagger: a trained model, asked one sequence at a time. It needs numpy and the extension only."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from loglinear.crfsuite.items import encode
from loglinear.errors import LoglinearError
from loglinear.features.attributes import AttributeSequences
from loglinear.formats.crfsuite.binary import MAGIC, parse_crfsuite_model
from loglinear.formats.crfsuite.model import dump_lines, write_crfsuite_dump
from loglinear.models import load_predictor
from loglinear.models.archive import to_bytes
from loglinear.models.tagger.file import from_crfsuite_model, to_archive, to_crfsuite_model
from loglinear.models.tagger.predictor import TaggerPredictor


class ClosedError(ValueError, RuntimeError):
    """The tagger has no model. The original raises either type, depending on the method."""


class ParsedDump:
    """What :meth:`Tagger.info` tells: header, labels and attributes with their numbers, weights."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}  # name: number, as text
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}  # (from, to): weight
        self.state_features: dict[tuple[str, str], float] = {}  # (attribute, label): weight


class Tagger:
    """Labels of sequences under a model: a file of :class:`Trainer`, of ``loglinear tag train``, or of CRFsuite."""

    def __init__(self) -> None:
        self._model: TaggerPredictor | None = None
        self._current: AttributeSequences | None = None  # the sequence of ``set`` and ``tag``
        self._marginals: Any = None  # of it, computed when first asked for

    @classmethod
    def of(cls, model: TaggerPredictor) -> Tagger:
        """Return a tagger that is open already."""
        tagger = cls()
        tagger._model = model
        return tagger

    # ---- open and close --------------------------------------------------------------------------------------------
    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Read a model file; the result closes the tagger at the end of a ``with`` block."""
        with Path(name).open("rb") as file:  # OSError where there is none
            head = file.read(len(MAGIC))
        try:
            if head == MAGIC:
                found = parse_crfsuite_model(Path(name).read_bytes(), os.fspath(name))
                self._model = from_crfsuite_model(TaggerPredictor, found)
            else:
                self._model = load_predictor(name, "tagger")
        except LoglinearError as error:
            raise ValueError(f"Error opening model file {os.fspath(name)!r}: {error}") from error
        self._check_reads_attributes(name)
        self._current = self._marginals = None
        return contextlib.closing(self)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Take a model from the bytes of its file."""
        with tempfile.TemporaryDirectory() as folder:  # arrays are mapped, which outlives the name of the file
            path = Path(folder) / "model"
            path.write_bytes(value)
            return self.open(path)

    def close(self) -> None:
        """Forget the model."""
        self._model = self._current = self._marginals = None

    def _check_reads_attributes(self, name: Any) -> None:
        if self._model is not None and self._model.reader_.reads_columns:
            self.close()
            raise ValueError(f"{os.fspath(name)!r} reads columns under templates: load it with loglinear.load instead")

    @property
    def model(self) -> TaggerPredictor:
        """The model; ClosedError where there is none."""
        if self._model is None:
            raise ClosedError("the tagger is closed: open a model first")
        return self._model

    # ---- predict ---------------------------------------------------------------------------------------------------
    def labels(self) -> list[Any]:
        """Return the labels of the model."""
        return list(self.model.classes_)

    def set(self, xseq: Any) -> None:
        """Take a sequence for ``tag``, ``probability`` and ``marginal``."""
        self._current, self._marginals = encode(xseq), None

    def tag(self, xseq: Any = None) -> list[Any]:
        """Return the best labels of a sequence; None: of the current one."""
        if xseq is not None:
            self.set(xseq)
        return self.model.predict(self._sequence())[0]

    def probability(self, yseq: Any) -> float:
        """Return p(labels | current sequence)."""
        return float(np.exp(self.model.log_probability(self._sequence(), [list(yseq)])[0]))

    def marginal(self, y: Any, pos: int) -> float:
        """Return p(label at a position | current sequence)."""
        if self._marginals is None:
            self._marginals = self.model.marginal_array(self._sequence())
        try:
            return float(self._marginals[pos, self.model.classes_.index(y)])
        except ValueError:
            raise ValueError(f"label {y!r} is none of the model's") from None

    def _sequence(self) -> AttributeSequences:
        if self._current is None:
            raise ValueError("there is no sequence yet: give one to tag or set")
        return self._current

    # ---- look inside -----------------------------------------------------------------------------------------------
    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the text of ``crfsuite dump`` to a file, or print it."""
        found, size = to_crfsuite_model(self.model), self.size()
        if filename is None:
            sys.stdout.writelines(line + "\n" for line in dump_lines(found, size=size))
        else:
            write_crfsuite_dump(os.fspath(filename), found, size=size)

    def size(self) -> int:
        """Return the number of bytes of the model's file."""
        return len(to_bytes(to_archive(self.model)))

    def info(self) -> ParsedDump:
        """Return labels, attributes and weights by name."""
        found, parsed = to_crfsuite_model(self.model), ParsedDump()
        labels, attributes = found.labels, found.attributes
        n_features = found.states[0].size + found.transitions[0].size
        numbers = {"size": self.size(), "num_features": n_features, "num_labels": len(labels)}
        parsed.header = {key: str(value) for key, value in {**numbers, "num_attrs": len(attributes)}.items()}
        parsed.labels = {name: str(k) for k, name in enumerate(labels)}
        parsed.attributes = {name: str(k) for k, name in enumerate(attributes)}
        parsed.state_features = {(attributes[a], labels[y]): w for a, y, w in _rows(found.states)}
        parsed.transitions = {(labels[a], labels[b]): w for a, b, w in _rows(found.transitions)}
        return parsed


def _rows(part: Any) -> Any:
    return zip(*(column.tolist() for column in part))
