"""scikit-learn's own tests of LogisticRegression, with MaxentClassifier in its place by logistic_regression.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

TESTS = Path(__file__).parents[2]


@pytest.mark.skipif(tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8), reason="written for scikit-learn 1.8")
def test_no_test_of_scikit_learn_fails(tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "logistic_regression", "-p", "no:cacheprovider",
               "--pyargs", "sklearn.linear_model.tests.test_logistic"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) > 100
