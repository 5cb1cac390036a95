"""Which solver trains which objective: every rule, and what wins over the rules."""

import pytest

from loglinear.losses.candidate_lists import ExpectedErrorLoss, ListLogLoss
from loglinear.losses.chain import ChainLoss
from loglinear.losses.collapsed_ngram import CollapsedNgramLoss
from loglinear.losses.m_estimation import MEstimationLoss
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.optimise.objective import Objective
from loglinear.optimise.representer import RepresenterObjective
from loglinear.optimise.solver_choice import AS_ASKED, RULES, choose_solver
from loglinear.penalties import L1, L2, Blocks
from loglinear.solvers import Fista, Lbfgs, Newton, Owlqn, StochasticProximal, WorkingSet


def objective_of(loss_type, penalty, n_weights=10, kind=Objective):
    """An objective that is only looked at, never evaluated."""
    loss = loss_type.__new__(loss_type)
    loss.n_weights = n_weights
    objective = kind.__new__(kind)
    for name, value in (("loss", loss), ("penalty", penalty), ("_size", n_weights)):
        object.__setattr__(objective, name, value)
    return objective


class Plain:
    """A loss without powers."""


BLOCKS = Blocks([(10, L2(1.0))])


@pytest.mark.parametrize(
    ("loss", "penalty", "n_weights", "expected", "why"),
    [
        (MultinomialLoss, L2(1.0), 10, Newton(), "smooth penalty and the loss has second derivatives"),
        (MultinomialLoss, L1(1.0), 10, Owlqn(), "smooth within orthants"),
        (MultinomialLoss, L1(1.0), 10_000, WorkingSet(), "l1 zeroes most of many weights"),
        (MultinomialLoss, BLOCKS, 10, Fista(), "only a proximal map"),
        (Plain, L2(1.0), 10, Lbfgs(), "smooth penalty"),
        (Plain, L1(1.0), 10_000, Owlqn(), "smooth within orthants"),
        (ChainLoss, L2(1.0), 10, Lbfgs(memory=7), "default for taggers"),
        (ChainLoss, L2(1.0), 3_000_000, Lbfgs(), "default for taggers"),
        (ChainLoss, L1(1.0), 10_000, Owlqn(memory=20), "default for taggers"),
        (MEstimationLoss, L2(1.0), 10, Lbfgs(memory=7), "default for taggers"),
        (NgramMaxentLoss, L2(1.0), 10, Lbfgs(metric="curvature"), "default for language models"),
        (NgramMaxentLoss, L1(1.0), 10_000, Owlqn(metric="curvature"), "default for language models"),
        (NgramMaxentLoss, L1(1.0), 1_000_000, Fista(), "as it sweeps"),
        (NgramMaxentLoss, L2(1.0), 1_000_000, Lbfgs(metric="curvature"), "default for language models"),
        (NgramMaxentLoss, BLOCKS, 10, Fista(), "default for language models"),
        (CollapsedNgramLoss, L2(1.0), 10, Fista(), "default for language models"),
        (ListLogLoss, L2(1.0), 10, Newton(), "smooth penalty and the loss has second derivatives"),
        (ListLogLoss, L1(1.0), 10_000, Owlqn(metric="curvature"), "default for rerankers"),
        (ExpectedErrorLoss, L1(1.0), 10_000, WorkingSet(), "l1 zeroes most of many weights"),
    ],
)
def test_the_first_rule_that_applies_decides_and_says_why(loss, penalty, n_weights, expected, why):
    solver, reason = choose_solver(objective_of(loss, penalty, n_weights))
    assert solver == expected
    assert why in reason


def test_only_a_solver_that_was_named_is_as_asked():
    assert AS_ASKED not in {rule.reason for rule in RULES}


def test_a_named_solver_wins_and_options_win_over_the_rule():
    ngrams = objective_of(NgramMaxentLoss, L2(1.0))
    assert choose_solver(ngrams, "lbfgs") == (Lbfgs(), "as asked")
    assert choose_solver(ngrams, "auto", {"metric": "none"})[0] == Lbfgs(metric="none")
    assert choose_solver(ngrams, Newton(forcing=0.5)) == (Newton(forcing=0.5), "as asked")
    assert choose_solver(objective_of(ChainLoss, L2(1.0)), "lbfgs")[0] == Lbfgs(memory=7)
    assert choose_solver(ngrams, "stochastic", random_state=3)[0] == StochasticProximal(random_state=3)


def test_example_coordinates_are_left_to_lbfgs():
    by_examples = objective_of(MultinomialLoss, L2(1.0), 10, RepresenterObjective)
    solver, reason = choose_solver(by_examples, "lbfgs")
    assert solver == Lbfgs(memory=10)
    assert "example coordinates" in reason
