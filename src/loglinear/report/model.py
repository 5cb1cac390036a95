"""Description of a model file: settings, training, size, whether it is intact, its strongest features."""

from __future__ import annotations

import inspect
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from loglinear.display.bars import Bars
from loglinear.display.charts import Curve, Plot, convergence
from loglinear.display.page import Section
from loglinear.display.tables import Table
from loglinear.errors import ModelFileError
from loglinear.models import KINDS, archive, made
from loglinear.models.archive import not_finite
from loglinear.models.input_method.predictor import InputMethodPredictor
from loglinear.models.language_model.file import KIND as LANGUAGE_MODEL
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.models.reranker.predictor import RerankerPredictor
from loglinear.models.tagger.file import KIND as TAGGER
from loglinear.models.tagger.predictor import TaggerPredictor
from loglinear.optimise.stopping import describe
from loglinear.report import input_method, reranker
from loglinear.report.language_model import model_facts, model_sections
from loglinear.report.tagger import tagger_facts, tagger_sections
from loglinear.report.tuning import tuning_table

_TABLES = ("tuning", "nonzero_weights", "strengths", "discounts", "n_ngrams", "counts")  # have tables of their own
# Figures of training -> what they are called.
_RESULTS = {
    "validation_score": "score on held-out data", "status": "training", "objective": "objective",
    "n_iter": "passes over the data", "fit_seconds": "seconds", "solver": "solver",
}  # fmt: skip
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
        """Return the description as tables and charts: results first, then what differs from the defaults."""
        results = [(_RESULTS[name], self._result(name)) for name in _RESULTS if name in self.summary]
        results += [("weights", f"{self.n_nonzero:,} of {self.n_weights:,} are not zero")]
        sections = [Section("Results", tables=[Table(("", "value"), results)]), self._settings()]
        if self.top_features:
            sections.append(top_feature_section(self.top_features))
        sections += self.more
        if "tuning" in self.summary and self.kind != LANGUAGE_MODEL:
            sections.append(Section("Tuning", tables=[self._tuning()], plots=self._tuning_plot()))
        known = {*_TABLES, *_RESULTS, "history", "gap", "gap_is_bound", "converged"}
        training = {name: value for name, value in self.summary.items() if name not in known}
        rows = [(name.replace("_", " "), _text(value)) for name, value in training.items()]
        if rows or "history" in self.summary:
            tables = [Table(("", "value"), rows)] if rows else []
            sections.append(Section("Training", tables=tables, plots=self._convergence()))
        file = [
            ("kind", self.kind),
            ("written by", f"loglinear {self.version}"),
            ("file size", f"{self.file_bytes:,} bytes"),
            ("checksum", "ok" if self.intact else "DAMAGED"),
        ]
        return [*sections, Section("File", tables=[Table(("", "value"), file)])]

    def _result(self, name: str) -> str:
        """Return a figure of training as text."""
        value = self.summary[name]
        value = not_finite(value) if isinstance(value, str) else value
        if name == "status" and isinstance(gap := not_finite(self.summary.get("gap", "")), float):
            return f"{value}: {describe(gap, self.summary.get('gap_is_bound', False))}"
        if name == "fit_seconds":
            return f"{value:.2f}"
        return f"{value:,}" if type(value) is int else f"{value:.6g}" if isinstance(value, float) else str(value)

    def _settings(self) -> Section:
        """Return the settings that differ from their defaults."""
        parameters = self.settings.get("parameters", {})
        usual = _defaults(self.kind)
        changed = [(k, _text(v)) for k, v in sorted(parameters.items()) if k not in usual or usual[k] != v]
        n_usual = len(parameters) - len(changed)
        told = f"The other {n_usual} settings have their defaults; --json tells all."
        if not changed:
            return Section("Settings", [f"All {n_usual} settings have their defaults; --json tells all."])
        table = Table(("setting", "value"), changed)
        return Section("Settings that differ from their defaults", [told], tables=[table])

    def _convergence(self) -> list[Plot]:
        """Return how far training was above its optimum as time went by."""
        found = self.summary.get("history")
        if not found or len(found["objective"]) < 3:
            return []
        values = [float(not_finite(value)) for value in found["objective"]]
        gap = not_finite(self.summary.get("gap", 0.0))
        least = min(values) - (abs(min(values)) * gap if isinstance(gap, float) and math.isfinite(gap) else 0.0)
        runs = {str(self.summary.get("solver", "training")): (found["seconds"], values)}
        return [convergence("Convergence: how far the objective is above its optimum", runs, least)]

    def _tuning_plot(self) -> list[Plot]:
        """Return the score on held-out data by strength."""
        rows = self.summary["tuning"]
        name = next((n for n in ("dev_score", "dev_accuracy") if isinstance(rows[0], dict) and n in rows[0]), None)
        if name is None or len(rows) < 2:
            return []
        points = sorted((row["strength"], row[name]) for row in rows)
        curve = Curve("held-out data", [x for x, _ in points], [y for _, y in points])
        told = "score" if name == "dev_score" else "accuracy"
        return [Plot(f"{told.capitalize()} on held-out data by strength", [curve], "strength", told, log_x=True)]

    def _tuning(self) -> Table:
        rows = self.summary["tuning"]
        if isinstance(rows[0], dict):
            return tuning_table(rows)
        scores = ("score on dev",) if self.kind == TAGGER else ("loss on dev", "accuracy on dev")  # of version 0.1.0
        return Table(("strength", *scores), rows)


def _defaults(kind: str) -> dict[str, Any]:
    """Return the defaults of the parameters of a kind of model, as model files have them."""
    if kind not in KINDS:
        return {}
    signature = inspect.signature(KINDS[kind].load_class(trainable=True))
    return {name: archive.as_json(p.default) for name, p in signature.parameters.items() if p.default is not p.empty}


def top_feature_section(top: dict[Any, list[tuple[str, float]]]) -> Section:
    """Return bars of the strongest features of every class, and on terminals a table."""
    bars = [Bars(str(label), pairs, is_signed=True) for label, pairs in top.items() if pairs]
    return Section("Top features", bars=bars, plain=[top_feature_table(top)])


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
