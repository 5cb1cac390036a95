"""Model files with one fault each, everywhere a fault can be: a load gives a model or a ModelFileError, nothing else.

Checksums are not what refuses them: they are not compared. What must be refused: numbers that are not finite, arrays of
another shape or type, and names that occur twice.
"""

import copy
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import loglinear
from loglinear import LanguageModel, ModelFileError, Parser
from loglinear.formats.bracketed import parse_bracketed
from loglinear.models import archive as archives
from loglinear.models.archive import Archive
from tests.composite_problems import DOCUMENTS

SAVED = {path.stem: path for path in sorted(Path(__file__).parents[1].glob("saved_models/*.ll"))}
TREES = b"(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))\n(S (NP (NN cat)) (VP (VBZ barks)))\n"
TEXT = ["the dog sees a cat", "a dog eats the fish", "the cat sleeps", "a bird sees the dog", "one dog barks"] * 2
CACHE = {"window": 9, "half_lives": (2.0, 5.0), "ngram_half_life": 4.0, "strength": 0.1}
KINDS = [*SAVED, "parser", "composite", "cached"]
DELETED = object()
VALUES = {"settings": [DELETED, None, "x", [], {}, 0.5, -1, 2**31 - 1], "summary": [DELETED, None, "x", -1]}
NUMBERS = [-1, 255, 2**62]


@pytest.fixture(scope="module", params=KINDS)
def model_file(request, tmp_path_factory):
    """The content of a model file, and a place to put damaged ones."""
    path = tmp_path_factory.mktemp("model") / "m.ll"
    if request.param in SAVED:
        return archives.load(SAVED[request.param]), path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if request.param == "parser":
            model = Parser("crf", min_word_count=1, max_iterations=5, verbose=0).fit(parse_bracketed(TREES))
        elif request.param == "composite":
            model = LanguageModel(sources="words:3,topic,tags:2", verbose=0).fit(DOCUMENTS)
        else:
            model = LanguageModel(3, cache=CACHE, classes=3, verbose=0).fit(TEXT, validation=TEXT)
    model.save(path)
    found = archives.load(path)
    return Archive(found.kind, found.settings, found.summary, dict(found.arrays)), path


def outcome(model_file, *, arrays=None, settings=None, summary=None):
    """Return the refusal of a file with other content, or "" where it is loaded; no other exception may come."""
    found, path = model_file
    content = Archive(
        found.kind, found.settings if settings is None else settings, found.summary if summary is None else summary,
        found.arrays if arrays is None else arrays,
    )  # fmt: skip
    try:
        path.write_bytes(archives.to_bytes(content))
    except (ValueError, UnicodeEncodeError):  # not JSON: it cannot be in a file
        return "no file"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            loglinear.load(path)
        except ModelFileError as error:
            refusal = str(error)
        else:
            return ""
    assert refusal.startswith(f"{path}: ")
    return refusal


def test_numbers_that_are_not_finite(model_file):
    for name, array in model_file[0].arrays.items():
        if array.dtype.kind != "f" or name.startswith("path."):
            continue
        for place in {0, array.size // 2, array.size - 1} if array.size else ():
            for value in (np.nan, np.inf, -np.inf):
                damaged = array.copy()
                damaged.reshape(-1)[place] = value
                assert outcome(model_file, arrays={**model_file[0].arrays, name: damaged}), (name, place, value)


def test_arrays_of_another_shape_or_type(model_file):
    for name, array in model_file[0].arrays.items():
        others = {key: a for key, a in model_file[0].arrays.items() if key != name}
        outcome(model_file, arrays=others)
        if not name.startswith(("composite.", "factored.")):  # of which some are used as they lie in memory
            assert outcome(model_file, arrays={**others, name: array[..., None]}), name
        twice = np.concatenate([array, array])
        for damaged in (array[:0], array[:-1], np.zeros_like(array), twice, array.astype(np.int8)):
            outcome(model_file, arrays={**others, name: damaged})


def test_numbers_in_arrays(model_file):
    for name, array in model_file[0].arrays.items():
        for place in {0, array.size // 2, array.size - 1} if array.size and array.dtype.kind in "iu" else ():
            for value in NUMBERS:
                damaged = array.copy()
                damaged.reshape(-1)[place] = np.array(value).astype(array.dtype)
                outcome(model_file, arrays={**model_file[0].arrays, name: damaged})


def test_names_that_occur_twice(model_file):
    arrays = model_file[0].arrays
    for name, offsets in arrays.items():
        if not name.endswith("offsets") or offsets.size < 3:
            continue
        endings = {"_offsets": ("_blob", "s", "es"), ".offsets": (".blob",)}[name[-8:]]
        blob = next((name[:-8] + e for e in endings if name[:-8] + e in arrays), None)
        if blob is None or blob.endswith("readings"):  # which must ascend
            continue
        data = arrays[blob].tobytes()
        strings = [data[a:b] for a, b in pairwise(offsets.tolist())]
        strings[-1] = strings[0]
        damaged = {
            blob: np.frombuffer(b"".join(strings), np.uint8), name: np.cumsum([0, *map(len, strings)]).astype(np.int64)
        }  # fmt: skip
        assert outcome(model_file, arrays={**arrays, **damaged}), name


def places(document, at=()):
    """Yield the path to every value of a document."""
    for key in document if isinstance(document, dict) else range(len(document)):
        yield (*at, key)
        if isinstance(document[key], (dict, list)):
            yield from places(document[key], (*at, key))


@pytest.mark.parametrize("part", ["settings", "summary"])
def test_settings_and_summaries(model_file, part):
    document = getattr(model_file[0], part)
    for *way, last in places(document):
        for value in VALUES[part]:
            damaged = copy.deepcopy(document)
            at = damaged
            for key in way:
                at = at[key]
            if value is DELETED:
                del at[last]
            else:
                at[last] = copy.deepcopy(value)
            outcome(model_file, **{part: damaged})
