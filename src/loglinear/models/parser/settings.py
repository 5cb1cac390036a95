"""The settings of a parser, with their types and defaults. :class:`Parser` says what each of them means."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from typing import Any

from loglinear.data.memory import parse_memory
from loglinear.grammar.binarisation import Binarisation
from loglinear.grammar.features import FEATURES

ESTIMATORS = ("crf", "m-estimation", "pcfg")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "estimator": ESTIMATORS,
    "features": FEATURES,
    "expectation": ("exact", "sample"),
}
PRUNING = 1e-3  # what pruning="auto" means for a random field


@dataclass(eq=False, repr=False)
class ParserSettings:
    """The settings of a parser before it is trained, which its predictor and its estimator share."""

    estimator: str = "crf"
    _: KW_ONLY
    features: str = "extended"
    direction: str = "right"
    horizontal: int | None = 1
    vertical: int = 1
    annotate_tags: bool = False
    annotate_heads: bool = False
    min_word_count: int = 2
    min_count: int = 1
    smoothing: float = 0.0
    word_smoothing: float = 1.0
    expectation: str = "exact"
    n_samples: int = 10_000
    pruning: float | str | None = "auto"
    penalty: str | None = "l2"
    strength: float = 1.0
    l1_ratio: float = 0.5
    solver: str = "auto"
    solver_options: dict[str, Any] | None = None
    tolerance: float = 1e-3
    max_iterations: int = 200
    tune: Any = None
    max_memory: int | str = "4G"
    n_threads: int | None = None
    random_state: int | None = None
    verbose: str | int = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    log: str | os.PathLike[str] | None = None

    @property
    def has_base(self) -> bool:
        """Whether scores are multiplied with the probabilities of a grammar, which is counted and not trained."""
        return self.estimator != "crf"

    @property
    def threshold(self) -> float | None:
        """The probability below which a coarse grammar's constituents are pruned; None: none are."""
        if self.pruning == "auto":
            return PRUNING if self.estimator == "crf" else None
        return None if self.pruning is None else float(self.pruning)

    @property
    def binarisation(self) -> Binarisation:
        """How trees become trees of symbols."""
        return Binarisation(self.direction, self.horizontal, self.vertical, self.annotate_tags, self.annotate_heads)

    def parameters(self) -> dict[str, Any]:
        """Return the settings by name, as a model file keeps them."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "log"}

    def check_settings(self) -> None:
        """Raise ValueError for a setting that has no meaning."""
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {getattr(self, name)!r}")
        if isinstance(self.tune, str) and self.tune != "validation":
            raise ValueError(f"tune must be None, 'validation' or a list of strengths, not {self.tune!r}")
        if isinstance(self.strength, bool) or not isinstance(self.strength, Real) or not self.strength >= 0:
            raise ValueError(f"strength must be a number of at least 0, not {self.strength!r}")
        for name in ("min_count", "min_word_count", "n_samples"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        pruning: Any = self.pruning
        if pruning not in (None, "auto") and not (isinstance(pruning, Real) and 0 < pruning < 1):
            raise ValueError(f"pruning must be None, 'auto' or a probability, not {pruning!r}")
        _ = self.binarisation
        parse_memory(self.max_memory)
