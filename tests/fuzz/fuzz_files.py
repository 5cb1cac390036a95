"""Readers of files on mutated files: data or one of our errors, never another exception.

Binary models of KenLM and CRFsuite, trees, svmlight, classes of words, phrases, JSON lines and checkpoints. What their
native parsers do is fuzzed natively too (native/fuzz); here it is the Python around them.

python tests/fuzz/fuzz_files.py --minutes 10
"""

from __future__ import annotations

import functools
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import kenlm_binaries
from fuzzing import main, mutate

from loglinear import LanguageModel, LoglinearError, Tagger
from loglinear.formats.bracketed import format_bracketed, parse_bracketed, read_bracketed, strip
from loglinear.formats.class_file import read_classes, read_phrases
from loglinear.formats.crfsuite.binary import read_crfsuite_model, write_crfsuite_model
from loglinear.formats.crfsuite.model import CrfsuiteModel
from loglinear.formats.svmlight import read_svmlight
from loglinear.formats.text import read_bytes
from loglinear.optimise.checkpoint import Checkpoint

TOKENS = [b" ", b"\t", b"\n", b"\r\n", b"\0", b"\xff", b"\xff\xff\xff\xff", bytes(4), bytes(8), b"nan", b"1e999",
          b"(", b")", b":", b"#", b"0", b"1", b"9" * 20, b"\xef\xbb\xbf", b"\x1f\x8b", b"{", b'"']  # fmt: skip
NGRAMS = {
    ("<unk>",): (-1.0, None), ("<s>",): (-99.0, -0.5), ("</s>",): (-0.75, None), ("a",): (-0.25, -0.25),
    ("b",): (-1.0, -0.125), ("<s>", "a"): (-0.25, None), ("a", "b"): (-0.5, None), ("b", "</s>"): (-0.5, None),
}  # fmt: skip


def _kenlm(path: Path) -> None:
    model = LanguageModel.from_binary(path)
    with suppress(ValueError):  # only the header is checked when a file is opened: queries refuse what they meet
        model.top("a", 3)
        model.evaluate(["a b", "b x a"])
        model.sample(2, max_length=5)


def _trees(path: Path) -> None:
    trees = read_bracketed(path)
    strip(trees)
    assert format_bracketed(parse_bracketed(format_bracketed(trees))) == format_bracketed(trees)


def _crfsuite(path: Path) -> None:
    model = read_crfsuite_model(path)
    Tagger.from_crfsuite_dump(path).predict([[{"w": 1.0}]])
    assert all(np.isfinite(weights).all() for _, _, weights in (model.states, model.transitions))


def _checkpoint(path: Path) -> None:
    found = Checkpoint(path, problem="p").load(3)
    assert found is None or np.isfinite(found[0]).all()


@functools.cache
def corpora() -> list[tuple[Callable[[Path], Any], list[bytes]]]:
    """Readers, and files that they read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        part = np.array([0, 1]), np.array([1, 0]), np.array([0.5, -1.0])
        write_crfsuite_model(path, CrfsuiteModel(["A", "B"], ["w", "v=\xe9"], part, part))
        crfsuite = path.read_bytes()
        Checkpoint(path, problem="p").save(np.array([0.5, 1.0, -2.0]), 1.0, 7)
        checkpoint = path.read_bytes()
    kenlm = [kenlm_binaries.binary(NGRAMS, kind, words=True) for kind in range(6)]
    trees = [b"(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n", b"( (S-TPC (NP-SBJ-1 (-NONE- *T*)) (VP (V go))))\n"]
    return [
        (_kenlm, kenlm), (_trees, trees), (_crfsuite, [crfsuite]), (_checkpoint, [checkpoint]),
        (read_svmlight, [b"+1 1:0.5 3:-2 # x\n-1 2:1\n", b"a 0:1 4294967296:2\n"]),
        (read_classes, [b"dog\tN\ncat\tN\n", b"0010\tdog\t3\n0\tcat\t1\n"]),
        (lambda path: list(read_phrases(path)), [b"New York\tplace\nAnn\tperson\n", b"dog\nbig dog\n"]),
        (read_bytes, [b"\x1f\x8b\x08" + bytes(30), b"BZh91AY&SY" + bytes(20), b"plain"]),
    ]  # fmt: skip


def check(rng: random.Random) -> None:
    """One mutated file, for its own reader or, now and then, for another."""
    reader, files = rng.choice(corpora())
    if rng.random() < 0.05:
        _, files = rng.choice(corpora())
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(folder) / "f"
        path.write_bytes(mutate(rng, files, TOKENS))
        with suppress(LoglinearError):
            reader(path)


if __name__ == "__main__":
    main(check)
