"""What holds for every kind of model on a cluster: workers that come, files that go, empty parts, warnings, clients."""

from __future__ import annotations

import os
import signal
import time
import warnings
from typing import Any, NamedTuple

import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed")
from distributed import Client, LocalCluster

import loglinear
from loglinear import LoglinearError
from loglinear.dask import DaskLanguageModel, DaskMaxentClassifier, DaskReranker, DaskTagger
from loglinear.formats.nbest import json_line
from tests.candidate_problems import random_lists
from tests.dask.kills import killed


class Kind(NamedTuple):
    """A kind of model, its settings, and a text that it learns from."""

    make: Any
    settings: dict[str, Any]
    text: str


LISTS = b"".join(json_line(one) for one in random_lists(60)).decode()
SENTENCES = "one A\ntwo B\nsix A\n\ntwo A\none B\n\n"
KINDS = {
    "classifier": Kind(DaskMaxentClassifier, {}, "a\tone two three\nb\ttwo three four\na\tone five\n" * 20),
    "tagger": Kind(DaskTagger, {"templates": "U:%x[0,0]\nU:%x[-1,0]\nB\n"}, SENTENCES * 20),
    "language model": Kind(DaskLanguageModel, {"order": 2}, "one two three\ntwo three\none two\n" * 20),
    "reranker": Kind(DaskReranker, {}, LISTS),
}
TOLERANCE = 1e-10
MOMENTS = {DaskMaxentClassifier: 0.02, DaskTagger: 0.1, DaskLanguageModel: 0.3, DaskReranker: 0.05}  # seconds


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def files(kind, tmp_path):
    for name in ("x.txt", "y.txt"):
        (tmp_path / name).write_text(kind.text, encoding="utf-8")
    if kind.make is DaskMaxentClassifier:
        for name in ("x", "y"):
            (tmp_path / f"{name}.txt").rename(tmp_path / f"{name}.tsv")
    return sorted(tmp_path.iterdir())


def made(kind, client, **settings):
    return kind.make(client=client, tolerance=TOLERANCE, **kind.settings, **settings)


def test_workers_may_come_and_go_between_trainings(client, kind, files):
    model = made(kind, client)
    before = model.fit(files).objective_
    client.cluster.scale(3)
    client.wait_for_workers(3, timeout=60)
    assert model.fit(files).objective_ == pytest.approx(before, rel=1e-9)
    client.cluster.scale(2)
    deadline = time.monotonic() + 60
    while len(client.nthreads()) != 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert model.fit([*files, *files]).objective_ != pytest.approx(before, rel=1e-3)


def test_all_workers_may_be_lost_at_once(client, kind, files, caplog):
    """Dask gives a task that waited while there was no worker to none of those that come later."""
    before = made(kind, client).fit(files).objective_
    with killed(client, MOMENTS[kind.make], caplog):
        model = made(kind, client).fit(files)
    assert model.objective_ == pytest.approx(before, rel=1e-9)


def test_workers_of_another_version_are_named(client, kind, files, monkeypatch):
    monkeypatch.setattr(loglinear, "__version__", "0.0.1")
    with pytest.raises(ValueError, match=r"the worker tcp.* has loglinear .*, and this is 0\.0\.1: install one"):
        made(kind, client).fit(files)


def test_a_file_that_is_not_there_is_named(client, kind, files, tmp_path):
    with pytest.raises(LoglinearError, match=r"none\.txt: no such file"):
        made(kind, client).fit([files[0], tmp_path / "none.txt"])


def test_an_empty_file_is_an_empty_part(client, kind, files, tmp_path):
    before = made(kind, client).fit(files).objective_
    empty = tmp_path / f"empty{files[0].suffix}"
    empty.write_text("", encoding="utf-8")
    assert made(kind, client).fit([files[0], empty, files[1]]).objective_ == pytest.approx(before, rel=1e-9)


def test_a_warning_of_a_model_before_its_optimum_names_the_line_of_the_user(client, kind, files):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind.make(client=client, tolerance=1e-12, max_iterations=1, **kind.settings).fit(files)
    (warning,) = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    assert "stopped before the optimum" in str(warning.message)
    assert warning.filename == __file__
    assert not model.converged_


@pytest.mark.parametrize(
    "kind", [KINDS[name] for name in ("classifier", "tagger", "reranker")], ids=lambda kind: kind.make.__name__
)  # fmt: skip
def test_a_file_that_must_be_read_again_but_is_gone_is_named(client, kind, files):
    name = "_follow" if kind.make is DaskReranker else "_solve"

    def robbed(self, *arguments):
        for file in files:
            file.unlink()
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return getattr(kind.make, name)(self, *arguments)

    model = type("Robbed", (kind.make,), {name: robbed})(client=client, **kind.settings)
    with pytest.raises(LoglinearError, match=r"no such file.*it had to be read again, as the worker .* was lost"):
        model.fit(files)
    client.wait_for_workers(2, timeout=60)


def test_workers_with_several_threads_in_this_process(kind, files):
    """``LocalCluster(processes=False)``: all workers share this process, and the threads of native code."""
    threads = {"n_workers": 2, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**threads) as local, Client(local) as client:
        model = made(kind, client).fit(files * 3)
        again = made(kind, client).fit(files * 3)
    assert model.converged_
    assert model.objective_ == again.objective_
