"""Which solver trains an objective: the first rule of RULES that applies, unless the user names a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglinear import solvers
from loglinear.losses.candidate_lists import ListLoss
from loglinear.losses.chain import ChainLoss
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.composite import CompositeLoss
from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.losses.nearly_disjoint import NearlyDisjointLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.losses.ngram_parts import NgramPartLoss, NgramRootLoss
from loglinear.losses.partitioned import PartitionedLoss
from loglinear.losses.words_within_classes import WordsWithinClassesLoss
from loglinear.optimise.objective import Objective
from loglinear.optimise.representer import RepresenterObjective
from loglinear.protocols import Curvature, Orthant, Restrict, Smooth
from loglinear.solvers.fista_in_sweep import can_step_in_sweep
from loglinear.solvers.solver import Solver

AS_ASKED = "as asked"  # the reason where the user names the solver, and only there
MANY_WEIGHTS = 5000  # below, OWL-QN on all weights is as quick as on a working set
BEYOND_CACHES = 500_000  # n-grams from which on the vectors of L-BFGS take longer than its sweeps
LONG_VECTORS = 2_000_000  # weights of a tagger above which L-BFGS keeps its own default memory


@dataclass(frozen=True)
class Rule:
    """A solver with its options, why it is taken, and for which objectives."""

    solver: str
    reason: str
    applies: Callable[[Objective], bool]
    options: Mapping[str, Any] = field(default_factory=dict)


def _smooth(objective: Objective) -> bool:
    return isinstance(objective.penalty, Smooth)


def _orthant(objective: Objective) -> bool:
    return isinstance(objective.penalty, Orthant)


def _of(objective: Objective, *losses: type) -> bool:
    """Return whether the loss is one of these, or the sum of such in parts."""
    loss = objective.loss
    return isinstance(loss, losses) or (isinstance(loss, PartitionedLoss) and issubclass(loss.kind, losses))


def _sparse(objective: Objective) -> bool:
    """Return whether some weights have an l1 penalty."""
    return bool(np.any(np.asarray(getattr(objective.penalty, "l1", 0.0)) > 0.0))


def _large_in_sweep(objective: Objective) -> bool:
    """Return whether the loss can take the steps while it sweeps, and vectors are too long to be passed over apart."""
    return objective.n_weights >= BEYOND_CACHES and not _smooth(objective) and can_step_in_sweep(objective)


_CURVATURE = {"metric": "curvature"}
_NGRAM_LOSSES = (
    NgramMaxentLoss, NgramRootLoss, NgramPartLoss, CompositeLoss, NearlyDisjointLoss, WordsWithinClassesLoss,
)  # fmt: skip
_NGRAMS = "default for language models: n-gram counts differ by orders of magnitude, so steps are scaled by curvature"
RULES = (
    Rule(
        "lbfgs",
        "ridge with far fewer examples than features: L-BFGS in example coordinates",
        lambda o: isinstance(o, RepresenterObjective),
    ),
    Rule(
        "fista",
        "default for language models of collapsed trees or under tree penalties: proximal steps scaled by curvature",
        lambda o: _of(o, CollapsedNgramLoss) or (_of(o, *_NGRAM_LOSSES) and not _orthant(o)),
    ),
    Rule(
        "fista",
        "default for language models of many n-grams: the loss takes proximal steps, scaled by curvature, as it sweeps",
        lambda o: _of(o, NgramMaxentLoss) and _large_in_sweep(o),
    ),
    Rule("lbfgs", _NGRAMS, lambda o: _of(o, *_NGRAM_LOSSES) and _smooth(o), _CURVATURE),
    Rule("owlqn", _NGRAMS, lambda o: _of(o, *_NGRAM_LOSSES) and _orthant(o), _CURVATURE),
    Rule(
        "owlqn",
        "default for rerankers: base scores bend the loss far more than features, so steps are scaled by curvature",
        lambda o: _of(o, ListLoss) and _of(o, Curvature) and _orthant(o) and not _smooth(o),
        _CURVATURE,
    ),
    Rule(
        "lbfgs",
        "default for taggers: an evaluation is cheap beside the many Hessian products of a Newton step",
        lambda o: _of(o, ChainLoss, MEstimationLoss) and _smooth(o),
    ),
    Rule(
        "newton",
        "smooth penalty and the loss has second derivatives",
        lambda o: _smooth(o) and _of(o, Curvature),
    ),
    Rule("lbfgs", "smooth penalty", _smooth),
    Rule(
        "owlqn",
        "default for taggers: inference costs as much with few weights as with all",
        lambda o: _of(o, ChainLoss) and _orthant(o),
    ),
    Rule(
        "working_set",
        "l1 zeroes most of many weights",
        lambda o: _orthant(o) and _sparse(o) and _of(o, Restrict) and o.n_weights > MANY_WEIGHTS,
    ),
    Rule("owlqn", "non-smooth penalty that is smooth within orthants", _orthant),
    Rule("fista", "the penalty has only a proximal map", lambda o: True),
)


def choose_solver(
    objective: Objective,
    asked: str | Solver = "auto",
    options: Mapping[str, Any] | None = None,
    *,
    random_state: int | None = None,
) -> tuple[Solver, str]:
    """Return the solver that trains an objective, and the reason.

    asked : "auto", a name in ``loglinear.solvers.SOLVERS``, or a solver, which is returned as it is
    options : fields of the solver; they win over those of the rule
    random_state : seed of the stochastic solver, where the options have none
    """
    if not isinstance(asked, str):
        return asked, AS_ASKED
    rule = next(rule for rule in RULES if rule.applies(objective))
    by_rule = asked == "auto" or isinstance(objective, RepresenterObjective)  # example coordinates allow only L-BFGS
    name, reason = (rule.solver, rule.reason) if by_rule else (asked, AS_ASKED)
    chosen = {**(rule.options if by_rule else {}), **(options or {})}
    if name in ("lbfgs", "owlqn") and (memory := _memory(objective)) is not None:
        chosen.setdefault("memory", memory)
    if name == "stochastic" and random_state is not None:
        chosen.setdefault("random_state", random_state)
    return solvers.make(name, **chosen), reason


def _memory(objective: Objective) -> int | None:
    """Return how many pairs of vectors L-BFGS or OWL-QN keeps, or None for its own default."""
    if isinstance(objective, RepresenterObjective):
        return 10
    if _of(objective, ChainLoss, MEstimationLoss) and objective.n_weights < LONG_VECTORS:
        if not _smooth(objective):
            return 20  # l1 takes hundreds of passes: on entities 399 instead of 494
        return 7  # more would cost more in vectors than it saves in evaluations
    return None
