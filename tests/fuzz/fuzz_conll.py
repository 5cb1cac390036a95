"""CoNLL and CRFsuite readers on mutated files: data or FormatError, the same for any chunks, and equal to plain Python.

python tests/fuzz/fuzz_conll.py --minutes 10
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import itertools

from fuzzing import main, mutate

from loglinear import _core
from loglinear.errors import FormatError
from loglinear.formats.conll import format_conll, parse_conll
from loglinear.formats.crfsuite.data import parse_crfsuite

CORPUS = [
    b"the DT B-NP\ndog NN I-NP\n\nruns VB B-VP\n",
    b"-DOCSTART- O\r\n\r\na X\r\n# Y\r\n",
    b"New York\tNNP\n\t_\n\n\xc3\xa9t\xc3\xa9\t\n",
    b"one\n\n\n\ntwo\nthree",
    b"A\tw=the\tn:2.5\nB\tw\\:x\\\\\n\nO\n",
    b"\xef\xbb\xbfa b\n",
]
TOKENS = [b" ", b"\t", b"\n", b"\n\n", b"\r", b"\r\n", b"\x00",
          b"\xff", b"\xc3", b":", b"\\", b"#", b"1e999", b"nan", b"x" * 300]  # fmt: skip


def twin(data: bytes, separator: str | None, comments: bool) -> list[list[tuple[str, ...]]] | None:
    """What a file says, in plain Python; None where it must be refused."""
    lines = [line.removesuffix(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    sequences: list[list[tuple[str, ...]]] = [[]]
    tab = None if separator is None else separator == "\t"
    width = None
    for line in lines:
        if comments and line.startswith(b"#"):
            continue
        if not line.strip(b" \t"):
            sequences.append([])
            continue
        tab = b"\t" in line if tab is None else tab
        fields = line.split(b"\t") if tab else line.replace(b"\t", b" ").split(b" ")
        fields = fields if tab else [field for field in fields if field]
        width = len(fields) if width is None else width
        try:
            token = tuple(field.decode() for field in fields)
        except UnicodeDecodeError:
            return None
        if len(fields) != width or b"\r" in line:
            return None
        sequences[-1].append(token)
    return [s for s in sequences if s] or None


def check_conll(data: bytes, rng: random.Random) -> None:
    separator, comments = rng.choice([None, " ", "\t"]), rng.random() < 0.3
    expected = twin(data, separator, comments)
    try:
        parsed = parse_conll(data, separator=separator, comments=comments, n_threads=rng.randrange(1, 4))
    except FormatError:
        assert expected is None
        return
    tokens = list(zip(*(parsed.values(c) for c in range(len(parsed.columns)))))
    bounds = parsed.sequence_ptr.tolist()
    assert [tokens[a:b] for a, b in itertools.pairwise(bounds)] == expected
    try:
        written = format_conll(parsed.sequence_ptr, parsed.columns, "\t")
    except FormatError:
        return
    again = parse_conll(written, separator="\t")
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(parsed.columns, again.columns))


def crfsuite(data: bytes, n_threads: int, chunk_size: int) -> object:
    text = np.frombuffer(data, np.uint8)
    try:
        return [part.tolist() for part in _core.parse_crfsuite(_core.ThreadPool(n_threads), text, chunk_size)]
    except _core.ParseError as error:
        return error.args


def check(rng: random.Random) -> None:
    """One mutated file."""
    data = mutate(rng, CORPUS, TOKENS)
    check_conll(data, rng)
    assert crfsuite(data, 1, 1 << 18) == crfsuite(data, 2, rng.randrange(1, 30))
    try:
        parsed = parse_crfsuite(data)
    except FormatError:
        return
    assert parsed.indptr[-1] == parsed.indices.size
    assert parsed.values is None or np.isfinite(parsed.values).all()


if __name__ == "__main__":
    main(check)
