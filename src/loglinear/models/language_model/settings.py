"""The training settings of LanguageModel: their defaults, and which of them go together.

Every error says which settings conflict and what to use instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from loglinear.data.ngram_classes import SCHEMES
from loglinear.models.language_model.penalty import (
    DEFAULTS,
    GROUP_NORMS,
    PENALTIES,
    TREES,
    WITHOUT_RIDGE,
    NgramPenalty,
    TreePenalty,
)
from loglinear.optimise import training

ESTIMATORS = ("maxent", "kneser-ney", "kneser-ney-single", "witten-bell", "add-k")
# Of orders 2, 3, 4, and 5 and above: good on newswire and on balanced English.
STRENGTH = (0.35, 0.6, 0.75, 0.8)
L1_RATIO = (0.55, 0.6, 0.65, 0.75)
COLLAPSING = "tree-linf"  # the penalty that is always trained on the collapsed tree


@dataclass(frozen=True)
class Settings:
    """The parameters of a LanguageModel that decide how it is trained; LanguageModel documents each."""

    order: int | None
    estimator: str
    penalty: str | None
    strength: float | Sequence[float] | str | None
    tune: str | None
    depth_growth: float | None
    feature_decay: float
    group_norm: str
    l2: float | None
    strength_classes: str
    l1_ratio: float | Sequence[float]
    unigram_strength: float
    nonnegative: bool
    min_count: int | Sequence[int]
    prune_entropy: float | None
    base: Any
    sources: Any
    classes: Any
    memory: int | str | None
    checkpoint: str | os.PathLike[str] | None
    solver: str
    solver_options: dict[str, Any] | None
    tolerance: float
    max_iterations: int
    n_threads: int | None
    random_state: int | None
    verbose: str | int

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """Take the settings from all parameters of an estimator (``get_params``)."""
        return cls(**{field.name: parameters[field.name] for field in fields(cls)})

    # ---- what they mean ---------------------------------------------------------------------------------------------
    @property
    def penalty_name(self) -> str:
        """Return the penalty's name as spelt in PENALTIES and TREES: tree_l2 is tree-l2, elastic-net is elastic_net."""
        name = "none" if self.penalty is None else str(self.penalty)
        return name.replace("_", "-") if name.startswith("tree") else name.replace("-", "_")

    @property
    def is_tree(self) -> bool:
        """Whether the penalty is a tree norm."""
        return self.estimator == "maxent" and self.penalty_name in TREES

    @property
    def collapses(self) -> bool:
        """Whether the model is trained on the collapsed tree."""
        if self.estimator != "maxent" or self.sources is not None or self.penalty_name in ("tree-l2", "none"):
            return False
        return self.feature_decay == 1 if self.penalty_name == COLLAPSING else self.order is None

    @property
    def min_counts(self) -> list[int]:
        """Return the least counts of n-grams, as a list."""
        return np.atleast_1d(np.asarray(self.min_count)).tolist()

    @property
    def is_tuned(self) -> bool:
        """Whether the strengths are chosen on held-out text; strength="auto" is the older name of tune="validation"."""
        return self.tune is not None or (isinstance(self.strength, str) and self.strength == "auto")

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """What tuning chooses under a tree penalty: the strength, and what was not given."""
        return ("strength", *(name for name in ("depth_growth", "l2") if getattr(self, name) is None))

    def make_penalty(self) -> NgramPenalty | TreePenalty:
        """Return the penalty, with defaults for None; tuning begins at the defaults."""
        name, given = self.penalty_name, None if self.is_tuned else self.strength
        if name not in (*PENALTIES, *TREES):
            raise ValueError(f"unknown penalty {self.penalty!r}; known: {', '.join((*PENALTIES, *TREES))}")
        if name in TREES:
            usual = (WITHOUT_RIDGE if self.l2 == 0 else DEFAULTS)[name]
            growth = usual.depth_growth if self.feature_decay == 1 else 1.0
            return TreePenalty(
                name, usual.strength if given is None else _one_number(name, given),
                growth if self.depth_growth is None else self.depth_growth,
                usual.l2 if self.l2 is None else self.l2, self.unigram_strength, self.nonnegative, self.group_norm,
                self.feature_decay,
            )
        return NgramPenalty(
            name, _numbers(STRENGTH if given is None else given), _numbers(self.l1_ratio), self.unigram_strength,
            self.nonnegative, 1.0 if self.depth_growth is None else self.depth_growth, self.feature_decay,
        )

    def for_solver(self) -> training.Settings:
        """Return the settings of the minimiser."""
        return training.Settings(
            penalty=self.penalty, solver=self.solver, solver_options=dict(self.solver_options or {}),
            tolerance=self.tolerance, max_iterations=self.max_iterations,
            n_threads=self.n_threads, random_state=self.random_state, verbose=self.verbose,
        )

    # ---- which of them go together ----------------------------------------------------------------------------------
    def check(self) -> None:
        """Raise ValueError for unknown or conflicting settings, before any text is read."""
        if self.estimator not in ESTIMATORS:
            raise ValueError(f"unknown estimator {self.estimator!r}; known: {', '.join(ESTIMATORS)}")
        if self.strength_classes not in SCHEMES:
            raise ValueError(f"strength_classes must be one of {', '.join(SCHEMES)}, not {self.strength_classes!r}")
        if isinstance(self.strength, str) and self.strength != "auto":
            raise ValueError(f"strength must be numbers, one or one per order, not {self.strength!r}")
        if self.tune not in (None, "validation"):
            raise ValueError(f"tune must be None or 'validation', not {self.tune!r}")
        if self.tune is not None and self.strength is not None and not isinstance(self.strength, str):
            raise ValueError("the strength is either given or chosen on held-out text (tune), not both: leave one out")
        self._check_checkpoint()
        if self.estimator == "maxent":
            self.make_penalty()
            self._check_tree()
            self._check_collapsing()
        else:
            self._check_counted()
        if self.sources is not None:
            return  # the order is that of the sources
        if self.order is None and self.is_tree and self.feature_decay != 1:
            raise ValueError(
                "order=None cannot be combined with feature_decay, under which n-grams that occur only together have "
                "different weights: give an order, or depth_growth instead"
            )
        if self.order is None and not self.collapses:
            raise ValueError(
                "order=None, histories as long as the text has them, needs estimator='maxent' and a penalty whose "
                f"weights collapse, {COLLAPSING}, elastic_net, l1 or l2: give an order, or one of those"
            )

    def check_stream(self) -> None:
        """Raise ValueError for settings that ``partial_fit`` cannot use."""
        self.check()
        if self.estimator != "maxent":
            raise ValueError(f"partial_fit trains estimator='maxent', not {self.estimator!r}: use fit")
        if self.base is not None or self.is_tuned or self.prune_entropy is not None:
            raise ValueError("base, tune and prune_entropy are settings of fit: partial_fit sees no text twice")
        if self.checkpoint is not None:
            raise ValueError("checkpoint is a setting of fit: partial_fit goes through a text once")
        if self.group_norm != "counts" or self.feature_decay != 1:
            raise ValueError("group_norm and feature_decay are settings of fit, which partial_fit does not have")
        if max(self.min_counts) > 1:
            raise ValueError(
                "min_count is a setting of fit: in a stream every n-gram is rare at first, and the penalty leaves "
                "out those that stay rare"
            )

    def _check_checkpoint(self) -> None:
        """Raise ValueError for a checkpoint of what is not one training of weights that are in memory."""
        if self.checkpoint is None:
            return
        if self.estimator != "maxent":
            raise ValueError(
                f"checkpoint is a setting of estimator='maxent'; {self.estimator!r} is counted: leave one of them out"
            )
        names = ("memory", "tune", "sources", "classes")
        given = next((name for name in names if getattr(self, name) is not None), "tune" if self.is_tuned else None)
        if given is not None:
            why = {
                "memory": "keeps its weights in temporary files", "tune": "trains model after model",
                "sources": "is trained in stages", "classes": "trains several models",
            }[given]
            raise ValueError(f"checkpoint cannot be combined with {given}, which {why}: leave one of them out")

    def _check_counted(self) -> None:
        if self.base is not None or self.is_tuned:
            raise ValueError(f"base and tune are settings of estimator='maxent', not of {self.estimator!r}")
        if self.memory is not None and self.prune_entropy is not None:
            raise ValueError(
                "memory cannot be combined with prune_entropy, which needs the whole model in memory: leave out "
                "n-grams by their counts (prune), or leave memory out"
            )
        unusual = self.group_norm != "counts" or self.feature_decay != 1
        if self.penalty_name in TREES or self.depth_growth is not None or self.l2 is not None or unusual:
            raise ValueError(
                "tree penalties, depth_growth, feature_decay, group_norm and l2 are settings of estimator='maxent', "
                f"not of {self.estimator!r}: leave them out, or the estimator"
            )

    def _check_tree(self) -> None:
        name = self.penalty_name
        if self.group_norm not in GROUP_NORMS:
            raise ValueError(f"group_norm must be one of {', '.join(GROUP_NORMS)}, not {self.group_norm!r}")
        if self.group_norm != "counts" and name != "tree-l2":
            raise ValueError(
                f"group_norm={self.group_norm!r} is a setting of penalty='tree-l2'; the norm of {name} has no counts"
            )
        if name not in TREES:
            if self.l2 is not None:
                raise ValueError(
                    f"l2 is the ridge beside a tree penalty; instead of {name} use penalty='elastic_net' and l1_ratio"
                )
            return
        if self.base is not None:
            raise ValueError(
                f"base cannot be combined with penalty={name!r}, whose groups are n-grams of the text alone; adapt "
                "with penalty='elastic_net'"
            )
        if self.strength_classes != "order":
            raise ValueError(
                f"strength_classes={self.strength_classes!r} cannot be combined with penalty={name!r}, which has one "
                "strength"
            )

    def _check_collapsing(self) -> None:
        """Raise ValueError for settings that need the trie of all n-grams."""
        if not self.collapses:
            return
        name = self.penalty_name
        which = f"penalty={COLLAPSING!r}" if name == COLLAPSING else "order=None"
        if max(self.min_counts) > 1:
            raise ValueError(
                f"min_count cannot be combined with {which}, whose collapsed tree holds the n-grams of the whole text; "
                "leave min_count at 1 (the penalty leaves out n-grams that do not help), or use penalty='tree-l2' and "
                "an order"
            )
        if self.memory is not None:
            raise ValueError(
                f"memory cannot be combined with {which}, whose collapsed tree is built in memory; leave it out, or "
                "use penalty='tree-l2' and an order, whose n-grams can be counted on disk"
            )
        if name != COLLAPSING and (self.is_tuned or self.base is not None):
            raise ValueError(
                f"tune and base cannot be combined with order=None and penalty={name!r}: give an order, or "
                f"penalty={COLLAPSING!r}, which can be tuned at any order"
            )


def _numbers(given: Any) -> tuple[float, ...]:
    return tuple(np.atleast_1d(np.asarray(given, dtype=np.float64)).tolist())


def _one_number(name: str, strength: Any) -> float:
    values = _numbers(strength)
    if len(values) != 1:
        raise ValueError(
            f"{len(values)} strengths for penalty={name!r}, which has one; depth_growth says how it changes with the "
            "order"
        )
    return values[0]
