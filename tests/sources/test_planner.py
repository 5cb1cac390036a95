import numpy as np
import pytest

from loglinear.sources.normalisers import make_normaliser
from loglinear.sources.planner import make_plan, measured
from tests.composite_problems import random_problem


def test_predicted_terms_are_near_those_counted():
    problem, _ = random_problem(2, n_sources=3, n_words=80, n_events=4000)
    plan = measured(problem, make_plan(problem, partition=2))
    for e in plan.estimates:
        assert e.measured_terms is not None
        assert e.measured_seconds is not None
        assert e.terms == pytest.approx(e.measured_terms, rel=0.25), e.method


def test_the_choice_fits_in_memory():
    problem, _ = random_problem(2, n_sources=3, n_words=80, n_events=4000)
    free = make_plan(problem, partition=2)
    sizes = {e.method: e.nbytes for e in free.estimates}
    limit = int(sizes["sharing"]) - 1
    plan = make_plan(problem, partition=2, memory=limit)
    assert plan.chosen.method != "sharing"
    assert plan.chosen.nbytes <= limit
    assert "is predicted to take" in plan.reason
    with pytest.raises(MemoryError, match="raise the limit to that, or use fewer features"):
        make_plan(problem, memory=1)


def test_methods_of_partitions_need_one():
    problem, _ = random_problem(2, n_sources=2)
    assert not any("partition" in e.method for e in make_plan(problem).estimates)
    with pytest.raises(ValueError, match="needs a source of one symbol as its partition variable"):
        make_plan(problem, only="partition")
    with pytest.raises(ValueError, match="unknown method 'x'"):
        make_plan(problem, only="x")


def test_one_method_can_be_asked_for():
    problem, rng = random_problem(2, n_sources=2)
    plan = make_plan(problem, only="hierarchical")
    w, out = rng.normal(size=problem.n_weights), np.empty(problem.n_weights)
    normaliser = make_normaliser(problem, plan.chosen.method)
    normaliser.value_and_gradient(w, out)
    assert normaliser.terms == pytest.approx(plan.chosen.terms, rel=0.2)
