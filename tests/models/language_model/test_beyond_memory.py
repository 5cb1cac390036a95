"""A model trained under a limit of memory is that trained in memory; what fails is told, and leaves nothing."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import invoke

from loglinear import LanguageModel, _core


def lines(n=3000, n_words=400, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{w}" for w in np.minimum(rng.zipf(1.3, n), n_words)) for n in rng.integers(0, 15, n)]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    return path


SETTINGS = [
    {}, {"prune": (0, 0, 1)}, {"prune": (0, 1, 1, 2), "max_words": 100}, {"estimator": "kneser-ney-single"},
    {"estimator": "witten-bell"}, {"estimator": "add-k", "k": 0.1}, {"order": 1}, {"order": 2, "units": "characters"},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_is_the_model_of_training_in_memory(text, tmp_path, settings):
    settings = {"order": 4, "estimator": "kneser-ney", **settings}
    expected = LanguageModel(**settings).fit(text)
    found = LanguageModel(**settings, memory="16M", tmp=tmp_path).fit(text)
    for name, array in expected.queries_.arrays().items():
        assert np.array_equal(found.queries_.arrays()[name], array), name
    for name in ("n_ngrams_", "counts_", "n_tokens_", "order_", "n_weights_", "status_"):
        assert getattr(found, name) == getattr(expected, name), name
    assert getattr(found, "discounts_", None) == getattr(expected, "discounts_", None)
    found.save(tmp_path / "m.ll")
    loaded = LanguageModel.load(tmp_path / "m.ll")
    for name, array in expected.queries_.arrays().items():
        assert np.array_equal(loaded.queries_.arrays()[name], array), name
    assert [path.name for path in tmp_path.iterdir()] == ["m.ll"]


def test_files_of_any_kind_and_held_out_text(text, tmp_path):
    expected = LanguageModel(3, "kneser-ney").fit(lines(), validation=lines(50, seed=1))
    packed = tmp_path / "text.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    column = tmp_path / "text.jsonl"
    column.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines()), encoding="utf-8")
    for source in (packed, column, lines(), iter(lines())):
        found = LanguageModel(3, "kneser-ney", memory="16M").fit(source, validation=lines(50, seed=1))
        assert found.validation_score_ == expected.validation_score_
        assert np.array_equal(found.queries_.arrays()["entries"], expected.queries_.arrays()["entries"])


MAXENT = [{}, {"strength": 3.0}, {"min_count": (1, 1, 2)}, {"prune_entropy": 1e-6}]


@pytest.mark.parametrize("settings", MAXENT, ids=str)
def test_maximum_entropy_is_that_of_training_in_memory(text, tmp_path, settings):
    settings = {"order": 3, "tolerance": 1e-3, "n_threads": 2, **settings}
    expected = LanguageModel(**settings).fit(text)
    found = LanguageModel(**settings, memory="4M", tmp=tmp_path).fit(text)
    for name in ("objective_", "gap_", "n_ngrams_", "counts_", "n_weights_", "n_parameters_", "order_"):
        assert getattr(found, name) == getattr(expected, name), name
    found.save(tmp_path / "m.ll")
    loaded = LanguageModel.load(tmp_path / "m.ll")
    for name, array in expected.queries_.arrays().items():
        assert np.array_equal(found.queries_.arrays()[name], array), name
        assert np.array_equal(loaded.queries_.arrays()[name], array), name
    assert [path.name for path in tmp_path.iterdir()] == ["m.ll"]


@pytest.mark.parametrize("penalty", ["elastic_net", "l2"])
def test_weights_and_the_vectors_of_the_solver_live_in_files(text, tmp_path, monkeypatch, penalty):
    made, make = [], _core.mapped_bytes

    def counted(folder, n_bytes):
        made.append(n_bytes)
        return make(folder, n_bytes)

    monkeypatch.setattr(_core, "mapped_bytes", counted)
    settings = {"order": 3, "penalty": penalty, "nonnegative": penalty == "elastic_net"}
    limited = LanguageModel(memory="4M", tmp=tmp_path, **settings).fit(text)
    n_mapped = len(made)
    plain = LanguageModel(**settings).fit(text)
    n_weights = sum(plain.counts_)
    assert len(made) == n_mapped > 20
    assert sum(n_bytes >= 8 * n_weights for n_bytes in made) >= 8  # weights, gradients, directions, pairs
    assert (limited.objective_, limited.n_iter_) == (plain.objective_, plain.n_iter_)
    for name in ("log_probability", "log_backoff"):
        mine, other = (getattr(model.queries_.to_backoff(), name) for model in (limited, plain))
        np.testing.assert_array_equal(mine, other)
    assert list(tmp_path.iterdir()) == []


def test_refusals(text):
    with pytest.raises(ValueError, match="memory cannot be combined with prune_entropy"):
        LanguageModel(3, "kneser-ney", memory="1G", prune_entropy=1e-7).fit(text)
    with pytest.raises(ValueError, match=r"memory=1M is too little to count n-grams of 397 words: give at least 3.1M"):
        LanguageModel(3, "kneser-ney", memory="1M").fit(text)
    with pytest.raises(ValueError, match="memory is a positive number of bytes"):
        LanguageModel(3, "kneser-ney", memory="much").fit(text)


def test_the_command_uses_a_folder_and_refuses_one_that_is_not_there(text, tmp_path):
    output = tmp_path / "m.ll"
    train = ("lm", "train", text, "-o", output, "--order", "3", "--estimator", "kneser-ney", "--memory", "16M")
    assert invoke(*train, "--tmp", tmp_path).exit_code == 0
    found = LanguageModel.load(output).queries_.arrays()["entries"]
    assert np.array_equal(found, LanguageModel(3, "kneser-ney").fit(text).queries_.arrays()["entries"])
    refused = invoke(*train, "--tmp", tmp_path / "none")
    assert refused.exit_code == 2
    assert f"{tmp_path / 'none'}: No such file or directory (temporary files are written there" in refused.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="a killed process is watched through /proc")
def test_a_killed_process_leaves_nothing(tmp_path):
    """It is killed while it waits for more of its text, with temporary files open."""
    command = [sys.executable, "-m", "loglinear", "lm", "train", "-", "-o", tmp_path / "m.ll", "--memory", "16M"]
    command += ["--estimator", "kneser-ney", "--tmp", tmp_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        until = time.monotonic() + 60
        while time.monotonic() < until and not _has_temporary_files(child.pid):
            child.stdin.write(b"a b c\n" * 200_000)
        assert _has_temporary_files(child.pid)
        os.kill(child.pid, signal.SIGKILL)
        child.stdin = None
    assert list(tmp_path.iterdir()) == []


def _has_temporary_files(pid):
    return any("(deleted)" in str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir())
