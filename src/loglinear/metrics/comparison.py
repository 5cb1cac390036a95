"""Comparison of two language models on a text: a significance test, and the words and sentences where they differ.

Differences of log-probability are second minus first, in nats: positive if the second model is better. The interval and
the p-value come from drawing sentences with replacement (``loglinear.metrics.bootstrap``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear.metrics.bootstrap import interval, resampled, two_sided
from loglinear.metrics.perplexity import perplexity

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

END = 0  # the word that ends a sentence
_MOST_UNITS = 50_000  # drawn per sample; beyond it, runs of neighbouring sentences are drawn together
_BANDS = ((1, 1, "once"), (2, 9, "2-9 times"), (10, 99, "10-99 times"), (100, 999, "100-999 times"))
_BAND_NAMES = (*(name for _, _, name in _BANDS), "1,000 times or more", "unknown words", "ends of sentences")


@dataclass(frozen=True)
class PairedScores:
    """The natural log-probabilities of the tokens of a text under two models; each sentence ends with an END token."""

    first: FloatArray  # [n_tokens]
    second: FloatArray  # [n_tokens]
    words: IntArray  # [n_tokens] numbers of the distinct words of the text; END for ends of sentences
    sentence_ptr: IntArray  # [n_sentences + 1] where each begins among the tokens; none is empty
    unknown: NDArray[np.bool_]  # [n_distinct] words that one of the models does not know
    orders: tuple[NDArray[np.uint8], NDArray[np.uint8]]  # [n_tokens] lengths of the n-grams found by each


@dataclass(frozen=True)
class Part:
    """Some of the tokens of the text, such as all occurrences of one word, and the scores of both models on them."""

    name: str
    n_tokens: int
    perplexity_first: float
    perplexity_second: float
    difference: float  # of the total log-probabilities, second minus first


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two models on a text."""

    n_sentences: int
    n_tokens: int
    perplexity_first: float
    perplexity_second: float
    difference: float  # of the perplexities, second minus first: negative where the second is better
    interval: tuple[float, float]  # 95% of the samples
    p_value: float
    n_samples: int
    words: list[Part]  # with the largest differences, either way
    sentences: list[Part]
    bands: list[Part]  # by how often the word occurs in the text
    orders_first: list[Part]  # by the length of the n-gram that the first model found
    orders_second: list[Part]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def compare_scores(
    scores: PairedScores, word: Callable[[int], str], sentence: Callable[[int], str], *, n_samples: int = 1000,
    random_state: int = 0, most: int = 10,
) -> Comparison:
    """Compare two models; ``word`` and ``sentence`` return the text of words and sentences by number."""
    if scores.first.size == 0:
        raise ValueError("there is no text to compare the models on")
    if not (np.isfinite(scores.first).all() and np.isfinite(scores.second).all()):
        raise ValueError(_impossible(scores, word))
    sums = _sentence_sums(scores)
    pp_first, pp_second = (float(x) for x in _perplexities(sums.sum(axis=0)[None])[0])
    differences = np.diff(_perplexities(resampled(_units(sums), n_samples, random_state)), axis=1)[:, 0]
    return Comparison(
        n_sentences=len(sums), n_tokens=scores.first.size, perplexity_first=pp_first, perplexity_second=pp_second,
        difference=pp_second - pp_first, interval=interval(differences), p_value=two_sided(differences),
        n_samples=n_samples,
        words=_largest(_grouped(scores, scores.words, scores.unknown.size), word, most),
        sentences=_largest(sums, sentence, most),
        bands=_in_order(_grouped(scores, _band_of_token(scores), len(_BAND_NAMES)), lambda k: _BAND_NAMES[k]),
        orders_first=_by_order(scores, scores.orders[0]), orders_second=_by_order(scores, scores.orders[1]),
    )


def _impossible(scores: PairedScores, word: Callable[[int], str]) -> str:
    which = "first" if not np.isfinite(scores.first).all() else "second"
    wrong = np.flatnonzero(~np.isfinite(scores.first if which == "first" else scores.second))
    place = int(np.searchsorted(scores.sentence_ptr, wrong[0], side="right"))
    return (
        f"the {which} model gives {wrong.size} tokens no probability at all, the first of them "
        f"{word(int(scores.words[wrong[0]]))!r} in sentence {place}: its perplexity is infinite and cannot be "
        "compared"
    )


# ---- how much: sums of (first, second, tokens) -------------------------------------------------------------------
def _sentence_sums(scores: PairedScores) -> FloatArray:
    starts = scores.sentence_ptr[:-1]
    sums = [np.add.reduceat(values, starts) for values in (scores.first, scores.second)]
    return np.stack([*sums, np.diff(scores.sentence_ptr).astype(np.float64)], axis=1)  # [n_sentences, 3]


def _perplexities(sums: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-sums[:, :2] / sums[:, 2:]))


def _units(sums: FloatArray) -> FloatArray:
    """Return the sums of the units that are drawn."""
    return np.add.reduceat(sums, np.arange(0, len(sums), -(-len(sums) // _MOST_UNITS)), axis=0)


# ---- where -------------------------------------------------------------------------------------------------------
def _grouped(scores: PairedScores, groups: NDArray[Any], n_groups: int) -> FloatArray:
    """Return sums of (first, second, tokens) by group of token: [n_groups, 3]."""
    columns = [np.bincount(groups, weights=w, minlength=n_groups) for w in (scores.first, scores.second, None)]
    return np.stack(columns, axis=1)


def _band_of_token(scores: PairedScores) -> IntArray:
    counts = np.bincount(scores.words, minlength=scores.unknown.size)
    bands = np.searchsorted([low for low, _, _ in _BANDS[1:]] + [_BANDS[-1][1] + 1], counts, side="right")
    bands[scores.unknown] = len(_BAND_NAMES) - 2
    bands[END] = len(_BAND_NAMES) - 1
    return np.asarray(bands[scores.words])


def _by_order(scores: PairedScores, orders: NDArray[np.uint8]) -> list[Part]:
    return _in_order(_grouped(scores, orders, int(orders.max()) + 1), lambda n: f"{n}-gram")


def _in_order(sums: FloatArray, name: Callable[[int], str]) -> list[Part]:
    return [_part(name(i), row) for i, row in enumerate(sums) if row[2] > 0]


def _largest(sums: FloatArray, name: Callable[[int], str], most: int) -> list[Part]:
    """Return the groups whose log-probability differs most; ties by number."""
    best = np.argsort(-np.abs(sums[:, 1] - sums[:, 0]), kind="stable")[:most]
    return [_part(name(int(i)), sums[i]) for i in best if sums[i, 0] != sums[i, 1]]


def _part(name: str, row: FloatArray) -> Part:
    n = int(row[2])
    return Part(name, n, perplexity(float(row[0]), n), perplexity(float(row[1]), n), float(row[1] - row[0]))
