import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.errors import LoglinearError
from loglinear.features.text.words import WordNgrams

SEPARATORS = (
    "\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u037e\u0387\u055a-\u055f\u0589\u058a\u05be\u05c0"
    "\u05c3\u060c\u060d\u061b\u061e\u061f\u066a-\u066d\u06d4\u0964\u0965\u1680\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004"
    "\u3008-\u303f\ud800-\udfff\ufe10-\ufe1f\ufe30-\ufe6f\ufeff\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
    "\ufff0-\uffff"
)
CHARACTER = f"(?:[0-9A-Za-z_]|[^\\x00-\\x7f{SEPARATORS}])"
WORD = re.compile(f"{CHARACTER}+(?:'{CHARACTER}+)*")


def twin(texts, orders, lowercase, min_count):
    """Names and rows by a regular expression and Counters."""
    words = [WORD.findall(text.lower() if lowercase else text) for text in texts]
    names = []
    for n in sorted(orders):
        counts = Counter(" ".join(row[i : i + n]) for row in words for i in range(len(row) - n + 1))
        names += [name for name, count in counts.items() if count >= min_count]  # by first occurrence
    numbers = {name: i for i, name in enumerate(names)}
    rows = []
    for row in words:
        grams = (" ".join(row[i : i + n]) for n in orders for i in range(len(row) - n + 1))
        rows.append(sorted(Counter(numbers[g] for g in grams if g in numbers).items()))
    return names, rows


def as_rows(csr):
    indptr, indices, values = csr
    assert (indptr.dtype, indices.dtype, values.dtype) == (np.int64, np.int32, np.float64)
    return [list(zip(indices[a:b].tolist(), values[a:b].tolist())) for a, b in pairwise(indptr)]


alphabet = st.one_of(st.sampled_from("abA '_-3é×’、µ\u3005\ud800😀"), st.characters())
texts = st.lists(st.text(alphabet, max_size=40), max_size=12)
orders = st.sets(st.integers(1, 4), min_size=1)


@settings(max_examples=150, deadline=None)
@given(texts, orders, st.booleans(), st.integers(1, 3))
def test_against_the_twin(texts, orders, lowercase, min_count):
    featuriser = WordNgrams(orders, lowercase, min_count)
    rows = as_rows(featuriser.fit_transform(texts))
    assert (featuriser.names(), rows) == twin(texts, sorted(orders), lowercase, min_count)
    assert as_rows(featuriser.transform(texts)) == rows
    threaded = WordNgrams(orders, lowercase, min_count)
    assert as_rows(threaded.fit_transform(texts, 3)) == rows
    assert threaded.vocabulary == featuriser.vocabulary


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i:x}" for i in range(3000)], dtype=object)
    chosen = (3000 * rng.random(60_000) ** 4).astype(int)
    cuts = np.sort(rng.integers(0, 60_000, 400))
    return [" ".join(part) for part in np.split(words[chosen], cuts)]


@pytest.mark.parametrize(("orders", "min_count"), [((1,), 1), ((1, 2), 2), ((1, 3), 1), ((2, 3), 3)])
def test_threads_do_not_matter(corpus, orders, min_count):
    one = WordNgrams(orders, min_count=min_count)
    expected = one.fit_transform(corpus, 1)
    assert (one.names(), as_rows(expected)) == twin(corpus, orders, True, min_count)
    for n_threads in (2, 5):
        many = WordNgrams(orders, min_count=min_count)
        for a, b, c in zip(expected, many.fit_transform(corpus, n_threads), one.transform(corpus, n_threads)):
            assert np.array_equal(a, b)
            assert np.array_equal(a, c)
        assert many.vocabulary == one.vocabulary


def test_words():
    featuriser = WordNgrams(lowercase=True)
    featuriser.fit_transform(["Don't 'quote' it''s snake_case a-b 3.5 Ünïcode “x”… 日本、東京 naïve\u00a0end'"])
    assert featuriser.names() == ["don't", "quote", "it", "s", "snake_case", "a", "b", "3", "5", "ünïcode", "x", "日本",
                                  "東京", "naïve", "end"]


def test_unknown_and_long_texts():
    featuriser = WordNgrams((1, 2))
    featuriser.fit_transform(["a b c", "b c"])
    assert as_rows(featuriser.transform(["b  C!\n\tz", "", "x y"])) == [[(1, 1.0), (2, 1.0), (4, 1.0)], [], []]
    _, _, values = featuriser.transform(["a " * 1_000_000 + "x" * 1_000_000])
    assert values.tolist() == [1_000_000.0]


def test_nothing_to_fit():
    featuriser = WordNgrams((1, 2))
    assert as_rows(featuriser.fit_transform([])) == []
    assert as_rows(featuriser.fit_transform(["", "..."])) == [[], []]
    assert featuriser.names() == []
    assert as_rows(featuriser.transform(["a"])) == [[]]


@pytest.mark.parametrize("ngrams", [(), (0,), (33,), (1, -2), (1.0,), (True,)])
def test_bad_orders(ngrams):
    with pytest.raises(ValueError, match="ngrams must be one or more orders between 1 and 32"):
        WordNgrams(ngrams)


def test_refusals():
    with pytest.raises(ValueError, match="min_count must be a whole number of at least 1, not 0"):
        WordNgrams(min_count=0)
    with pytest.raises(ValueError, match="lowercase must be true or false, not 1"):
        WordNgrams(lowercase=1)
    with pytest.raises(LoglinearError, match="WordNgrams has no vocabulary yet; call fit_transform first"):
        WordNgrams().transform(["a"])
    with pytest.raises(TypeError, match="texts must be a list of strings, not one string"):
        WordNgrams().fit_transform("a b")
    with pytest.raises(TypeError, match="item 1 is bytes, not a string"):
        WordNgrams().fit_transform(["a", b"b"])
