"""What goes wrong around a cluster: versions, files that disappear, memory, workers that come, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask
import dask.array as da
from distributed import Client, LocalCluster

from loglinear import LoglinearError, load
from loglinear.dask import DaskLanguageModel, DaskMaxentClassifier, workers
from loglinear.dask.examples import count_part
from loglinear.dask.ngrams import Range as NgramRange
from loglinear.dask.shards import Cluster
from loglinear.dask.sources import pieces_of
from loglinear.dask.workers import Workers

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



def test_training_without_any_worker_ends_with_an_error(client, files, monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 1.0)
    there = Workers(client)
    client.cluster.scale(0)
    _wait(lambda: not client.nthreads())
    try:
        with pytest.raises(RuntimeError, match="no worker is left, and none came for 1 s: training cannot go on"):
            Cluster(there, [(list, ())])
    finally:
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=60)


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



class Deadly:
    """A part that ends its worker whenever it is asked, as the memory of its evaluation would."""

    def evaluate(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_part_that_ends_its_worker_again_and_again_says_what_would_fit(client):
    """As in ``test_a_worker_out_of_memory``, but after it was encoded; what would fit depends on the kind of part."""
    cluster = Cluster(Workers(client), [(Deadly, ())], [NgramRange(0, 9)])
    told = r"partition 0 of 1 ended again and again.*: give fewer n-grams \(min_count, a lower order\), more workers"
    with pytest.raises(MemoryError, match=told):
        cluster.call(lambda actor, k: actor.call(0, "evaluate", ()))
    cluster.release()
    client.wait_for_workers(2, timeout=60)


@pytest.mark.skipif(sys.platform != "linux", reason="uses RLIMIT_FSIZE as a full disk")
def test_a_full_disk_on_one_worker_is_told_and_leaves_nothing(client, tmp_path):
    (tmp_path / "t.txt").write_text("one two three\ntwo three one\n" * 5000, encoding="utf-8")
    worker, place = next(iter(client.run(lambda dask_worker: dask_worker.local_directory).items()))
    before = sorted(Path(place).iterdir())
    client.run(_limit_files, 1000, workers=[worker])
    try:
        with pytest.raises(OSError, match=f"File too large: the worker {worker} writes n-grams there; free") as caught:
            DaskLanguageModel(3, client=client).fit(tmp_path / "t.txt")
    finally:
        client.run(_limit_files, -1, workers=[worker])
    assert caught.value.filename == place
    assert sorted(Path(place).iterdir()) == before
    assert DaskLanguageModel(2, client=client).fit(tmp_path / "t.txt").converged_


def _limit_files(n_bytes):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


FOREVER = ["--tolerance", "0", "--max-iterations", "1000000", "--verbose"]


@pytest.mark.parametrize(("kind", "stage"), [("tag", "training"), ("lm", "counting"), ("lm", "training")])
def test_ctrl_c_keeps_the_best_model_and_leaves_no_processes_and_no_files(tmp_path, kind, stage):
    """The whole group of processes gets SIGINT, as from a terminal."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    n_sentences = 300 if stage == "training" else 100_000
    (tmp_path / "t.txt").write_text(_text_to_interrupt(kind, n_sentences), encoding="utf-8")
    (tmp_path / "templates").write_text("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n", encoding="utf-8")
    command = [sys.executable, "-m", "loglinear", kind, "train", "t.txt", "-o", "m.ll", "--workers", "2", *FOREVER]
    command += ["--templates", "templates"] if kind == "tag" else []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        if stage == "training":
            line = process.stderr.readline()
            assert "step" in line, line
        else:
            _wait(lambda: len(list(temporary.glob("*/*/worker-*"))) >= 2)  # three where a worker began anew
            time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    kept = ["t.txt", "templates", "temporary"]
    if stage == "training":
        assert "the model trained so far" in error
        load(tmp_path / "m.ll")
        kept = ["m.ll", *kept]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    assert list(temporary.iterdir()) == []
    _wait(lambda: not _alive(process.pid))


def _text_to_interrupt(kind, n_sentences):
    """Return sentences, of tokens with labels for a tagger."""
    rng = np.random.default_rng(0)
    words = rng.integers(500, size=(n_sentences, 20)).astype(str).tolist()
    if kind == "lm":
        return "".join(" ".join(line) + "\n" for line in words)
    return "\n\n".join("\n".join(f"w{w} {'abc'[int(w) % 3]}" for w in line) for line in words)


def _wait(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _alive(group):
    """Return the processes of a session that are not zombies."""
    found = subprocess.run(["ps", "-eo", "sid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()]
    return [row for row in rows if row[0] == str(group) and not row[1].startswith("Z")]
