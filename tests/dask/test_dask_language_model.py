"""Language models on a real local cluster: counts to the bit, the optimum of one process, killed workers, refusals."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.bag as db

from loglinear import LanguageModel, LoglinearError, load
from loglinear.dask import DaskLanguageModel, cluster
from loglinear.data import ngram
from tests.dask.kills import killed

ARRAYS = ("context_start", "entry_start", "context_word", "context_child", "context_entry", "entry_word")
TIGHT = {"tolerance": 1e-9, "max_iterations": 5000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sentences of a made-up language, in one file and in three."""
    rng, folder = random.Random(0), tmp_path_factory.mktemp("texts")
    lines = []
    for _ in range(2500):
        word, words = 0, []
        for _ in range(rng.randrange(1, 14)):
            word = (word * 7 + min(60, int(rng.expovariate(0.15)))) % 211
            words.append(f"w{word}")
        lines.append(" ".join(words) + "\n")
    (folder / "all.txt").write_text("".join(lines), encoding="utf-8")
    for k, cut in enumerate((slice(0, 900), slice(900, 1000), slice(1000, None))):
        (folder / f"part{k}.txt").write_text("".join(lines[cut]), encoding="utf-8")
    return folder


def check_same_bits(model, local):
    assert list(model.vocabulary_) == list(local.vocabulary_)
    assert (model.n_tokens_, model.counts_) == (local.n_tokens_, local.counts_)
    mine, other = model.queries_.to_backoff(), local.queries_.to_backoff()
    for name in (*ARRAYS, "log_probability", "log_backoff"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [
        {"estimator": "kneser-ney", "order": 4},
        {"estimator": "kneser-ney", "order": 3, "prune": (0, 0, 1), "min_word_count": 3},
        {"estimator": "kneser-ney-single", "order": 1},
        {"estimator": "witten-bell", "order": 3, "prune_entropy": 1e-5},
        {"estimator": "add-k", "order": 2, "k": 0.5, "vocabulary": [f"w{k}" for k in range(90)]},
    ],
)
def test_counted_models_are_those_of_one_process_to_the_bit(client, folder, settings):
    local = LanguageModel(**settings).fit(folder / "all.txt")
    for given in (str(folder / "part*.txt"), folder / "all.txt"):
        model = DaskLanguageModel(client=client, **settings).fit(given)
        check_same_bits(model, local)
        assert getattr(model, "discounts_", None) == getattr(local, "discounts_", None)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"penalty": "l2", "nonnegative": False, "min_count": (1, 2)},
        {"strength_classes": "fine", "order": 2},
    ],
)
def test_the_optimum_is_that_of_one_process(client, folder, tmp_path, settings):
    settings = {"order": 3, **settings, **TIGHT}
    local = LanguageModel(**settings).fit(folder / "all.txt")
    model = DaskLanguageModel(client=client, **settings).fit(folder / "part*.txt", validation=folder / "part1.txt")
    assert model.converged_
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert model.solver_ == local.solver_
    assert model.strengths_ == local.strengths_
    assert abs(model.n_weights_ - local.n_weights_) <= 3
    assert model.perplexity(folder / "all.txt") == pytest.approx(local.perplexity(folder / "all.txt"), rel=1e-5)
    model.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").score(folder / "part1.txt") == pytest.approx(model.validation_score_, rel=1e-9)


def test_the_same_parts_give_the_same_bits(client, folder):
    first, second = (DaskLanguageModel(3, client=client).fit(folder / "part*.txt") for _ in range(2))
    check_same_bits(first, second)


def test_the_same_number_of_parts_gives_the_same_bits_on_any_number_of_workers(client, folder):
    settings = {"order": 3, "n_parts": 3, "n_threads": 2}
    first = DaskLanguageModel(client=client, **settings).fit(folder / "part*.txt")
    with cluster(n_workers=1, n_threads=1) as alone:
        second = DaskLanguageModel(client=alone, **settings).fit(folder / "part*.txt")
    check_same_bits(first, second)
    assert (first.n_iter_, first.objective_) == (second.n_iter_, second.objective_)
    assert "n_parts" not in first.to_local().get_params()


@pytest.mark.parametrize("moment", [0.1, 1.0])
def test_a_killed_worker_is_replaced_and_the_optimum_stays(client, folder, caplog, moment):
    """It is killed (SIGKILL) while n-grams are sorted and exchanged, and while weights are trained."""
    local = LanguageModel(3, **TIGHT).fit(folder / "all.txt")
    with killed(client, moment, caplog, slice(1)):
        model = DaskLanguageModel(3, client=client, **TIGHT).fit(folder / "part*.txt")
    assert model.converged_
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-9)


def test_the_vocabulary_outlives_the_worker_that_has_it(client):
    from loglinear.dask.language_model import _Work

    work = _Work.__new__(_Work)
    work.client = client
    client.wait_for_workers(2, timeout=60)
    known = work._known(["a", "b"])
    assert known.result(timeout=30) == ["a", "b"]
    holders = [address for addresses in client.who_has([known]).values() for address in addresses]
    pids = client.run(os.getpid, workers=holders)
    assert pids
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    client.wait_for_workers(2, timeout=60)
    assert known.result(timeout=60) == ["a", "b"]


