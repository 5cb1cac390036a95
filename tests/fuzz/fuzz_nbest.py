"""Readers of n-best lists on mutated files: lists or FormatError, and what was read is written and read back the same.

python tests/fuzz/fuzz_nbest.py --minutes 10
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fuzzing import main, mutate

from loglinear.data.candidates import encode_lists
from loglinear.errors import FormatError
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import NBEST_FORMATS, read_nbest, write_nbest

CORPUS = [
    b'{"id": "u", "reference": "a b", "hypotheses": [{"text": "a c", "score": -1.5}, {"text": "a b"}]}\n',
    b'{"hypotheses": [{"text": "x", "scores": {"lm": -2}, "errors": 1, "features": {"n": 3}}, "y"]}\n',
    b"NBestList1.0\n(-12.5) a b\n(-13) a c\n",
    b"NBestList2.0\n(-12) a ( st: 0 et: 1 g: -3 a: -4 ) b ( st: 1 et: 2 g: -1 a: -2 )\n",
    b"-1200.5 -13.2 2 show flights\n-1300 -10 1 show\n",
    b"0 ||| a b ||| lm= -3 tm= -1 -2 ||| -6\n0 ||| a ||| lm= -1 ||| -2 ||| 0-0\n1 ||| x ||| lm=-1 ||| -1\n",
    b"u-1 a b\nu-2 a c\nv-1 \xe3\x81\x82\n",
]
TOKENS = [b" ", b"\t", b"\n", b"|||", b" ||| ", b"(", b")", b"nan", b"inf", b"1e999", b"-", b"=", b"{", b"}", b"[",
          b"]", b'"', b"null", b"\xff", b"\xef\xbb\xbf", b"\\ud800", b"9" * 30]  # fmt: skip


def check(rng: random.Random) -> None:
    """One mutated file, in its own format or in another."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lists"
        path.write_bytes(mutate(rng, CORPUS, TOKENS))
        format_name = rng.choice([None, *NBEST_FORMATS])
        try:
            lists = read_nbest(path, format_name)
        except FormatError:
            return
        numbers = [x for one in lists for c in one.candidates for x in (*c.scores.values(), *c.features.values())]
        assert all(math.isfinite(x) for x in numbers)
        copy = Path(folder) / "copy"
        write_nbest(copy, lists)
        assert read_nbest(copy, "jsonl") == lists
        data = encode_lists(lists, CandidateFeatures(min_count=1, characters=(2,)), base=(), labelled=False)
        assert data.n_lists == len(lists)


if __name__ == "__main__":
    main(check)
