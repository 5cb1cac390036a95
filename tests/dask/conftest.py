"""A real local cluster of two worker processes, which all tests of this folder share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("distributed")
    from loglinear.dask import cluster

    with cluster(n_workers=2) as made:
        yield made


@pytest.fixture
def bag():
    """Return a function that makes a bag whose partitions are given, matrices and arrays included."""
    db = pytest.importorskip("dask.bag")

    def make(*partitions):
        name = f"given-{next(NUMBERS)}"
        arrays = [part if sparse.issparse(part) or isinstance(part, list) else np.array(part) for part in partitions]
        return db.Bag({(name, i): part for i, part in enumerate(arrays)}, name, len(arrays))

    return make
