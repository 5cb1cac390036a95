"""ARPA reader on mutated files: a model or FormatError, the same for any chunks, and what was read can be written.

python tests/fuzz/fuzz_arpa.py --minutes 10
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fuzzing import main, mutate

from loglinear import _core

CORPUS = [
    b"\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\n\n\\1-grams:\n-1 <unk>\n-99 <s> -0.5\n-0.7 </s>\n-0.3 a -0.25\n"
    b"-0.9 b -0.125\n\n\\2-grams:\n-0.2 <s> a -0.1\n-0.4 a b\n-0.6 b </s>\n\n\\3-grams:\n-0.1 <s> a b\n\n\\end\\\n",
    b"\\data\\\nngram 1=3\nngram 2=0\nngram 3=2\n\\1-grams:\n0 <s>\n-1 </s>\n-1 a\n\\2-grams:\n\\3-grams:\n-1 <s> a a\n"
    b"-1 a a </s>\n\\end\\\n",
    b"\\data\\\r\nngram 1=2\r\n\r\n\\1-grams:\r\n-0.5\t</s>\r\n-0.5\t\xc3\xa9\r\n\r\n\\end\\\r\n",
]
TOKENS = [b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\xff", b"\\", b"-inf", b"nan", b"1e999", b"-1e-300", b"<s>", b"</s>",
          b"\\end\\\n", b"ngram 4=0\n", b"\\2-grams:\n", b"-1 a b\n", b"9" * 30]  # fmt: skip


def parsed(data: bytes, n_threads: int, chunk_size: int) -> object:
    pool = _core.ThreadPool(n_threads)
    try:
        blob, offsets, shape, *values = _core.parse_arpa(pool, np.frombuffer(data, np.uint8), chunk_size)
    except _core.ParseError as error:
        return error.args
    model = _core.BackoffArrays(pool, _core.NgramShape(pool, offsets.size - 1, *shape), *values)
    text = _core.ArpaText(pool, model, blob, offsets)
    orders = range(1, shape[0].size)
    return b"".join(text.lines(pool, n, 0, text.n_lines(n), 17).tobytes() for n in orders)


def check(rng: random.Random) -> None:
    """One mutated file."""
    data = mutate(rng, CORPUS, TOKENS)
    assert parsed(data, 1, 1 << 18) == parsed(data, 2, rng.randrange(1, 40))


if __name__ == "__main__":
    main(check)
