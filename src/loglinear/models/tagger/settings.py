"""The settings of a tagger, with their types and defaults. :class:`Tagger` says what each of them means."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from typing import Any

from loglinear.features.schemes import SCHEMES
from loglinear.features.template_syntax import DIALECTS
from loglinear.models.tagger.input_only import check_input_only

ESTIMATORS = ("crf", "memm", "pseudolikelihood", "m-estimation", "hmm")
BASES = ("hmm", "locally-uniform", "empirical")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "estimator": ESTIMATORS,
    "base": BASES,
    "features": ("observed", "all"),
    "transitions": ("observed", "all"),
    "em_labels": ("sample", "best"),
    "initialise": (None, "m-estimation"),
    "order": (1, 2),
    "dialect": ("auto", *DIALECTS),
    "scheme": (None, *SCHEMES),
}


@dataclass(eq=False, repr=False)
class TaggerSettings:
    """The settings of a tagger before it is trained, which its predictor and its estimator share."""

    estimator: str = "crf"
    templates: str | os.PathLike[str] | None = None
    _: KW_ONLY
    dialect: str = "auto"
    classes: Mapping[str, str] | str | os.PathLike[str] | None = None
    lexicon: Mapping[str, Any] | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None
    order: int = 1
    features: str = "observed"
    transitions: str = "observed"
    min_count: int = 1
    min_feature_count: float = 0.0
    max_features: int | None = None
    hash_bits: int | None = None
    oov: bool = False
    base: str = "hmm"
    smoothing: float = 1.0
    expectation: str = "exact"
    n_samples: int = 10_000
    input_only: int | str | os.PathLike[str] | None = None
    em: int = 0
    em_labels: str = "sample"
    initialise: str | None = None
    scheme: str | None = None
    constraint: Any = None
    penalty: str | None = "l2"
    strength: float = 1.0
    l1_ratio: float = 0.5
    solver: str = "auto"
    solver_options: dict[str, Any] | None = None
    tolerance: float = 1e-4
    max_iterations: int = 1000
    tune: Any = None
    machine: str = "auto"
    n_threads: int | None = None
    random_state: int | None = None
    warm_start: bool = False
    verbose: str | int = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    log: str | os.PathLike[str] | None = None

    @property
    def has_base(self) -> bool:
        """Whether decoding multiplies with a base distribution q0, which is counted and not trained."""
        return self.estimator in ("hmm", "m-estimation")

    @property
    def needs_base(self) -> bool:
        """Whether training counts a base distribution: to decode with, to start from, or to rank features under."""
        return self.has_base or self.initialise is not None or self.max_features is not None

    def parameters(self) -> dict[str, Any]:
        """Return the settings by name, as a model file keeps them."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "log"}

    def check_settings(self) -> None:
        """Raise ValueError for a setting that has no meaning."""
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {getattr(self, name)!r}")
        if self.needs_base and self.dialect not in ("auto", "loglinear"):
            raise ValueError(
                f"dialect {self.dialect!r} has marks that are values, which a base distribution cannot have: "
                "use dialect='loglinear', or leave it out"
            )
        if self.needs_base and self.lexicon is not None:
            raise ValueError("a lexicon looks at sequences, which a base distribution cannot see: leave it out")
        least = self.min_feature_count
        if isinstance(least, bool) or not isinstance(least, Real) or not 0 <= least < math.inf:
            raise ValueError(f"min_feature_count must be a number of at least 0, not {least!r}")
        k = self.max_features
        if k is not None and (type(k) is not int or k < 1):
            raise ValueError(f"max_features must be a whole number of at least 1, not {k!r}")
        if k is not None and self.estimator == "hmm":
            raise ValueError("max_features chooses features, and an HMM has none: leave it out")
        if k is not None and self.templates is None:
            raise ValueError("max_features ranks features under an HMM of columns: name templates, or leave it out")
        if type(self.em) is not int or self.em < 0:
            raise ValueError(f"em must be a number of rounds, 0 or more, not {self.em!r}")
        if self.em and not self.has_base:
            raise ValueError(
                f"em is for joint models, 'hmm' and 'm-estimation', not for {self.estimator!r}; a CRF learns from "
                "unknown labels without it"
            )
        if self.em and self.checkpoint is not None:
            raise ValueError("em trains model after model, which a checkpoint cannot resume: leave one of them out")
        check_input_only(self.input_only, self.estimator)
        if isinstance(self.constraint, Iterator):
            raise ValueError("constraint must be a list of label pairs, not an iterator: it is read more than once")
        if isinstance(self.tune, str) and self.tune not in ("validation", "dev"):  # "dev" is its older name
            raise ValueError(f"tune must be None, 'validation' or a list of strengths, not {self.tune!r}")
        if isinstance(self.strength, bool) or not isinstance(self.strength, Real) or not self.strength >= 0:
            raise ValueError(f"strength must be a number of at least 0, not {self.strength!r}")
