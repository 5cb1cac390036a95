"""Files of class-factored models and caches, damaged in every array: refused by a sentence, or the answers are sane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loglinear import ModelFileError, load
from loglinear.models import LanguageModel, archive

TRAIN = ["the dog sees a cat", "a dog eats the fish", "the cat sleeps", "a bird sees the dog", "one cat sees birds"] * 3
HELD_OUT = ["a bird sees the bird", "the bird eats", "one dog sleeps"] * 2
HISTORY = {"words": "the", "document": ["a bird sees the bird"]}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.ll"
    model = LanguageModel(order=3, classes=(3, 6), sources="words:2,classes:3,skip:1", cache=True)
    model.fit(TRAIN, validation=HELD_OUT).save(path)
    return path


def damage(array):
    """Arrays of the same kind that are wrong: shorter, longer, and with numbers beyond any bound."""
    yield array[:-1]
    yield np.concatenate([array, array[-1:]])
    if array.size:
        for value in (np.iinfo(array.dtype).max, 0) if array.dtype.kind in "iu" else (np.nan, np.inf):
            wrong = array.copy()
            wrong.flat[array.size // 2] = value
            yield wrong


def test_damaged_arrays_are_refused_or_harmless(saved, tmp_path):
    """No array that is read may lead a kernel outside of another one."""
    whole, refused = archive.load(saved), 0
    expected = load(saved).next_distribution(HISTORY)
    for name in whole.arrays:
        for wrong in [None, *damage(np.array(whole.arrays[name]))]:
            part = archive.load(saved)
            part = replace(part, arrays=dict(part.arrays))
            if wrong is None:
                del part.arrays[name]
            else:
                part.arrays[name] = wrong
            archive.save(tmp_path / "damaged.ll", part)
            try:
                model = load(tmp_path / "damaged.ll")
                p = model.next_distribution(HISTORY)
            except ModelFileError:
                refused += 1
                continue
            assert wrong is not None, f"{name} is not needed"
            assert p.shape == expected.shape, name
            assert p.sum() == pytest.approx(1.0, abs=1e-9), name
            model.perplexity(HELD_OUT)
    assert refused > 2 * len(whole.arrays)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(saved, tmp_path, share):
    data = saved.read_bytes()
    (tmp_path / "short.ll").write_bytes(data[: int(share * len(data))])
    with pytest.raises(ModelFileError, match=r"short\.ll"):
        load(tmp_path / "short.ll")


@pytest.mark.parametrize("key", ["members", "levels", "shares", "cache"])
def test_damaged_settings_are_refused(saved, tmp_path, key):
    for wrong in (None, 7, "x", [], {}, -1):
        part = archive.load(saved)
        own = part.settings["factored"]
        (own["members"][0] if key == "levels" else own)[key] = wrong
        archive.save(tmp_path / "damaged.ll", part)
        if key == "cache" and wrong is None:
            continue  # a mixture without a cache: its weights are then left unread
        with pytest.raises(ModelFileError, match=r"damaged\.ll"):
            load(tmp_path / "damaged.ll")
