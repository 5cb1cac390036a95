"""Runs the native test binary that `make test` builds."""

import subprocess
from pathlib import Path

import pytest

BINARY = Path(__file__).parents[2] / "build" / "native" / "native_tests"


def test_native_unit_tests():
    if not BINARY.exists():
        pytest.skip("build/native/native_tests is not built: run `make native-tests`")
    run = subprocess.run([str(BINARY)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip().endswith(", 0 failed")
