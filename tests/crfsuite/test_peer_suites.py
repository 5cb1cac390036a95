"""The test suites of sklearn-crfsuite and python-crfsuite, run with loglinear.crfsuite in the place of both."""

import os
import subprocess
import sys

import peers
import pytest

SUITES = [
    ("sklearn-crfsuite", []),
    # test_logparser reads the text that CRFsuite prints, in a private module; its tests are examples in docstrings.
    ("python-crfsuite", ["--ignore=tests/test_logparser.py"]),
]


@pytest.mark.parametrize(("package", "options"), SUITES, ids=[s[0] for s in SUITES])
def test_the_suite_passes(pytestconfig, package, options, tmp_path):
    root = peers.source(pytestconfig, package)
    (tmp_path / "stand_in.py").write_text("from loglinear import crfsuite\n\ncrfsuite.install()\n")
    (tmp_path / "tests").symlink_to(root / "tests")  # away from the package's own sources
    command = [sys.executable, "-m", "pytest", "-q", "-p", "stand_in", "-p", "no:cacheprovider", *options, "tests"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
    assert " passed" in run.stdout
