"""Runs the native test binary that `make install` builds beside the extension."""

import subprocess
from pathlib import Path

import pytest

BUILDS = (Path(__file__).parents[2] / "build").glob("cp*/native_tests")
BINARY = max(BUILDS, key=lambda path: path.stat().st_mtime, default=None)


def test_native_unit_tests():
    if BINARY is None:
        pytest.skip("native_tests is not built: run `make install`")
    run = subprocess.run([str(BINARY)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip().endswith(", 0 failed")
