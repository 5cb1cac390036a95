"""What each kind of model can be asked. A new kind is one new file and one line in KINDS."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loglinear.serve.requests import Fields


@dataclass(frozen=True)
class Operation:
    """One question: what it asks, the fields of the request, and the function that answers from the model."""

    about: str
    fields: Fields
    answer: Callable[[Served, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Ability:
    """The questions of a kind of model by name, and what the page must know of a model to ask them."""

    operations: Mapping[str, Operation]
    describe: Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class Served:
    """A model under its name, among all that are served; ``example`` is text that the page begins with."""

    name: str
    model: Any
    all: Mapping[str, Any]
    example: str = ""

    @property
    def ability(self) -> Ability:
        """What its kind can be asked."""
        return ability_of(self.model.kind)


# The kind of a model, as files name it -> the module in this folder that defines ABILITY.
KINDS = {
    "maxent-classifier": "classifier",
    "tagger": "tagger",
    "parser": "parser",
    "language-model": "language_model",
    "input-method": "input_method",
    "reranker": "reranker",
}


def ability_of(kind: str) -> Ability:
    """Import what a kind of model can be asked."""
    ability: Ability = importlib.import_module(f"{__package__}.{KINDS[kind]}").ABILITY
    return ability