def test_more_ngrams_than_can_be_numbered_are_refused(client, folder, monkeypatch):
    counts = LanguageModel(3, "kneser-ney").fit(folder / "all.txt").counts_
    monkeypatch.setattr(ngram, "MOST_NGRAMS", sum(counts) - 1)
    told = rf"there are {sum(counts):,} n-grams .* more than the .*: order=2 fits, with {sum(counts[:2]):,}; "
    for estimator, remedy in (("maxent", r"or leave out rare n-grams \(min_count\)"), ("kneser-ney", "or count under")):
        with pytest.raises(ValueError, match=told + remedy):
            DaskLanguageModel(3, estimator, client=client).fit(folder / "part*.txt")
    assert DaskLanguageModel(3, min_count=(1, 1, 2), client=client).fit(folder / "part*.txt").converged_


def test_bags_of_sentences_and_empty_partitions(client, folder):
    lines = (folder / "all.txt").read_text(encoding="utf-8").splitlines()
    bag = db.from_delayed([_delayed(lines[:700]), _delayed([]), _delayed(lines[700:])])
    model = DaskLanguageModel(3, "kneser-ney", client=client).fit(bag)
    check_same_bits(model, LanguageModel(3, "kneser-ney").fit(folder / "all.txt"))


def test_data_frames_have_a_column_of_text(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    texts = ["so it goes", "it goes on", "so on and on", "it is so"] * 5
    frame = dd.from_pandas(pd.DataFrame({"id": range(20), "body": texts}), npartitions=2)
    local = LanguageModel(2, "kneser-ney").fit(texts)
    model = DaskLanguageModel(2, "kneser-ney", text_column="body", client=client)
    check_same_bits(model.fit(frame), local)
    check_same_bits(model.fit(frame.body), local)
    check_same_bits(model.fit(db.from_sequence([{"body": text} for text in texts], npartitions=2)), local)
    with pytest.raises(LoglinearError, match="the data frame has no column 'text'; its columns are 'id', 'body'"):
        DaskLanguageModel(2, client=client).fit(frame)


def _delayed(lines):
    from dask import delayed

    return delayed(lines, pure=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "tree-l2"}, "tree penalties, order=None and tuned strengths"),
        ({"order": None}, "tree penalties, order=None and tuned strengths"),
        ({"tune": "validation"}, "tune is for one process"),
        ({"base": "m.ll"}, "base is for one process"),
        ({"memory": "1G"}, "memory is for one process"),
        ({"checkpoint": "c"}, "checkpoint is for one process"),
        ({"solver": "newton"}, "solver 'newton' is for one process; on a cluster: auto, owlqn, lbfgs"),
        ({"estimator": "guess"}, "unknown estimator 'guess'"),
        ({"n_parts": 0}, "n_parts is a positive whole number, or None"),
    ],
)
def test_what_cannot_be_spread_is_refused(client, folder, settings, message):
    with pytest.raises((LoglinearError, ValueError), match=message):
        DaskLanguageModel(client=client, **settings).fit(folder / "all.txt")


def test_words_that_are_reserved_are_named_by_their_place(client, tmp_path):
    line = "some words that are long enough to be cut in several places of the file\n"
    (tmp_path / "t.txt").write_text(line * 4000 + "a <s> b\n", encoding="utf-8")
    with pytest.raises(LoglinearError, match=r"t\.txt:4001: '<s>' is reserved"):
        DaskLanguageModel(2, client=client).fit(tmp_path / "t.txt")
    settings = {"unknown": "error", "vocabulary": line.split(), "reserved": "skip"}
    with pytest.raises(LoglinearError, match=r"t\.txt:4001: the word 'a' is not in the vocabulary"):
        DaskLanguageModel(2, client=client, **settings).fit(tmp_path / "t.txt")
    (tmp_path / "e.txt").write_text("\n\n", encoding="utf-8")
    with pytest.raises(LoglinearError, match="there are no words"):
        DaskLanguageModel(2, client=client).fit(tmp_path / "e.txt")
    with pytest.raises((LoglinearError, OSError), match="nowhere"):
        DaskLanguageModel(2, client=client).fit(tmp_path / "nowhere.txt")


def test_the_command_trains_on_processes_of_this_machine(folder, tmp_path):
    text, dev, output = (str(path) for path in (folder / "part*.txt", folder / "part1.txt", tmp_path / "m.ll"))
    command = [sys.executable, "-m", "loglinear", "lm", "train", text, "-o", output, "--dev", dev]
    command += ["--order", "3", "--estimator", "kneser-ney", "--workers", "2"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    local = LanguageModel(3, "kneser-ney").fit(folder / "all.txt", validation=folder / "part1.txt")
    assert json.loads(done.stdout)["tokens"] == local.n_tokens_
    check_same_bits_of_files(load(tmp_path / "m.ll"), local)
    command += ["--cluster", "tcp://nowhere:1"]
    again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 2
    assert "leave one of them out" in again.stderr


def check_same_bits_of_files(model, local):
    for name in ("log_probability", "log_backoff", "entry_word"):
        mine, other = (getattr(m.queries_.to_backoff(), name) for m in (model, local))
        np.testing.assert_array_equal(mine, other.astype(mine.dtype), err_msg=name)
