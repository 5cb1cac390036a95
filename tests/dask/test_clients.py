"""Clusters that are not there, and settings that do not go with one."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from loglinear import IncompatibleError
from loglinear.dask import DaskMaxentClassifier, cluster


def test_no_cluster_and_no_tuning():
    with pytest.raises(ValueError, match="there is no Dask client"):
        DaskMaxentClassifier().fit("x.tsv")
    with pytest.raises(IncompatibleError, match="tune='cv' is not for a cluster"):
        DaskMaxentClassifier(tune="cv").fit("x.tsv")
    with pytest.raises(ValueError, match=r"no Dask scheduler at 'tcp://127\.0\.0\.1:1'"), cluster("tcp://127.0.0.1:1"):
        pass
