"""What goes wrong around a cluster: versions, files that disappear, memory, workers that come, Ctrl-C."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask
import dask.array as da
from distributed import Client, LocalCluster

from loglinear import LoglinearError, MaxentClassifier, load
from loglinear.dask import DaskLanguageModel, DaskMaxentClassifier
from loglinear.dask.examples import count_part
from loglinear.dask.sources import pieces_of
from loglinear.models.classifier.files import train_on_file
from tests.dask.kills import all_killed

LINES = ["a\tone two three\n", "b\ttwo three four\n", "a\tone five\n"]


@pytest.fixture
def files(tmp_path):
    for name in ("x.tsv", "y.tsv"):
        (tmp_path / name).write_text("".join(LINES * 20), encoding="utf-8")
    return tmp_path


def test_workers_without_the_package_are_named(files, tmp_path):
    """A worker whose list of installed packages is another one."""
    hide = "import importlib.metadata as m\n_old = m.version\ndef version(name):\n    if name == 'loglinear':\n"
    hide += "        raise m.PackageNotFoundError(name)\n    return _old(name)\nm.version = version\n"
    (tmp_path / "hide.py").write_text(hide, encoding="utf-8")
    hidden = {"preload": str(tmp_path / "hide.py"), "dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, **hidden) as local,
        Client(local) as other,
        pytest.raises(ValueError, match="lacks the package loglinear: install the version that is here"),
    ):
        DaskMaxentClassifier(client=other).fit(files / "x.tsv")


def test_a_file_that_disappears_before_it_is_read_is_named(client, files):
    pieces = pieces_of([files / "x.tsv", files / "y.tsv"], 2)
    (files / "y.tsv").unlink()
    with pytest.raises(LoglinearError, match=r"y\.tsv: no such file"):
        client.submit(count_part, pieces[1], {"ngrams": (1,), "classes": None}, False).result()



@pytest.mark.parametrize("moment", [0.02, 0.1, 0.3])
def test_all_workers_may_be_lost_at_once(client, files, moment):
    local = MaxentClassifier(tolerance=1e-10)
    train_on_file(local, files / "x.tsv")
    model = DaskMaxentClassifier(client=client, tolerance=1e-10)
    with all_killed(client, moment):
        model.fit(files / "x.tsv")
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)


def test_a_parquet_file_without_the_column_is_named(client, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for part, column in ((0, "body"), (1, "other")):
        table = pa.table({column: ["one two", "three"], "topic": ["a", "b"]})
        pq.write_table(table, tmp_path / f"part{part}.parquet")
    model = DaskMaxentClassifier(client=client, text_column="body", label_column="topic")
    assert model.fit(tmp_path / "part0.parquet").n_examples_ == 2
    with pytest.raises(LoglinearError, match=r"part1\.parquet.*body"):
        model.fit(tmp_path / "part*.parquet")
    with pytest.raises(LoglinearError, match=r"part1\.parquet: there is no column 'body'; the columns are 'other'"):
        DaskLanguageModel(2, text_column="body", client=client).fit(tmp_path / "part*.parquet")


def test_labels_of_unequal_types_are_refused(client, bag):
    with pytest.raises(ValueError, match="some partitions have labels that are text, and others numbers"):
        DaskMaxentClassifier(client=client).fit(bag(["a b"], ["b c"]), bag([1], ["x"]))



def test_a_worker_out_of_memory_says_what_would_fit():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0", silence_logs=50
    ) as local, Client(local) as client:
        X = da.ones((300_000, 400), chunks=(300_000, 400))
        model = DaskMaxentClassifier(client=client)
        with pytest.raises(MemoryError, match=r"partition 0 of 1 .*memory of 0\.5 GB was not enough: give at least 2 "):
            model.fit(X, da.from_array(np.arange(300_000) % 2, chunks=300_000))



def test_ctrl_c_keeps_the_best_model_and_leaves_no_processes_and_no_files(tmp_path):
    """The whole group of processes gets SIGINT, as from a terminal."""
    rng, temporary = random.Random(0), tmp_path / "temporary"
    temporary.mkdir()
    sentences = ["\n".join(f"w{rng.randrange(500)} {rng.choice('abc')}" for _ in range(20)) for _ in range(400)]
    (tmp_path / "t.txt").write_text("\n\n".join(sentences), encoding="utf-8")
    (tmp_path / "templates").write_text("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n", encoding="utf-8")
    command = [sys.executable, "-m", "loglinear", "tag", "train", "t.txt", "-o", "m.ll", "--templates", "templates",
               "--workers", "2", "--tolerance", "0", "--max-iterations", "1000000", "--verbose"]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        line = process.stderr.readline()
        assert "step" in line, line
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, error
    assert "the model trained so far" in error
    assert "Traceback" not in error
    assert len(load(tmp_path / "m.ll").classes_) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.ll", "t.txt", "templates", "temporary"]
    assert list(temporary.iterdir()) == []
    deadline = time.monotonic() + 20
    while _alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(process.pid)


def _alive(group):
    """Return the processes of a session that are not zombies."""
    found = subprocess.run(["ps", "-eo", "sid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()]
    return [row for row in rows if row[0] == str(group) and not row[1].startswith("Z")]
