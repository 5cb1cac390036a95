"""Small model files that ask for much memory or time: refused, in a process of its own whose size is measured."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from peak import PEAK

from loglinear import LanguageModel
from loglinear.data.suffix_tree import SuffixTree
from loglinear.features.vocabulary import pack_strings
from loglinear.models import archive as archives
from loglinear.models.archive import Archive

SAVED = Path(__file__).parents[1] / "saved_models"
PROCESS = PEAK + """
import json, sys, time
import loglinear
for path in sys.argv[1:]:  # one that is refused, so that what every load imports is there
    before, begin = peak(), time.process_time()
    try:
        loglinear.load(path)
        told = ""
    except loglinear.ModelFileError as error:
        told = str(error)
    print(json.dumps([told, (peak() - before) >> 20, time.process_time() - begin]))
"""


def changed(name, *, settings=None, **arrays):
    """Return the content of a saved model with other settings and arrays."""
    found = archives.load(SAVED / f"{name}.ll")
    merged = {**found.arrays, **{key.replace("__", "."): array for key, array in arrays.items()}}
    return archives.to_bytes(Archive(found.kind, found.settings | (settings or {}), found.summary, merged))


def promised(name, array, shape):
    """Return a saved model whose header gives an array another shape."""
    data = (SAVED / f"{name}.ll").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header[array]["shape"] = shape
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data[8 + length :]


def labels(n):
    return pack_strings([f"l{i}" for i in range(n)])


def tree(n_words, n_more):
    """Return a language model of one path of ``n_more`` words, each followed by every word."""
    words, offsets = pack_strings(["</s>", "<unk>", *(f"w{i}" for i in range(n_words - 2))])
    numbers = {"n_children": [1, 0], "n_entries": [n_words] * 2, "edge_length": [0, n_more], "edges": [3] * n_more,
               "entry_word": range(n_words)}  # fmt: skip
    arrays = {f"tree__{name}": np.array(values, np.uint32) for name, values in numbers.items()}
    return changed("language_model_of_a_tree", words=words, word_offsets=offsets, tree__weights=np.ones(2 * n_words),
                   **arrays)  # fmt: skip


def files():
    """Yield (name, content, what the refusal says)."""
    for name in (path.stem for path in sorted(SAVED.glob("*.ll"))):
        for array, shape in (described(name)[0], described(name)[-1]):
            for more in ([2**40, *shape[1:]], [2**47] * 8, [2**62, 2**62], [-1, *shape], [1] * 9):
                yield f"{name} {array} {more}", promised(name, array, more), "array"
        yield f"{name} header", struct.pack("<Q", 2**63) + (SAVED / f"{name}.ll").read_bytes()[8:], "a header of"
    blob, offsets = labels(20_000)
    yield "tagger of many labels", changed("tagger", classes=blob, class_offsets=offsets), "for 20000 labels"
    yield "tree", tree(50_000, 254), "to fill the memory"
    yield "matrix", changed("classifier_of_a_matrix", settings={"n_features": 2**27}), "kept features are damaged"
    yield "classes", changed("classifier", classes=blob, class_offsets=offsets), "do not agree in number"


def described(name):
    data = (SAVED / f"{name}.ll").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return [(key, entry["shape"]) for key, entry in header.items() if key != "__metadata__"]


def test_promises_are_not_believed(tmp_path):
    paths, expected = [], []
    for i, (name, content, told) in enumerate(files()):
        paths.append(tmp_path / f"{i}.ll")
        paths[-1].write_bytes(content)
        expected.append((name, told))
    done = subprocess.run([sys.executable, "-c", PROCESS, SAVED / "tagger.ll", *paths], capture_output=True, text=True,
                          timeout=300, check=True)  # fmt: skip
    for (name, told), line in zip(expected, done.stdout.splitlines()[1:], strict=True):
        message, megabytes, seconds = json.loads(line)
        assert told in message, name
        assert megabytes < 100, name
        assert seconds < 1, name  # of the processor; it took 96 once


def test_a_tree_whose_file_would_be_refused_is_saved_by_ngram(tmp_path, monkeypatch):
    text = ["a b c d e f g h", "x b c d e f g h i"] * 3
    model = LanguageModel(None, penalty="tree-linf", strength=0.01, verbose=0).fit(text)
    monkeypatch.setattr("loglinear.data.suffix_tree._MOST_NGRAMS", 1)
    monkeypatch.setattr("loglinear.data.suffix_tree._MOST_PER_NUMBER", 0)
    assert not SuffixTree.is_modest(model.collapsed_)
    model.save(tmp_path / "m.ll")
    again = LanguageModel.load(tmp_path / "m.ll")
    assert not hasattr(again, "collapsed_")
    assert again.perplexity(["a b c d e"]) == pytest.approx(model.perplexity(["a b c d e"]), rel=1e-12)
