"""Description of a model file: settings, training, size, whether it is intact, its strongest features."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.errors import ModelFileError
from loglinear.models import KINDS, archive, made
from loglinear.models.input_method.predictor import InputMethodPredictor
from loglinear.models.language_model.file import KIND as LANGUAGE_MODEL
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.models.reranker.predictor import RerankerPredictor
from loglinear.models.tagger.file import KIND as TAGGER
from loglinear.models.tagger.predictor import TaggerPredictor
from loglinear.report import input_method, reranker
from loglinear.report.language_model import model_facts, model_sections
from loglinear.report.tagger import tagger_facts, tagger_sections
from loglinear.report.tuning import tuning_table

_TABLES = ("tuning", "nonzero_weights", "strengths", "discounts", "n_ngrams", "counts")  # have tables of their own
_LONGEST = 300  # characters of a setting; templates may be pages


@runtime_checkable
class HasTopFeatures(Protocol):
    """A model that can name its strongest features per class."""

    def top_features(self, k: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return for every class the k features with the largest weights."""
        ...


@dataclass(frozen=True)
class ModelDescription:
    """``intact`` is False where the checksum does not match; ``damage`` then says what else is wrong."""

    path: str
    kind: str
    version: str
    settings: dict[str, Any]
    summary: dict[str, Any]
    n_weights: int
    n_nonzero: int
    file_bytes: int
    intact: bool
    damage: str
    top_features: dict[str, list[tuple[str, float]]]
    facts: dict[str, Any] = field(default_factory=dict)  # specific to the kind of model, for JSON
    more: list[Section] = field(default_factory=list)  # the same as tables

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "path": self.path,
            "kind": self.kind,
            "version": self.version,
            "checksum": "ok" if self.intact else "DAMAGED",
            "file_bytes": self.file_bytes,
            "weights": self.n_weights,
            "nonzero_weights": self.n_nonzero,
            "settings": self.settings,
            "training": self.summary,
            "top_features": self.top_features,
            **self.facts,
        }

    def sections(self) -> list[Section]:
        """Return the description as tables."""
        file = [
            ("kind", self.kind),
            ("written by", f"loglinear {self.version}"),
            ("file size", f"{self.file_bytes:,} bytes"),
            ("checksum", "ok" if self.intact else "DAMAGED"),
            ("weights", f"{self.n_weights:,}"),
            ("non-zero weights", f"{self.n_nonzero:,}"),
        ]
        settings = {**self.settings, **self.settings.get("parameters", {})}
        settings.pop("parameters", None)
        training = {name: value for name, value in self.summary.items() if name not in _TABLES}
        sections = [
            Section("File", tables=[Table(("", "value"), file)]),
            Section(
                "Settings", tables=[Table(("setting", "value"), [(k, _text(v)) for k, v in sorted(settings.items())])]
            ),
            Section(
                "Training",
                tables=[Table(("", "value"), [(k.replace("_", " "), _text(v)) for k, v in training.items()])],
            ),
        ]
        if "tuning" in self.summary and self.kind != LANGUAGE_MODEL:
            sections.append(Section("Tuning", tables=[self._tuning()]))
        if self.top_features:
            sections.append(Section("Top features", tables=[top_feature_table(self.top_features)]))
        return [*sections, *self.more]

    def _tuning(self) -> Table:
        rows = self.summary["tuning"]
        if isinstance(rows[0], dict):
            return tuning_table(rows)
        scores = ("score on dev",) if self.kind == TAGGER else ("loss on dev", "accuracy on dev")  # of version 0.1.0
        return Table(("strength", *scores), rows)


def top_feature_table(top: dict[Any, list[tuple[str, float]]]) -> Table:
    """Make a table with one row per class: its strongest features with their weights."""
    rows = [(str(label), ",  ".join(f"{name} {weight:+.2f}" for name, weight in pairs)) for label, pairs in top.items()]
    return Table(("class", "features with the largest weights"), rows)


def _text(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def describe_model(path: str | os.PathLike[str], top: int = 10) -> ModelDescription:
    """Read a model file and verify its checksum. A file too damaged to be described raises ModelFileError."""
    found = archive.load(path)
    damage, features = "", {}
    facts: dict[str, Any] = {}
    more: list[Section] = []
    try:
        archive.load(path, verify=True)
    except ModelFileError as error:
        damage = str(error)
    if not damage and found.kind in KINDS:
        model = made(KINDS[found.kind].load_class(trainable=False), found, path)
        if isinstance(model, TaggerPredictor):
            facts, more = tagger_facts(model, top), tagger_sections(model, top)
        elif isinstance(model, LanguageModelPredictor):
            facts, more = model_facts(model), model_sections(model, top, found.summary.get("tuning"))
        elif isinstance(model, InputMethodPredictor):
            facts, more = input_method.model_facts(model), input_method.model_sections(model, top)
        elif isinstance(model, RerankerPredictor):
            facts, more = reranker.model_facts(model), reranker.model_sections(model, top)
        elif top > 0 and isinstance(model, HasTopFeatures):
            features = {str(label): pairs for label, pairs in model.top_features(top).items()}
    weights = found.arrays.get("weights", np.empty(0))
    n_ngrams = sum(facts.get("ngrams", []))  # each has one weight, which is not zero
    return ModelDescription(
        path=os.fspath(path), kind=found.kind, version=found.version, settings=found.settings, summary=found.summary,
        n_weights=int(weights.size) + n_ngrams, n_nonzero=int(np.count_nonzero(weights)) + n_ngrams,
        file_bytes=Path(path).stat().st_size, intact=not damage, damage=damage, top_features=features, facts=facts,
        more=more,
    )
