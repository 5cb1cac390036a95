"""Saving takes no second copy of a model: the peak of a process that saves is what it had, and 64 MB."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from peak import PEAK

import loglinear
from loglinear.formats import named_arrays
from loglinear.formats.named_arrays import Chosen

MODELS = {
    "classifier of a matrix": """
    model = loglinear.load(SAVED / "classifier_of_a_matrix.ll")
    model.coef_ = np.zeros((5_000_000, 3)).T  # 120 MB, of which 48% are not zero
    model.coef_.T[rng.random(5_000_000) < 0.48] = 1.5
    model.n_features_in_ = 5_000_000
    """,
    "tagger": """
    from dataclasses import replace
    model = loglinear.load(SAVED / "tagger.ll")
    n, size = model.features_.n_attributes, 8_000_000
    model.features_ = replace(model.features_, n_labels=size // n + 1,
                              node_ptr=np.append(np.arange(n) * (size // n), size),
                              node_label=(np.arange(size) % (size // n)).astype(np.int32),
                              pair_ptr=np.zeros(n + 1, np.int64), pair_code=np.zeros(0, np.int32))
    tail = np.ones(model.features_.n_weights - size)
    model.weights_ = np.concatenate([rng.integers(0, 3, size).astype(float), tail])  # 64 MB
    """,
}
PROCESS = PEAK + """
import sys
from pathlib import Path
import numpy as np
import loglinear
SAVED, rng = Path(sys.argv[1]), np.random.default_rng(0)
def make():
    {make}
    return model
def resident():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[1]) * 4096
model = make()
loglinear.load(SAVED / "classifier.ll").save(sys.argv[2])  # imports what saving needs
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # the peak begins anew
before = resident()
model.save(sys.argv[2])
print((peak() - before) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a process")
@pytest.mark.parametrize("name", MODELS)
def test_the_peak_of_saving(name, tmp_path, request):
    saved = request.path.parents[1] / "saved_models"
    program = PROCESS.format(make=MODELS[name].strip())
    done = subprocess.run([sys.executable, "-c", program, saved, tmp_path / "m.ll"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.ll").stat().st_size > 50 << 20
    assert int(done.stdout) <= 40  # MB


SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np
import loglinear
from loglinear.cli import console
model = loglinear.load(Path(sys.argv[1]) / "classifier.ll")
class Large:  # what makes a copy of 256 MB before anything is written, wherever it is saved
    def save(self, path):
        if Path(path) == Path(sys.argv[2]):
            np.ones(1 << 25)
        model.save(path)
used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (128 << 20), -1))
try:
    console.save_model(Large(), sys.argv[2])
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")
def test_a_save_that_is_short_of_memory_keeps_the_model(tmp_path, request):
    saved, path = request.path.parents[1] / "saved_models", tmp_path / "m.ll"
    done = subprocess.run([sys.executable, "-c", SHORT_OF_MEMORY, saved, path], capture_output=True, text=True,
                          env={**os.environ, "TMPDIR": str(tmp_path)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: cannot be written: not enough memory")
    kept = Path(done.stdout.partition("kept as ")[2].strip())
    assert not path.exists()
    assert loglinear.load(kept).classes_.tolist() == loglinear.load(saved / "classifier.ll").classes_.tolist()


@pytest.mark.parametrize("block", [1, 24, 1 << 22])
def test_chosen_rows_are_written_as_their_copy_is(tmp_path, monkeypatch, block):
    monkeypatch.setattr(named_arrays, "_BLOCK", block)
    rng = np.random.default_rng(0)
    table, by = rng.normal(size=(50, 3)), rng.integers(0, 2, 50).astype(np.float64)
    labels, rows = np.arange(50, dtype=np.int32), np.flatnonzero(by)
    chosen = {"a": Chosen(table, by), "b": Chosen(labels, by), "c": Chosen(table, 0 * by), "d": Chosen(None, by)}
    copies = {"a": table[rows], "b": labels[rows], "c": table[:0], "d": rows}
    for name, arrays in (("chosen", chosen), ("copies", copies)):
        with (tmp_path / name).open("wb") as file:
            named_arrays.write(file, {"x": "y"}, arrays)
    assert (tmp_path / "chosen").read_bytes() == (tmp_path / "copies").read_bytes()
