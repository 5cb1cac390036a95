"""Model files under attack: every damaged file is a ModelFileError with a sentence, never a crash."""

import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import labelled_texts

import loglinear
from loglinear import MaxentClassifier, ModelFileError
from loglinear.models import archive


@pytest.fixture(scope="module")
def model():
    texts, labels = labelled_texts()
    return MaxentClassifier("l1", 1.0, ngrams=(1, 2)).fit(texts, labels)


@pytest.fixture(scope="module")
def good(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.ll"
    model.save(path)
    return path.read_bytes()


def load(tmp_path, data, **options):
    path = tmp_path / "m.ll"
    path.write_bytes(data)
    return loglinear.load(path, **options)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100, 1000, -1, -100])
def test_truncated(good, tmp_path, n):
    with pytest.raises(ModelFileError, match=r"m\.ll: "):
        load(tmp_path, good[:n])


def test_trailing_bytes(good, tmp_path):
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path, good + b"\0")


@pytest.mark.parametrize("length", [2**63, 2**40, 10**8 + 1, len(b"x")])
def test_header_length_is_not_trusted(good, tmp_path, length):
    with pytest.raises(ModelFileError):
        load(tmp_path, struct.pack("<Q", length) + good[8:])


def test_foreign_files(tmp_path):
    for data in (b"", b"PK\x03\x04 a zip", b"\x80\x04\x95 a pickle", b"{}", b"\x7fELF" + bytes(100)):
        with pytest.raises(ModelFileError):
            load(tmp_path, data)
    from safetensors.numpy import save

    with pytest.raises(ModelFileError, match="not a loglinear model"):
        load(tmp_path, save({"a": np.zeros(3)}))
    with pytest.raises(ModelFileError, match="no such file"):
        loglinear.load(tmp_path / "missing.ll")
    with pytest.raises(ModelFileError, match=r"folder|cannot be read"):
        loglinear.load(tmp_path)


def test_unknown_kind_and_version(tmp_path):
    archive.save(tmp_path / "m.ll", archive.Archive("teapot", {}, {}, {"a": np.zeros(1)}))
    with pytest.raises(ModelFileError, match="unknown kind 'teapot'"):
        loglinear.load(tmp_path / "m.ll")
    data = (tmp_path / "m.ll").read_bytes().replace(b'\\"format\\": 1', b'\\"format\\": 9')
    with pytest.raises(ModelFileError, match="format 9"):
        load(tmp_path, data)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_bit_flips(good, tmp_path_factory, data):
    """A flip in the header is refused or harmless; a flip in the arrays is found by the checksum."""
    header = struct.unpack("<Q", good[:8])[0] + 8
    at = data.draw(st.one_of(st.integers(0, header - 1), st.integers(0, len(good) - 1)))
    bad = bytearray(good)
    bad[at] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("flip") / "m.ll"
    path.write_bytes(bytes(bad))
    with pytest.raises(ModelFileError):
        loglinear.load(path, verify=True)
    try:
        changed = loglinear.load(path)
        changed.predict(["some words to score"])
    except (ModelFileError, ValueError):
        pass


@pytest.mark.parametrize("change", ["weights", "intercept", "classes", "n_features", "offsets", "kind", "parameters"])
def test_inconsistent_contents(good, tmp_path, change):
    (tmp_path / "g.ll").write_bytes(good)
    a = archive.load(tmp_path / "g.ll")
    arrays, settings_ = dict(a.arrays), json.loads(json.dumps(a.settings))
    if change == "weights":
        arrays["weights"] = np.zeros((2, 2))
    elif change == "intercept":
        arrays["intercept"] = np.zeros(99)
    elif change == "classes":
        arrays["class_offsets"] = np.array([0, 10**12])
    elif change == "n_features":
        settings_["n_features"] = 5
    elif change == "offsets":
        arrays["featuriser.vocabulary_offsets"] = arrays["featuriser.vocabulary_offsets"][::-1].copy()
    elif change == "kind":
        settings_["featuriser"]["kind"] = "os.system"
    else:
        settings_["parameters"]["no_such_parameter"] = 1
    archive.save(tmp_path / "m.ll", archive.Archive(a.kind, settings_, a.summary, arrays))
    with pytest.raises(ModelFileError, match=r"m\.ll: "):
        loglinear.load(tmp_path / "m.ll", verify=True)


def test_arrays_are_mapped_where_that_is_asked_for(good, tmp_path, model):
    loaded = load(tmp_path, good, mmap=True)
    base = loaded.coef_
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert loaded.solver_ == model.solver_
    assert loaded.strength_ == 1.0


@pytest.mark.skipif(os.name != "posix", reason="needs resource limits")
def test_full_disk_keeps_the_old_file(tmp_path, good):
    """A file-size limit stands in for a full disk: the write fails half way, the old model stays."""
    path = tmp_path / "m.ll"
    path.write_bytes(good)
    code = (
        "import resource, signal, sys, loglinear\n"
        "m = loglinear.load(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    m.save(sys.argv[1])\nexcept OSError as e:\n    print('refused', e)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "refused" in run.stdout
    assert path.read_bytes() == good
    assert [p.name for p in tmp_path.iterdir()] == ["m.ll"]
