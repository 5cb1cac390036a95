"""Random forests, and the maps of tree norms the plain way: one group after the other, whole subtrees at a time."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from loglinear import _core
from loglinear.structure.tree import Tree


@dataclass
class Case:
    """A small forest with numbers of every kind."""

    parent: np.ndarray
    z: np.ndarray
    step: float
    steps: np.ndarray
    scale: np.ndarray
    multiplicity: np.ndarray | None
    options: dict
    unit: int
    tree: Tree = field(init=False)

    def __post_init__(self):
        self.tree = Tree(self.parent)
        self.tree.native = _core.Tree(self.tree.parent, self.unit)  # small units, so that there is a crown
        self.n, self.l2 = self.tree.n_nodes, self.options["l2"]
        self.nonnegative = self.options["nonnegative"]
        self.inside = members(self.parent)
        weights = self.options["weights"]
        growth = self.options["depth_growth"] ** self.tree.depth.astype(float)
        self.thresholds = self.options["strength"] * growth * (1.0 if weights is None else weights)


@st.composite
def cases(draw, n=30):
    """Forests of up to ``n`` nodes: shapes, ties, zeros, weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, n))
    shape = draw(st.sampled_from(["any", "levels", "depth", "chain", "star"]))
    z = rng.normal(size=size) * 3
    if draw(st.booleans()):
        z = np.round(z)  # ties and zeros
    weighted, collapsed = draw(st.booleans()), draw(st.booleans())
    options = {
        "strength": draw(st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0])),
        "weights": rng.choice([0.0, 0.5, 1.0, 2.0], size=size) if weighted else None,
        "depth_growth": draw(st.sampled_from([1.0, 1.18, 0.8])),
        "l2": draw(st.sampled_from([0.0, 0.4])),
        "nonnegative": draw(st.booleans()),
    }
    return Case(
        random_parent(rng, size, shape),
        z,
        draw(st.sampled_from([0.2, 1.0, 2.5])),
        rng.uniform(0.1, 2.0, size=size),
        rng.uniform(0.1, 5.0, size=size),
        rng.integers(1, 4, size=size).astype(float) if collapsed else None,
        options,
        draw(st.integers(1, size + 1)),
    )


def random_parent(rng, n, shape="any"):
    """Parents before children; numbered at random, level by level or depth first."""
    if shape == "chain":
        return np.arange(-1, n - 1)
    if shape == "star":
        return np.where(np.arange(n) == 0, -1, 0)
    parent = np.array([int(rng.integers(-1, i)) if i else -1 for i in range(n)])
    if shape == "any":
        return parent
    depth = np.zeros(n, dtype=int)
    for i in range(n):
        depth[i] = 0 if parent[i] < 0 else depth[parent[i]] + 1
    paths = [[i] for i in range(n)]
    for i in range(n):
        if parent[i] >= 0:
            paths[i] = [*paths[parent[i]], i]
    order = sorted(range(n), key=(lambda i: (depth[i], i)) if shape == "levels" else (lambda i: paths[i]))
    number = np.empty(n, dtype=int)
    number[order] = np.arange(n)
    return np.array([-1 if parent[i] < 0 else number[parent[i]] for i in order])


def members(parent):
    """[n, n]: row g marks the subtree of g."""
    n = len(parent)
    inside = np.eye(n, dtype=bool)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            inside[parent[i]] |= inside[i]
    return inside


def level(u, d, k):
    """The r >= 0 with sum d (u - r)_+ = k; 0 where the sum of d u is at most k."""
    if (d * u).sum() <= k:
        return 0.0
    if k == 0:
        return np.inf
    order = np.argsort(-u)
    sums, weights = np.cumsum((d * u)[order]), np.cumsum(d[order])
    levels = (sums - k) / weights
    return levels[np.flatnonzero(weights * u[order] > sums - k)[-1]]


def prox_linf(parent, thresholds, centre, d):
    """argmin sum d (x - centre)^2 / 2 + sum_g k_g max |x_g|."""
    u = np.abs(centre)
    inside = members(parent)
    for g in range(len(parent) - 1, -1, -1):
        own = inside[g]
        u[own] = np.minimum(u[own], level(u[own], d[own], thresholds[g]))
    return np.copysign(u, centre)


