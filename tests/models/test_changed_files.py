"""Model files that change while a model is in use: the answers stay right, or an error says what happened."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from backoff_models import wide_bigrams

import loglinear
from loglinear import LanguageModel, MaxentClassifier
from loglinear.models import KINDS, archive

N_WORDS = 20_000  # in five blocks of contexts
EARLY, LATE = "w3 w4 w5", f"w{N_WORDS - 9} w{N_WORDS - 8} w{N_WORDS - 7}"  # words of the first and of the last block
SAVED = sorted(Path(__file__).parents[1].glob("saved_models/*.ll"))
# A process opens a file, asks it something, has it changed, and goes on asking.
PROCESS = """
import os, sys, numpy as np, loglinear
from loglinear import LanguageModel
how, path, early, late = sys.argv[1:]
model = LanguageModel.load(path)
before = model.queries_.score(early)
if how == "truncated":
    os.truncate(path, 5000)
elif how == "emptied":
    open(path, "wb").close()
elif how == "overwritten":
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        file.seek(5000)
        file.write(np.random.default_rng(0).bytes(size - 5000))
elif how == "replaced":
    with open(path + ".new", "wb") as file:
        file.write(b"another file")
    os.replace(path + ".new", path)
assert model.queries_.score(early) == before
try:
    print("answer", model.queries_.score(late))
except ValueError as error:
    print("refused", error)
for use in (lambda: model.sample(100), lambda: model.top(late), lambda: model.save(path + ".copy")):
    try:
        use()
    except ValueError as error:
        assert "changed after it was opened" in str(error), error
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A language model of more than half a million slots: a file that is read block by block."""
    path = tmp_path_factory.mktemp("large") / "m.ll"
    LanguageModel.from_backoff(wide_bigrams(N_WORDS, 30)).save(path)
    return path


@pytest.mark.parametrize(
    ("how", "outcome"), [("truncated", "refused"), ("emptied", "refused"), ("overwritten", "refused"),
                         ("replaced", "answer")]
)  # fmt: skip
def test_a_changed_language_model_is_an_error_and_never_a_signal(large, tmp_path, how, outcome):
    path = tmp_path / "m.ll"
    shutil.copy(large, path)
    expected = LanguageModel.load(large).queries_.score(LATE)
    arguments = [sys.executable, "-c", PROCESS, how, str(path), EARLY, LATE]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(outcome)
    if outcome == "answer":
        assert float(done.stdout.split()[1]) == expected
    else:
        assert "m.ll: the file was changed after it was opened; load it again" in done.stdout


def test_half_a_block_of_another_file_is_never_used(large, tmp_path):
    """A change that keeps size and time is not seen, but what it brings is checked as all else is."""
    path = tmp_path / "m.ll"
    for seed in range(5):
        shutil.copy(large, path)
        model = LanguageModel.load(path)
        assert np.isfinite(model.queries_.score(EARLY))
        found, rng = path.stat(), np.random.default_rng(seed)
        data = np.fromfile(path, np.uint8)
        places = rng.integers(data.size // 10, data.size, 2000)
        data[places] = rng.integers(0, 256, places.size)
        with path.open("r+b") as file:
            file.write(data.tobytes())
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        with pytest.raises(ValueError, match="query arrays"):
            model.save(tmp_path / "copy.ll")  # after which all has been read


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
@pytest.mark.parametrize("mmap", [False, True])
def test_every_kind_is_loaded_into_memory_of_its_own_unless_asked_otherwise(path, mmap, tmp_path):
    copy = tmp_path / "m.ll"
    shutil.copy(path, copy)
    loaded = archive.load(copy, mmap=mmap)
    model = loglinear.load(copy, mmap=mmap)
    assert type(model) is KINDS[loaded.kind].load_class(trainable=True)
    assert {isinstance(array, np.memmap) for array in loaded.arrays.values() if array.size} == {mmap}
    assert not any(array.flags.writeable for array in loaded.arrays.values())
    if not mmap:
        model.save(tmp_path / "before.ll")
        os.truncate(copy, 100)
        model.save(tmp_path / "after.ll")
        before, after = (archive.load(tmp_path / name, verify=True) for name in ("before.ll", "after.ll"))
        assert before.checksum == after.checksum


def test_an_array_that_is_read_after_a_change_is_refused(tmp_path):
    path = tmp_path / "m.ll"
    MaxentClassifier().fit(["a b", "b c", "c a"], ["x", "y", "x"]).save(path)
    opened = archive.load(path)
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(loglinear.ModelFileError, match=r"m\.ll: the file was changed after it was opened"):
        opened.arrays["weights"]
