"""Several members on threads walk the path that one process walks, and end at its optimum."""

import numpy as np
import pytest
from ngrams import part_of

from loglinear.data.ngram import build_trie
from loglinear.data.ngram_classes import NgramClasses, ngram_classes
from loglinear.data.sentences import Sentences
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.losses.ngram_parts import NgramPartLoss, NgramRootLoss
from loglinear.models.language_model.penalty import NgramPenalty
from loglinear.optimise.lockstep import Brought, Follower, Leader, LockstepObjective, Lost
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.solvers import Lbfgs, Owlqn

V, ORDER = 12, 3


@pytest.fixture(scope="module")
def trie():
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 9, 150)
    words = np.minimum(rng.geometric(0.25, lengths.sum()), V - 1).astype(np.uint32)
    return build_trie(Sentences(V, words, np.r_[0, np.cumsum(lengths)]), ORDER)


def of(penalty, trie, kept):
    classes = ngram_classes(trie)
    return penalty.on(NgramClasses(classes.numbers[kept].copy(), classes.orders, classes.names), 1)


def walk(trie, ranges, penalty, solver, seen=None, **options):
    """Return the leader's result and the weights of all, in the order of the trie; ``seen`` gets what is told."""
    parts = [part_of(trie, *place) for place in ranges]

    def member(part):
        def go(follower):
            loss = NgramPartLoss(part, follower, n_threads=1)
            objective = LockstepObjective(loss, of(penalty, part, slice(V, None)), 1, follower, trie.n_entries)
            return minimise(objective, solver, **options).weights

        return Follower(go)

    followers = [member(part) for part in parts]

    def carry(told):
        if seen is not None:
            seen.append(told)
        return [one.advance(told) for one in followers]

    leader = Leader(carry)
    loss = NgramRootLoss(trie.entry_count[:V].astype(float), leader)
    objective = LockstepObjective(loss, of(penalty, trie, slice(V)), 1, leader, trie.n_entries)
    result = minimise(objective, solver, **options)
    found = [one.advance(leader.last) for one in followers]
    assert [one.kind for one in found] == ["done"] * len(parts)
    pieces = [result.weights]
    for n in range(1, ORDER):
        pieces += [one.value[p.entry_start[n] - V : p.entry_start[n + 1] - V] for one, p in zip(found, parts)]
    return result, np.concatenate(pieces)


SOLVERS = {
    "owlqn": (Owlqn(metric="curvature"), NgramPenalty()),
    "owlqn, no metric": (Owlqn(), NgramPenalty(penalty="l1", nonnegative=False)),
    "lbfgs": (Lbfgs(metric="curvature"), NgramPenalty(penalty="l2", nonnegative=False)),
    "lbfgs, estimate": (Lbfgs(), NgramPenalty(penalty="l2", nonnegative=False)),
}


@pytest.mark.parametrize("ranges", [[(0, V + 1)], [(0, 2), (2, 5), (5, V + 1)], [(0, 1), (1, 1), (1, V + 1)]])
@pytest.mark.parametrize("name", SOLVERS)
def test_members_find_the_optimum_of_one_process(trie, ranges, name):
    solver, penalty = SOLVERS[name]
    whole = Objective(NgramMaxentLoss(trie), of(penalty, trie, slice(None)))
    local = minimise(whole, solver, tolerance=None, max_iterations=400, violation_tolerance=1e-9)
    result, weights = walk(trie, ranges, penalty, solver, tolerance=None, max_iterations=400, violation_tolerance=1e-9)
    assert result.value == pytest.approx(local.value, rel=1e-10)
    assert whole.value_and_loss_gradient(weights, np.empty_like(weights)) == pytest.approx(result.value, rel=1e-12)
    np.testing.assert_allclose(weights, local.weights, atol=1e-4)


def test_the_first_steps_are_those_of_one_process(trie):
    solver, penalty = SOLVERS["owlqn"]
    whole = Objective(NgramMaxentLoss(trie), of(penalty, trie, slice(None)))
    local = minimise(whole, solver, tolerance=None, max_iterations=8)
    result, weights = walk(trie, [(0, 3), (3, V + 1)], penalty, solver, tolerance=None, max_iterations=8)
    np.testing.assert_allclose(result.history.objective, local.history.objective, rtol=1e-12)
    np.testing.assert_allclose(weights, local.weights, rtol=1e-9, atol=1e-12)


def test_the_same_parts_give_the_same_bits(trie):
    solver, penalty = SOLVERS["owlqn"]
    first, second = (walk(trie, [(0, 2), (2, V + 1)], penalty, solver)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_an_error_of_a_follower_reaches_the_leader():
    def fails(follower):
        follower.total(np.ones(1))
        raise MemoryError("too little")

    follower = Follower(fails)
    leader = Leader(lambda answer: [follower.advance(answer)])
    assert leader.total(np.ones(1)).tolist() == [2.0]
    with pytest.raises(MemoryError, match="too little"):
        leader.total(np.ones(1))


def test_a_follower_that_is_stopped_ends_where_it_waits():
    seen = []

    def waits(follower):
        for _ in range(9):
            seen.append(follower.largest(3.0))

    follower = Follower(waits)
    leader = Leader(lambda answer: [follower.advance(answer)])
    assert leader.largest(5.0) == 5.0
    assert leader.largest(1.0) == 3.0
    follower.stop()
    assert seen == [5.0]
    assert not follower._thread.is_alive()


def test_a_pass_of_owlqn_has_five_meetings(trie):
    """Every meeting is a message to each worker and back: the loss and the penalty share one."""
    solver, penalty = SOLVERS["owlqn, no metric"]

    def meetings(n_passes):
        seen = []
        options = {"tolerance": None, "max_iterations": n_passes}
        result, _ = walk(trie, [(0, V + 1)], penalty, solver, seen=seen, **options)
        assert result.n_iterations == n_passes
        return len(seen)

    assert meetings(13) - meetings(3) <= 5 * 10


def test_a_part_made_anew_is_told_from_one_that_walks():
    leader = Leader(lambda answer: [Brought("new")])
    with pytest.raises(Lost):
        leader.total(np.zeros(1))


def test_weights_out_of_range_have_no_finite_value(trie):
    """A line search turns back from them; nothing overflows to a wrong number."""

    def go(follower):
        loss = NgramPartLoss(trie, follower, n_threads=1)
        return loss.value_and_gradient(np.full(loss.n_weights, 400.0), np.empty(loss.n_weights))

    follower = Follower(go)
    leader = Leader(lambda answer: [follower.advance(answer)])
    loss = NgramRootLoss(trie.entry_count[:V].astype(float), leader)
    assert loss.value_and_gradient(np.zeros(V), np.empty(V)) == np.inf
    assert follower.advance(leader.last) == Brought("done", np.inf)
