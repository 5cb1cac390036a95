"""Rerankers on a real local cluster: the optimum of one process, killed workers, partitions, refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed")
import dask.bag as db

from loglinear import IncompatibleError, LanguageModel, LoglinearError, Reranker, load
from loglinear.dask import DaskReranker
from loglinear.formats.nbest import json_line, write_nbest
from loglinear.models.reranker.files import ListFiles, train_reranker
from tests.candidate_problems import random_lists
from tests.dask.kills import killed

TIGHT = {"tolerance": 1e-11, "max_iterations": 5000}


@pytest.fixture(scope="module")
def lists():
    """Lists with two base scores, and features of their own that only the last third has."""
    rng = random.Random(0)
    every = random_lists(400, scores=("a", "b"))
    own = [
        replace(one, candidates=[replace(c, features={"z": rng.random(), "a": 1.0}) for c in one.candidates])
        for one in every[270:]
    ]
    return [*every[:270], *own]


@pytest.fixture(scope="module")
def folder(lists, tmp_path_factory):
    """The lists in three files and in one, and other lists."""
    folder = tmp_path_factory.mktemp("lists")
    write_nbest(folder / "all.jsonl", lists)
    for k, cut in enumerate((slice(0, 150), slice(150, 270), slice(270, None))):
        write_nbest(folder / f"part{k}.jsonl", lists[cut])
    write_nbest(folder / "dev.jsonl", random_lists(60, seed=1, scores=("a", "b")))
    return folder


def check_same(model, local):
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert model.features_.names() == local.features_.names()
    assert model.base_names_ == local.base_names_
    assert (model.n_lists_, model.n_pairs_) == (local.n_lists_, local.n_pairs_)
    np.testing.assert_allclose(model.weights_, local.weights_, atol=1e-3)
    np.testing.assert_array_equal(model.path_.train_errors, local.path_.train_errors)


@pytest.mark.parametrize(
    "settings",
    [
        {"min_count": 3}, {"method": "exponential", "penalty": "l2", "base": "b"},
        {"by_errors": True, "penalty": "elastic_net", "skips": 1, "characters": (2,)},
        {"solver": "working_set", "strength": 3.0},
    ],
    ids=str,
)  # fmt: skip
def test_the_optimum_is_that_of_one_process(client, folder, lists, settings):
    settings = {"method": "maxent", **TIGHT, **settings}
    local = Reranker(**settings).fit(lists)
    model = DaskReranker(client=client, **settings)
    check_same(model.fit(folder / "part*.jsonl"), local)
    first = model.weights_.tobytes()
    assert model.fit(folder / "part*.jsonl").weights_.tobytes() == first  # the same bits in every run
    check_same(model.fit(folder / "all.jsonl"), local)


def test_a_large_file_is_cut_and_the_model_is_that_of_one_process(client, tmp_path):
    every = random_lists(1500, scores=("a",))
    write_nbest(tmp_path / "all.jsonl", every)
    assert (tmp_path / "all.jsonl").stat().st_size > 2**17
    local = Reranker("maxent", **TIGHT).fit(every)
    model = DaskReranker(client=client, **TIGHT).fit(tmp_path / "all.jsonl")
    check_same(model, local)
    model.save(tmp_path / "m.ll")
    again = load(tmp_path / "m.ll")
    assert type(again) is Reranker
    assert again.predict(every[:50]) == model.predict(every[:50]) == model.to_local().predict(every[:50])
    lines = [json_line(one) for one in every]
    lines[1400] = b'{"hypotheses": 3}\n'
    (tmp_path / "bad.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(LoglinearError, match=r"bad\.jsonl:1401: the object needs 'hypotheses'"):
        model.fit(tmp_path / "bad.jsonl")


def test_base_scores_alone_and_expected_errors(client, folder, lists):
    for method in ("none", "expected-error"):
        local = Reranker(method, penalty="l2", **TIGHT).fit(lists)
        model = DaskReranker(method, penalty="l2", client=client, **TIGHT).fit(folder / "part*.jsonl")
        np.testing.assert_allclose(model.path_.loss, local.path_.loss, rtol=1e-5)
        assert model.features_.names() == local.features_.names()


def test_a_killed_worker_is_replaced_and_the_optimum_stays(client, folder, lists, caplog):
    """It is killed (SIGKILL) when training begins."""

    class Robbed(DaskReranker):
        def _follow(self, *arguments):
            with killed(client, 0.0, caplog, slice(1)):
                super()._follow(*arguments)

    check_same(Robbed(client=client, **TIGHT).fit(folder / "part*.jsonl"), Reranker("maxent", **TIGHT).fit(lists))


def test_bags_of_lists_and_of_records_and_empty_partitions(client, lists, bag):
    local = Reranker("maxent", **TIGHT).fit(lists)
    check_same(DaskReranker(client=client, **TIGHT).fit(bag(lists[:200], [], lists[200:])), local)
    records = db.from_sequence([json.loads(json_line(one)) for one in lists], npartitions=3)
    check_same(DaskReranker(client=client, **TIGHT).fit(records), local)


def test_held_out_lists_choose_the_strength(client, folder, lists):
    settings = {"tune": [10.0, 3.0, 1.0], "tolerance": 1e-9}
    dev = random_lists(60, seed=1, scores=("a", "b"))
    local = Reranker("maxent", **settings).fit(lists, validation=dev)
    model = DaskReranker(client=client, **settings).fit(folder / "part*.jsonl", validation=folder / "dev.jsonl")
    assert (model.chosen_, model.validation_score_) == (local.chosen_, local.validation_score_)
    np.testing.assert_array_equal(model.path_.validation_errors, local.path_.validation_errors)
    with pytest.warns(ConvergenceWarning, match="stopped before the optimum"):
        DaskReranker(client=client, max_iterations=1, **{**settings, "tune": None}).fit(folder / "part0.jsonl")


def test_a_language_model_and_references_in_files(client, tmp_path):
    every = random_lists(40, scores=())
    language = LanguageModel(2).fit([one.reference for one in every])
    language.save(tmp_path / "lm.ll")
    write_nbest(tmp_path / "x.jsonl", [replace(one, reference=None) for one in every])
    (tmp_path / "x.txt").write_text("".join(f"{one.id} {one.reference}\n" for one in every), encoding="utf-8")
    local = Reranker("maxent", **TIGHT)
    train_reranker(local, [tmp_path / "x.jsonl"], files=ListFiles(None, tmp_path / "x.txt", None, language))
    model = DaskReranker(client=client, **TIGHT)
    model.fit(tmp_path / "x.jsonl", base_model=tmp_path / "lm.ll", references=tmp_path / "x.txt")
    check_same(model, local)
    with pytest.raises(TypeError, match="workers need the name of a model file"):
        model.fit(tmp_path / "x.jsonl", base_model=language)


def test_what_cannot_be_used_is_said(client, folder, lists, bag):
    model = DaskReranker(client=client)
    with pytest.raises(IncompatibleError, match=r"'blasso' is no sum over lists.*maxent, exponential, expected-error"):
        DaskReranker("blasso", client=client).fit(folder / "all.jsonl")
    with pytest.raises(IncompatibleError, match="needs the power Stochastic"):
        DaskReranker(client=client, solver="stochastic").fit(folder / "all.jsonl")
    with pytest.raises(LoglinearError, match=r"none\.jsonl: no such file"):
        model.fit(folder / "none.jsonl")
    with pytest.raises(LoglinearError, match="no file has such a name"):
        model.fit(folder / "none*.jsonl")
    with pytest.raises(TypeError, match=r"strings, not lists: give dicts, bag\.map\(json\.loads\)"):
        model.fit(db.from_sequence(["{}"], npartitions=1))
    with pytest.raises(ValueError, match="there are no lists to learn from"):
        model.fit(bag([], []))
    with pytest.raises(ValueError, match=r"list 'list\d+', candidate 1 has no score 'lm'"):
        DaskReranker(base="lm", client=client).fit(bag(lists[:30]))
    with pytest.raises(LoglinearError, match=r"part1\.jsonl: list 'list\d+', candidate 1 has no score 'c'"):
        DaskReranker(base="c", client=client).fit(folder / "part1.jsonl")
    bare = [replace(one, reference=None) for one in lists[:20]]
    with pytest.raises(ValueError, match="has neither a reference nor errors"):
        model.fit(bag(lists[:20], bare))
    with pytest.raises(ValueError, match="leave y out"):
        model.fit(folder / "all.jsonl", [1])
    with pytest.raises(TypeError, match="X is list; give files, or Dask arrays, bags or data frames"):
        model.fit(lists)
    assert not hasattr(model, "weights_")


def test_the_command_trains_on_processes_of_this_machine(folder, tmp_path, lists):
    command = [sys.executable, "-m", "loglinear", "rerank", "train", folder / "part*.jsonl", "-o", tmp_path / "m.ll",
               "--workers", "2", "--dev", folder / "dev.jsonl", "--json"]  # fmt: skip
    done = subprocess.run([*command, "--method", "maxent"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    local = Reranker("maxent").fit(lists, validation=random_lists(60, seed=1, scores=("a", "b")))
    assert (told["lists"], told["features"]) == (local.n_lists_, local.n_features_)
    assert told["loss"] == pytest.approx(local.path_.loss[local.path_.index(told["chosen"])], rel=1e-3)
    assert type(load(tmp_path / "m.ll")) is Reranker
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)  # blasso
    assert done.returncode != 0
    assert "'blasso' is no sum over lists" in " ".join(done.stderr.split())
