"""The test suites of sklearn-crfsuite and python-crfsuite, run with loglinear.crfsuite in the place of both.

They come from the package index: LOGLINEAR_PEERS names a folder, where they are looked for and, if they are not there,
put. Nothing of them is kept in this project. Without the variable these tests are skipped.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

SUITES = [
    ("sklearn-crfsuite", "sklearn_crfsuite", []),
    # test_logparser reads the text that CRFsuite prints, in a private module; its tests are examples in docstrings.
    ("python-crfsuite", "python_crfsuite", ["--ignore=tests/test_logparser.py"]),
]


def suite(package, stem):
    """Return the folder of a package's source distribution, fetched where it is not there yet."""
    folder = os.environ.get("LOGLINEAR_PEERS")
    if not folder:
        pytest.skip("LOGLINEAR_PEERS, a folder for the test suites of peers, is not set")
    if not list(Path(folder).glob(f"{stem}-*/tests")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
        fetched = subprocess.run([*pip, "-d", folder, package], capture_output=True, text=True, check=False)
        archives = list(Path(folder).glob(f"{stem}-*.tar.gz"))
        if not archives:
            pytest.skip(f"{package} could not be fetched from the package index: {fetched.stderr[-200:]}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(folder, filter="data")
    return next(Path(folder).glob(f"{stem}-*/tests")).parent


@pytest.mark.parametrize(("package", "stem", "options"), SUITES, ids=[s[0] for s in SUITES])
def test_the_suite_passes(package, stem, options, tmp_path):
    root = suite(package, stem)
    (tmp_path / "stand_in.py").write_text("from loglinear import crfsuite\n\ncrfsuite.install()\n")
    (tmp_path / "tests").symlink_to(root / "tests")  # away from the package's own sources
    command = [sys.executable, "-m", "pytest", "-q", "-p", "stand_in", "-p", "no:cacheprovider", *options, "tests"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
    assert " passed" in run.stdout