def prox_l2(parent, thresholds, centre, scale, lipschitz):
    """argmin L sum s (x - centre)^2 / 2 + sum_g k_g sqrt(sum s_i / s_g x_i^2)."""
    x = np.array(centre, dtype=float)
    inside = members(parent)
    for g in range(len(parent) - 1, -1, -1):
        own = inside[g]
        norm = np.sqrt(np.sum(scale[own] * x[own] ** 2) / scale[g])
        if thresholds[g] > 0:
            keep = 0.0 if norm == 0 else max(0.0, 1 - thresholds[g] / (lipschitz * scale[g] * norm))
            x[own] *= keep
    return x


def violation_l2(parent, thresholds, centre, d, x):
    """How far x is from argmin sum d (x - centre)^2 / 2 + sum_g k_g |x_g|, by the conditions of optimality themselves.

    A group with weights pulls each of them by k_g x_i / |x_g|. In a subtree of zeros the groups can undo d centre if
    what they leave of it, one after the other from the leaves, is nothing.
    """
    inside, n = members(parent), len(parent)
    norms = np.sqrt((inside * x**2).sum(1))
    pull = sum(thresholds[g] * inside[g] * x / norms[g] for g in range(n) if norms[g] > 0)
    left = d * (centre - x) - pull
    worst = np.abs(left[norms > 0]).max(initial=0.0)
    rest = left * (norms == 0)
    for g in range(n - 1, -1, -1):
        if norms[g] == 0:
            size = np.sqrt(np.sum(rest[inside[g]] ** 2))
            rest[inside[g]] *= max(0.0, 1 - thresholds[g] / size) if size > 0 else 0.0
    return max(worst, np.abs(rest).max(initial=0.0))


def gap_linf(parent, thresholds, centre, d, x, steps=5000):
    """Duality gap of x: an upper bound of sum d (x - optimum)^2 / 2, whatever prox says.

    The dual puts a vector of l1 norm at most k_g on every subtree; accelerated projected gradient raises it.
    """
    inside = members(parent)

    def project(rows):
        out = np.zeros_like(rows)
        for g, row in enumerate(rows):
            own = np.abs(row[inside[g]])
            shrink = level(own, np.ones_like(own), thresholds[g])  # sum of what is above it is k_g
            out[g, inside[g]] = np.sign(row[inside[g]]) * np.maximum(own - (0 if shrink == 0 else shrink), 0)
            if own.sum() <= thresholds[g]:
                out[g, inside[g]] = row[inside[g]]
        return out

    value = lambda y: thresholds @ np.where(inside, np.abs(y), 0).max(1)  # noqa: E731
    return _gap(project, inside, value, centre, d, inside.sum(0), x, steps)


def gap_l2(parent, thresholds, centre, d, x, steps=5000):
    """The same for l2 without scale: vectors of l2 norm at most k_g."""
    inside = members(parent)

    def project(rows):
        norms = np.sqrt((rows**2).sum(1))
        return rows * np.minimum(1.0, thresholds / np.maximum(norms, 1e-300))[:, None]

    value = lambda y: thresholds @ np.sqrt((inside * y**2).sum(1))  # noqa: E731
    return _gap(project, inside, value, centre, d, inside.sum(0), x, steps)


def _gap(project, inside, value, centre, d, depth, x, steps):
    primal = 0.5 * np.sum(d * (x - centre) ** 2) + value(x)
    rows = ahead = project(inside * (d * (centre - x) / depth))
    rate, t = 1.0 / (np.max(depth / d) + 1e-300), 1.0
    best = np.inf
    for i in range(steps):
        total = rows.sum(0)
        dual = np.sum(total * centre - total**2 / (2 * d))
        best = min(best, primal - dual)
        if best <= 1e-8:  # a tenth of what the tests ask for; deep chains need thousands of steps
            break
        new = project(ahead + rate * inside * (centre - ahead.sum(0) / d))
        following = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        ahead = new + (t - 1) / following * (new - rows)
        if i % 50 == 49:
            ahead, following = new, 1.0
        rows, t = new, following
    return best


def prox(penalty, z, step=1.0):
    """Return the proximal map of a penalty at z."""
    out = np.empty(len(z))
    penalty.prox(np.asarray(z, dtype=float), step, out)
    return out
