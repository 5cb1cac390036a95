import numpy as np
import pytest

from loglinear import penalties
from loglinear.optimise.objective import Objective
from loglinear.solvers.memory import InverseHessian, single_pairs
from loglinear.structure.tying import Tying


class Nothing:
    n_weights = 50

    def value_and_gradient(self, w, out):
        out[:] = 0
        return 0.0


def two_loop(pairs, g):
    """Nocedal's recursion."""
    q, alphas = g.copy(), []
    for s, y in reversed(pairs):
        alphas.append((s @ q) / (s @ y))
        q -= alphas[-1] * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas)):
        q += (alpha - (y @ q) / (s @ y)) * s
    return -q


@pytest.mark.parametrize("single", [False, True])
def test_equals_the_two_loop_recursion_through_many_pairs(single):
    rng = np.random.default_rng(0)
    objective = Objective(Nothing(), penalties.make("none"))
    A = rng.normal(size=(50, 50))
    A = A @ A.T + np.eye(50)
    memory, pairs = InverseHessian(50, 4, single), []
    for _ in range(11):
        s, g, out = rng.normal(size=50), rng.normal(size=50), np.empty(50)
        y = A @ s
        pairs = [*pairs, (s.copy(), y.copy())][-4:]
        memory.direction(objective, g, out, (s.astype(memory.dtype), y.astype(memory.dtype)))
        expected = two_loop(pairs, g)
        np.testing.assert_allclose(out, expected, rtol=1e-8, atol=1e-5 * np.abs(expected).max() if single else 0)


def test_many_weights_are_remembered_in_single_precision():
    class Many(Nothing):
        n_weights = 5_000_000

    many, few = (Objective(loss(), penalties.make("none")) for loss in (Many, Nothing))
    assert InverseHessian(50, 4, single_pairs(None, many)).buffer().dtype == np.float32
    assert InverseHessian(50, 4, single_pairs(None, few)).dtype == np.float64
    assert InverseHessian(50, 4, single_pairs(False, many)).dtype == np.float64
    assert InverseHessian(50, 4, single_pairs(True, few)).dtype == np.float32


def test_pair_without_curvature_is_refused():
    objective = Objective(Nothing(), penalties.make("none"))
    memory, g, out = InverseHessian(50, 4), np.ones(50), np.empty(50)
    memory.direction(objective, g, out, (np.ones(50), -np.ones(50)))
    assert not memory.s
    np.testing.assert_array_equal(out, -g)


@pytest.mark.parametrize("single", [False, True])
def test_lifted_pairs_are_those_of_the_shared_weights(single):
    """The last pairs of a memory of ten shared weights, copied up to fifty, in a memory that holds fewer."""
    rng = np.random.default_rng(1)
    objective = Objective(Nothing(), penalties.make("none"))
    tying = Tying(np.arange(50) % 10, 10)
    shared, pairs = InverseHessian(10, 6), []
    for _ in range(8):
        s = rng.normal(size=10)
        y = s * np.linspace(1, 3, 10)
        pairs.append((tying.up(s), tying.up(y)))
        shared.direction(objective, rng.normal(size=10), np.empty(10), (s, y))
    fine, g, out = InverseHessian(50, 4, single), rng.normal(size=50), np.empty(50)
    fine.lift(objective, shared, tying)
    fine.direction(objective, g, out)
    close = {"rtol": 1e-4, "atol": 1e-4} if single else {"rtol": 1e-8}
    np.testing.assert_allclose(out, two_loop(pairs[-4:], g), **close)
    unit, scaled = rng.uniform(0.5, 2, size=50), InverseHessian(50, 4, single)
    scaled.lift(objective, shared, tying, unit)
    scaled.direction(objective, g, out)
    np.testing.assert_allclose(out, two_loop([(s / unit, y * unit) for s, y in pairs[-4:]], g), **close)
