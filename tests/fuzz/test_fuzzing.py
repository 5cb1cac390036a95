"""The fuzz drivers run, for a second."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_arpa
import fuzz_conll
import fuzz_model
import fuzz_nbest
import fuzz_templates
from fuzzing import run

DRIVERS = [fuzz_arpa, fuzz_conll, fuzz_model, fuzz_nbest, fuzz_templates]


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_a_second_of_fuzzing(driver):
    if driver is fuzz_model:
        fuzz_model.corpus()  # models are trained before the clock starts
    assert run(driver.check, 1.0, seed=1) > 10
