"""Model files with faults of every kind: loading gives a model or ModelFileError, and a model that loads predicts.

Faults are put in bytes, in the settings (JSON) and in the arrays: their values, shapes, types and names. A prediction
may be refused in words (the data do not fit the damaged model), but its labels are always the model's.

python tests/fuzz/fuzz_model.py --minutes 10
"""

from __future__ import annotations

import copy
import functools
import json
import random
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from composite_problems import DOCUMENTS
from fuzzing import main, mutate

import loglinear
from loglinear import (
    InputMethod,
    LanguageModel,
    LoglinearError,
    MaxentClassifier,
    ModelFileError,
    Parser,
    Reranker,
    Tagger,
)  # fmt: skip
from loglinear.formats import named_arrays
from loglinear.formats.bracketed import parse_bracketed
from loglinear.formats.nbest import Candidate, CandidateList
from loglinear.report.model import describe_model

TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,0]/%X[0,0]\nU2:%m[0,1,\"^.\"]\nB\n*3:%x[0,1]\n"
PLAIN = TEMPLATES.replace("*3:%x[0,1]\n", "")
WORDS = [[("the", "D"), ("dog", "N"), ("ran", "V")], [("a", "D"), ("dog", "N")], [("it", "P"), ("ran", "V")]]
TAGS = [["B-X", "I-X", "O"], ["B-X", "I-X"], ["B-X", "O"]]
DICTS = [[{"w": word, "n": 0.5 * len(tag)} for word, tag in sequence] for sequence in WORDS]
TEXTS, CLASSES = ["the dog ran", "a dog", "it ran far", "no dog at all"], ["x", "y", "z", "x"]
READINGS = ["さとへ", "へさ?"]
LISTS = [
    CandidateList("a", [Candidate("the dog ran", {"score": 1.0}), Candidate("a dog ran", {"score": 0.5})], "a dog ran"),
    CandidateList("b", [Candidate("a 犬", {"score": 0.0}, None, {"f": 2.0}), Candidate("it", {"score": -1.0})], "it"),
    CandidateList("c", [Candidate("a dog", {"score": 0.0}), Candidate("it ran", {"score": -1.0})], "a dog"),
    CandidateList("d", [], "it"),
]
NUMBERS = [0, -1, 1, 2, 3, 4, 31, 255, 2**31 - 1, -(2**31), 2**62, -(2**63)]
VALUES: list[Any] = [None, True, False, "", "x", "bio", "auto", "hmm", "memm", "crf", "sparse", [], {}, [["a", "b"]],
                     ["O"], 0.5, -0.0, 1e308, 2**70, "\ud800", *NUMBERS]  # fmt: skip
TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1", "BOOL": "|b1"}


def _models() -> list[tuple[Any, Any]]:
    """Fitted models of every kind, and something to predict."""
    found: list[tuple[Any, Any]] = []
    for estimator in ("crf", "memm", "m-estimation", "hmm"):
        for order in (1, 2):
            templates = TEMPLATES if estimator in ("crf", "memm") else PLAIN
            found.append((Tagger(estimator, templates, order=order, constraint="auto").fit(WORDS, TAGS), WORDS))
    for settings in ({}, {"hash_bits": 4}, {"penalty": "l1"}, {"constraint": [("O", "I-X")]}):
        found.append((Tagger(**settings).fit(DICTS, TAGS), DICTS))
    found.append((Tagger(templates=TEMPLATES, hash_bits=6, oov=True).fit(WORDS, TAGS), WORDS))
    for settings in ({"ngrams": (1, 2)}, {"penalty": "l1", "strength": 0.1}):
        found.append((MaxentClassifier(**settings).fit(TEXTS, CLASSES), TEXTS))
    dicts = [sequence[0] for sequence in DICTS] + [DICTS[0][1]]
    found.append((MaxentClassifier().fit(dicts, [True, False, True, False]), dicts))
    matrix = np.eye(4, 9)
    found.append((MaxentClassifier("l1", 0.01).fit(matrix, [1, 2, 3, 1]), matrix))
    pairs = ["里|さと へ|へ 佐|さ", "里|さと と|と 差|さ 屁|へ"]
    found += [(InputMethod(order).fit(pairs), READINGS) for order in (1, 3)]
    found.append((InputMethod(2, readings="keypad").fit(TEXTS), ["843 36 1", "2"]))
    for method in ("blasso", "maxent", "perceptron", "none"):
        settings = {"min_count": 1, "skips": 1, "headwords": ["the"], "characters": (1, 2), "max_iterations": 50}
        found.append((Reranker(method, strength=0.1, **settings).fit(LISTS, validation=LISTS), LISTS))
    trees = parse_bracketed(b"(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))\n(S (NN cat) (VBZ ran))")
    for method in ("crf", "pcfg"):
        parser = Parser(method, min_word_count=1, max_iterations=3, verbose=0).fit(trees)
        found.append((parser, [["the", "cat", "barks"]]))
    cache = {"window": 9, "half_lives": (2.0, 5.0), "ngram_half_life": 4.0, "strength": 0.1}
    found.append((LanguageModel(3, cache=cache, classes=3, verbose=0).fit(TEXTS, validation=TEXTS), TEXTS))
    found.append((LanguageModel(3, verbose=0).fit(TEXTS), TEXTS))
    found.append((LanguageModel(sources="words:3,topic,tags:2", verbose=0).fit(DOCUMENTS), DOCUMENTS))
    return found


@functools.cache
def corpus() -> list[tuple[bytes, Any]]:
    """The files of all models, each with something to predict."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m.ll"
        files = []
        for model, X in _models():
            model.save(path)
            files.append((path.read_bytes(), X))
    return files


def take_apart(data: bytes) -> tuple[dict[str, Any], dict[str, tuple[str, list[int], bytes]]]:
    """The document and, by name, the type, shape and bytes of each array."""
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    document = json.loads(header.pop("__metadata__")["loglinear"])
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = (entry["dtype"], entry["shape"], rest[begin:end])
    return document, arrays


def put_together(document: Any, arrays: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """A file with a checksum that fits, that safetensors accepts where the arrays are consistent."""
    strings = {"loglinear": json.dumps(document)}
    with suppress(ValueError):  # arrays that are not consistent, which nobody will compare
        views = {name: np.frombuffer(a, TYPES[kind]).reshape(shape) for name, (kind, shape, a) in arrays.items()}
        strings["checksum"] = named_arrays.digest(strings, views)
    header: dict[str, Any] = {"__metadata__": strings}
    rest = b""
    for name, (kind, shape, content) in arrays.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(rest), len(rest) + len(content)]}
        rest += content
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + rest


def damage_document(rng: random.Random, document: Any) -> None:
    """Another value, a missing one or one too many, somewhere in the settings."""
    while True:
        keys = list(document) if isinstance(document, dict) else range(len(document))
        if not keys:
            return
        key = rng.choice(list(keys))
        if isinstance(document[key], (dict, list)) and document[key] and rng.random() < 0.8:
            document = document[key]
            continue
        if rng.random() < 0.15:
            del document[key]
        elif rng.random() < 0.15 and isinstance(document, dict):
            document[rng.choice(["x", "kept", "order", "featuriser", "oov"])] = copy.deepcopy(rng.choice(VALUES))
        else:
            document[key] = copy.deepcopy(rng.choice(VALUES))
        return


def damage_array(rng: random.Random, arrays: dict[str, tuple[str, list[int], bytes]]) -> None:
    """Other values, another shape, type or name; or none at all."""
    name = rng.choice(list(arrays))
    kind, shape, content = arrays[name]
    how = rng.randrange(8)
    size = np.dtype(TYPES[kind]).itemsize
    array = np.frombuffer(content[: len(content) // size * size], TYPES[kind]).copy()
    if how <= 3 and array.size:
        at = rng.randrange(array.size)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            worst = [np.nan, np.inf, -1e308, -0.5, 1e308] if kind[0] == "F" else NUMBERS
            array[at] = np.array(rng.choice(worst)).astype(array.dtype)
        arrays[name] = kind, shape, array.tobytes()
    elif how == 4 and array.size:
        cut = array[: rng.randrange(array.size)] if rng.random() < 0.5 else np.concatenate([array, array])
        arrays[name] = kind, [cut.size], cut.tobytes()
    elif how == 5:
        arrays[name] = kind, rng.choice([[1, *shape], [*shape, 1], [0], [0, 2**40], []]), content
    elif how == 6:
        other = rng.choice(list(TYPES))
        arrays[name] = other, [len(content) // np.dtype(TYPES[other]).itemsize], content
    else:
        swapped = rng.choice(list(arrays))
        arrays[name], arrays[swapped] = arrays[swapped], arrays[name]
        if rng.random() < 0.3:
            del arrays[swapped]


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The file with some faults."""
    if rng.random() < 0.3:
        return mutate(rng, [data], [b"\0", b"\xff" * 8, b'"', b"{", b"9", b"nan"])
    document, arrays = take_apart(data)
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.5 or not arrays:
            damage_document(rng, document)
        else:
            damage_array(rng, arrays)
    return put_together(document, arrays)


def predict(model: Any, X: Any) -> None:
    """Whatever the damaged model says is made of its own labels."""
    if isinstance(model, InputMethod):
        with suppress(LoglinearError, ValueError):
            model.convert(X, 5)
        return
    if isinstance(model, Reranker):
        predict_lists(model, X)
        return
    if isinstance(model, Parser):
        with suppress(LoglinearError, ValueError):
            for tree in model.predict(X):
                str(tree)
            model.predict_nbest(X, 3)
        return
    if isinstance(model, LanguageModel):
        ask(model, X)
        return
    classes = list(model.classes_)
    try:
        if isinstance(model, Tagger):
            labels = [label for sequence in model.predict(X) for label in sequence]
            model.predict_nbest(X, 3)
            model.marginal_array(X)
        else:
            labels = list(model.predict(X))
            model.predict_proba(X)
    except (LoglinearError, ValueError, TypeError):
        return
    assert all(label in classes for label in labels)


def ask(model: LanguageModel, X: Any) -> None:
    """Whatever a damaged model says of a text is a number, and its most probable words are its own."""
    with suppress(LoglinearError, ValueError):
        model.evaluate(X)
    with suppress(LoglinearError, ValueError):
        assert len(model.top("", 3)) <= 3
        model.sample(2, max_length=5)


def predict_lists(model: Reranker, lists: list[CandidateList]) -> None:
    """Whatever the damaged model prefers, it gives the candidates of the lists."""
    model.feature_weights(3)
    with suppress(LoglinearError, ValueError):
        ranked = model.rerank(lists)
        model.evaluate(lists, n_samples=2)
        model.explain(lists[0])
        for one, given in zip(ranked, lists):
            assert sorted(c.text for c in one.candidates) == sorted(c.text for c in given.candidates)


def check(rng: random.Random) -> None:
    """One damaged file."""
    data, X = rng.choice(corpus())
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(folder) / "m.ll"
        path.write_bytes(damaged(rng, data))
        refused = ""
        try:
            model = loglinear.load(path, verify=rng.random() < 0.5)
        except ModelFileError as error:
            refused = str(error)
        assert not refused or str(path) in refused
        if not refused:
            predict(model, X)
            if isinstance(model, Reranker):
                describe_model(path)


if __name__ == "__main__":
    main(check)
