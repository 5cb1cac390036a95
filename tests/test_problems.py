"""The made-up problems are the same everywhere."""

import hashlib

import numpy as np
from problems import labelled_texts, zipf


def test_draws_and_texts_are_the_same_under_every_version():
    assert zipf(np.random.default_rng(0), 1.15, 8) == [844, 1, 75967, 411628, 5971, 540730, 10, 1]
    texts, _ = labelled_texts()
    assert hashlib.md5("\n".join(texts).encode()).hexdigest() == "6508615f2c19b07f52ce4c26578b1d0c"
