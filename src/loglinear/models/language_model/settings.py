"""What the words of LanguageModel mean, and which of them do not go together: each refusal says what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglinear.data.ngram_classes import SCHEMES
from loglinear.models.language_model.training import PENALTIES, NgramPenalty
from loglinear.models.language_model.tree_training import ALONE, DEFAULTS, TREES, TreePenalty
from loglinear.optimise.training import Settings

ESTIMATORS = ("maxent", "kneser-ney", "kneser-ney-single", "witten-bell", "add-k")
# Of orders 2, 3, 4, and 5 and above: good on newswire and on balanced English.
STRENGTH = (0.35, 0.6, 0.75, 0.8)
L1_RATIO = (0.55, 0.6, 0.65, 0.75)
COLLAPSING = "tree-linf"


def is_tree(model: Any) -> bool:
    """Whether the model's penalty is one of trees."""
    return model.estimator == "maxent" and _name(model) in TREES


def collapses(model: Any) -> bool:
    """Whether the model is trained on the collapsed tree."""
    if model.estimator != "maxent" or _name(model) in ("tree-l2", "none"):
        return False
    return _name(model) == COLLAPSING or model.order is None


def _name(model: Any) -> str:
    """tree_l2 is tree-l2, and elastic-net elastic_net."""
    name = str(model.penalty)
    return name.replace("_", "-") if name.startswith("tree") else name.replace("-", "_")


def check(model: Any) -> None:
    """Refuse what cannot be, before any text is read."""
    if model.estimator not in ESTIMATORS:
        raise ValueError(f"unknown estimator {model.estimator!r}; known: {', '.join(ESTIMATORS)}")
    if model.strength_classes not in SCHEMES:
        raise ValueError(f"strength_classes must be one of {', '.join(SCHEMES)}, not {model.strength_classes!r}")
    if isinstance(model.strength, str) and model.strength != "auto":
        raise ValueError(f"strength must be numbers, one or one per order, or 'auto', not {model.strength!r}")
    if model.estimator == "maxent":
        penalty_of(model)
        _check_tree(model)
        _check_collapsing(model)
    else:
        _check_counted(model)
    if model.order is None and not collapses(model):
        raise ValueError(
            "order=None, histories as long as the text has them, goes with estimator='maxent' and penalties whose "
            f"weights collapse, {COLLAPSING}, elastic_net, l1 and l2: give an order, or one of those"
        )


def _check_counted(model: Any) -> None:
    if model.base is not None or model.strength == "auto":
        raise ValueError(f"base and strength='auto' are of estimator='maxent', not of {model.estimator!r}")
    if model.penalty in TREES or model.depth_growth is not None or model.l2 is not None:
        raise ValueError(
            f"tree penalties, depth_growth and l2 are of estimator='maxent', not of {model.estimator!r}: leave them "
            "out, or the estimator"
        )


def _check_tree(model: Any) -> None:
    name = _name(model)
    if name not in TREES:
        if model.l2 is not None:
            raise ValueError(f"l2 is the ridge beside a tree penalty; of {name} use penalty='elastic_net' and l1_ratio")
        return
    if model.base is not None:
        raise ValueError(
            f"base with penalty={name!r}: the n-grams of a base model are no groups of the text's; adapt with "
            "penalty='elastic_net'"
        )
    if model.strength_classes != "order":
        raise ValueError(f"strength_classes={model.strength_classes!r} with penalty={name!r}, which has one strength")


def _check_collapsing(model: Any) -> None:
    """What the tree of the whole text has no place for."""
    if not collapses(model):
        return
    which = f"penalty={COLLAPSING!r}" if _name(model) == COLLAPSING else "order=None"
    if max(np.atleast_1d(np.asarray(model.min_count)).tolist()) > 1:
        raise ValueError(
            f"min_count with {which}: its collapsed tree holds the n-grams of the whole text; leave min_count "
            "at 1 (the penalty leaves out what is not worth its price), or use penalty='tree-l2' and an order"
        )
    if model.memory is not None:
        raise ValueError(
            f"memory with {which}: its collapsed tree is built in memory; leave it out, or use "
            "penalty='tree-l2' and an order, whose n-grams can be counted on disk"
        )
    if _name(model) != COLLAPSING and (model.strength == "auto" or model.base is not None):
        raise ValueError(
            f"strength='auto' and base with order=None and penalty={_name(model)!r}: give an order, or "
            f"penalty={COLLAPSING!r}, which is tuned at any"
        )


def penalty_of(model: Any) -> NgramPenalty | TreePenalty:
    """The penalty that the settings name, with defaults where they are None; "auto" begins at the defaults."""
    name, given = _name(model), None if model.strength == "auto" else model.strength
    if name not in (*PENALTIES, *TREES):
        raise ValueError(f"unknown penalty {model.penalty!r}; known: {', '.join((*PENALTIES, *TREES))}")
    if name in TREES:
        usual = (ALONE if model.l2 == 0 else DEFAULTS)[name]
        return TreePenalty(
            name,
            usual.strength if given is None else _one_number(name, given),
            usual.depth_growth if model.depth_growth is None else model.depth_growth,
            usual.l2 if model.l2 is None else model.l2,
            model.unigram_strength,
            model.nonnegative,
        )
    strength: Any = STRENGTH if given is None else given
    return NgramPenalty(
        name,
        tuple(np.atleast_1d(np.asarray(strength, dtype=np.float64)).tolist()),
        tuple(np.atleast_1d(np.asarray(model.l1_ratio, dtype=np.float64)).tolist()),
        model.unigram_strength,
        model.nonnegative,
        1.0 if model.depth_growth is None else model.depth_growth,
    )


def _one_number(name: str, strength: Any) -> float:
    values = np.asarray(strength, dtype=np.float64).ravel()
    if values.size != 1:
        raise ValueError(
            f"{values.size} strengths for penalty={name!r}, which has one; depth_growth says how it changes with the "
            "order"
        )
    return float(values[0])


def tuned_names(model: Any) -> tuple[str, ...]:
    """What strength="auto" chooses under a tree penalty: the strength, and what was not given."""
    return ("strength", *(name for name in ("depth_growth", "l2") if getattr(model, name) is None))


def settings_of(model: Any) -> Settings:
    """The words that every model shares."""
    return Settings(
        penalty=model.penalty,
        solver=model.solver,
        solver_options=dict(model.solver_options or {}),
        tolerance=model.tolerance,
        decrease_tolerance=model.decrease_tolerance,
        max_iterations=model.max_iterations,
        n_threads=model.n_threads,
        random_state=model.random_state,
        verbose=model.verbose,
    )
