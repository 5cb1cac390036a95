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


def test_a_scheduler_by_its_address(client, tmp_path):
    (tmp_path / "x.tsv").write_text("a\tone two\nb\ttwo three\n" * 20, encoding="utf-8")
    with cluster(client.scheduler.address) as found:
        assert found.direct_to_workers  # weights need not go through the scheduler
        model = DaskMaxentClassifier(client=found).fit(tmp_path / "x.tsv")
        assert model.n_examples_ == 40
        alone = found.nthreads()
    assert client.nthreads() == alone  # its workers stay
