"""Steps next to nothing project onto what a tree penalty allows, as FISTA does with weights it begins from."""

from functools import partial

import numpy as np
import pytest

from loglinear.penalties import TreeL2, TreeLinf
from loglinear.structure.tree import Tree


@pytest.mark.parametrize("penalty", [TreeL2, TreeLinf, partial(TreeL2, plain=True)])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_zero_groups_stay_zero_under_steps_next_to_nothing(penalty, nonnegative):
    scale = np.array([3.0, 2.0, 1.0, 0.5, 1.0])
    p = penalty(Tree([-1, 0, 0, 1, -1]), 0.7, scale=scale, nonnegative=nonnegative)
    z = np.array([1.5, 0.0, -2.0, 0.0, 0.0])
    out = np.full(5, np.nan)
    p.prox(z, 1e-250 / scale, out)
    np.testing.assert_allclose(out, np.maximum(z, 0.0) if nonnegative else z)
