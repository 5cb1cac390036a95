import numpy as np

from loglinear import penalties
from loglinear.objective import Objective
from loglinear.solvers.memory import InverseHessian


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


def test_equals_the_two_loop_recursion_through_many_pairs():
    rng = np.random.default_rng(0)
    objective = Objective(Nothing(), penalties.make("none"))
    A = rng.normal(size=(50, 50))
    A = A @ A.T + np.eye(50)
    memory, pairs = InverseHessian(50, 4), []
    for _ in range(11):
        s, g, out = rng.normal(size=50), rng.normal(size=50), np.empty(50)
        y = A @ s
        pairs = [*pairs, (s.copy(), y.copy())][-4:]
        memory.direction(objective, g, out, (s, y))
        np.testing.assert_allclose(out, two_loop(pairs, g), rtol=1e-8)


def test_pair_without_curvature_is_refused():
    objective = Objective(Nothing(), penalties.make("none"))
    memory, g, out = InverseHessian(50, 4), np.ones(50), np.empty(50)
    memory.direction(objective, g, out, (np.ones(50), -np.ones(50)))
    assert not memory.s
    np.testing.assert_array_equal(out, -g)
