"""The fuzz drivers pass their first cases."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_arpa
import fuzz_conll
import fuzz_files
import fuzz_model
import fuzz_nbest
import fuzz_templates
import kill_training
from fuzzing import run

DRIVERS = [fuzz_arpa, fuzz_conll, fuzz_files, fuzz_model, fuzz_nbest, fuzz_templates]


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_the_first_cases(driver):
    run(driver.check, range(60), seed=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_trainings_resume_to_the_optimum():
    found = kill_training.run(2, seed=1, kinds=["classifier, l2", "language model, elastic net"])
    assert all(n == 1 and worst < 2 * kill_training.TOLERANCE for n, worst in found.values())
