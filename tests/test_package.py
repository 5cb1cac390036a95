import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import sparse_data

import loglinear
from loglinear import _core
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.threads import pool


def test_import_is_light():
    code = "import sys, loglinear, loglinear.solvers, loglinear.losses, loglinear.penalties; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"sklearn", "matplotlib", "rich", "typer", "pandas"} & set(out)
    assert not heavy


def test_public_names():
    for name in loglinear.__all__:
        assert getattr(loglinear, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        loglinear.nothing  # noqa: B018
    assert set(loglinear.__all__) <= set(dir(loglinear))


def test_the_package_runs_as_a_command():
    done = subprocess.run([sys.executable, "-m", "loglinear", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"loglinear {loglinear.__version__}\n"), done.stderr
    done = subprocess.run([sys.executable, "-m", "loglinear", "--help"], capture_output=True, text=True, check=True)
    assert "Usage: python -m loglinear [OPTIONS] COMMAND" in done.stdout


def test_the_version_is_one():
    root = Path(__file__).parents[1]
    assert f"\nversion: {loglinear.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert "__version__" not in (root / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in (root / "pyproject.toml").read_text(encoding="utf-8")


def _evaluate(_):
    loss = MultinomialLoss(sparse_data(3), n_threads=2)
    g = np.empty(loss.n_weights)
    return loss.value_and_gradient(np.full(loss.n_weights, 0.1), g)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_children_have_threads_of_their_own():
    here = _evaluate(0)
    with multiprocessing.get_context("fork").Pool(2) as children:
        assert children.map(_evaluate, range(4), chunksize=1) == [here] * 4


def test_kernels_refuse_wrong_types_and_read_only_outputs():
    x = np.zeros(4)
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        _core.dot(pool(1), x.astype(np.float32), x)
    with pytest.raises(TypeError):
        _core.combine(pool(1), 1.0, x, 0.0, x, frozen)
    with pytest.raises(TypeError):
        _core.max_abs(pool(1), np.zeros((4, 4))[:, ::2])
    with pytest.raises(ValueError, match="differ in length"):
        _core.dot(pool(1), x, np.zeros(5))
