"""Word and character error rates, their confidence intervals, and tests of whether two systems differ.

    rate = errors / length of the transcripts,       reduction = (baseline - rate) / baseline

Intervals are percentiles over lists drawn with replacement (the bootstrap). Two systems are compared list by list, on
the same transcripts: by the bootstrap of the difference of their rates, and by the matched-pairs test of Gillick and
Cox (1989), which compares the mean difference of errors per list with its standard error.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists
from loglinear.metrics.bootstrap import interval, resampled, two_sided
from loglinear.metrics.figures import Figures


@dataclass(frozen=True)
class ErrorRate:
    """Errors per word or character of the transcripts."""

    rate: float
    interval: tuple[float, float]  # 95% of the samples
    n_errors: float
    length: float
    n_lists: int
    n_wrong: int  # lists with an error


@dataclass(frozen=True)
class ErrorComparison:
    """How the errors of a second system compare with those of a first."""

    rate_first: float
    rate_second: float
    difference: float  # second - first: negative where the second is better
    interval: tuple[float, float]  # of the difference, 95% of the samples
    reduction: float  # share of the first system's errors that the second avoids; NaN if the first makes none
    p_bootstrap: float
    p_matched_pairs: float
    n_better: int  # lists in which the second makes fewer errors
    n_worse: int


@dataclass(frozen=True)
class RerankingScores:
    """Error rates of the chosen candidates, of the baseline, and of the best and worst possible choices."""

    baseline: ErrorRate
    reranked: ErrorRate
    oracle: ErrorRate
    worst: ErrorRate
    comparison: ErrorComparison  # reranked against the baseline
    oracle_share: float  # of the reduction that the oracle would bring; NaN if there is none

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self, dict_factory=Figures)


def error_rate(errors: Any, length: Any, *, n_samples: int = 1000, random_state: int = 0) -> ErrorRate:
    """Return the error rate from the errors and the length of each list."""
    errors, length = _checked(errors, length)
    samples = resampled(np.stack([errors, length], axis=1), n_samples, random_state)
    return ErrorRate(
        rate=float(errors.sum() / length.sum()), interval=interval(samples[:, 0] / samples[:, 1]),
        n_errors=float(errors.sum()), length=float(length.sum()), n_lists=errors.size,
        n_wrong=int(np.count_nonzero(errors)),
    )


def compare_errors(
    first: Any, second: Any, length: Any, *, n_samples: int = 1000, random_state: int = 0
) -> ErrorComparison:
    """Compare two systems by their errors on the same lists."""
    first, length = _checked(first, length)
    second, _ = _checked(second, length)
    change = second - first
    samples = resampled(np.stack([change, length], axis=1), n_samples, random_state)
    differences = samples[:, 0] / samples[:, 1]
    total, total_first = float(length.sum()), float(first.sum())
    return ErrorComparison(
        rate_first=total_first / total, rate_second=float(second.sum()) / total, difference=float(change.sum()) / total,
        interval=interval(differences), reduction=-float(change.sum()) / total_first if total_first else math.nan,
        p_bootstrap=two_sided(differences), p_matched_pairs=matched_pairs(change),
        n_better=int(np.count_nonzero(change < 0)), n_worse=int(np.count_nonzero(change > 0)),
    )


def matched_pairs(change: FloatArray) -> float:
    """Return the two-sided p-value of a zero mean of ``change``, by the normal approximation; 1 if nothing changes."""
    n = change.size
    deviation = float(np.std(change, ddof=1)) if n > 1 else 0.0
    mean = float(np.mean(change))
    if deviation == 0.0:
        return 1.0 if mean == 0.0 or n < 2 else 0.0
    return math.erfc(abs(mean) / (deviation / math.sqrt(n)) / math.sqrt(2))


def reranking_scores(
    data: CandidateLists, w: FloatArray, *, baseline: FloatArray | Literal["first"] | None = None,
    n_samples: int = 1000, random_state: int = 0,
) -> RerankingScores:  # fmt: skip
    """Return the scores of the candidates that the weights ``w`` choose in encoded lists.

    ``baseline`` is None (the choice of the first base score alone), weights, or "first" (the first candidate of every
    list, as it was given).
    """
    sampling = {"n_samples": n_samples, "random_state": random_state}
    before, after = baseline_errors(data, baseline), data.chosen_errors(w)
    room = float(before.sum() - data.reference_errors.sum())
    return RerankingScores(
        baseline=error_rate(before, data.length, **sampling),
        reranked=error_rate(after, data.length, **sampling),
        oracle=error_rate(data.reference_errors, data.length, **sampling),
        worst=error_rate(_worst(data), data.length, **sampling),
        comparison=compare_errors(before, after, data.length, **sampling),
        oracle_share=float(before.sum() - after.sum()) / room if room else math.nan,
    )


def baseline_errors(data: CandidateLists, baseline: FloatArray | Literal["first"] | None = None) -> FloatArray:
    """Return the errors of every list before reranking, by a baseline of :func:`reranking_scores`."""
    if isinstance(baseline, str):
        return data.errors_of(np.minimum(data.reference, 0))  # place 0, and -1 in an empty list
    if baseline is None:
        baseline = np.zeros(data.n_weights)
        baseline[: min(data.n_base, 1)] = 1.0
    return data.chosen_errors(baseline)


def _worst(data: CandidateLists) -> FloatArray:
    more = np.zeros(data.n_lists)
    np.maximum.at(more, data.list_of_pair(), data.errors)
    return data.reference_errors + more


def _checked(errors: Any, length: Any) -> tuple[FloatArray, FloatArray]:
    errors, length = np.asarray(errors, dtype=np.float64), np.asarray(length, dtype=np.float64)
    if errors.ndim != 1 or errors.shape != length.shape:
        raise ValueError(f"one number of errors and one length per list are needed, not {errors.shape}, {length.shape}")
    if errors.size == 0:
        raise ValueError("there are no lists to score")
    unknown = np.flatnonzero(np.isnan(length))
    if unknown.size:
        raise ValueError(
            f"{unknown.size} of {length.size} lists have no transcript (the first is number {unknown[0]}), so there is "
            "no error rate; give references"
        )
    if not np.isfinite(errors).all() or np.any(errors < 0) or not np.isfinite(length).all() or np.any(length < 0):
        raise ValueError("errors and lengths must be finite and not negative")
    if length.sum() == 0:
        raise ValueError("all transcripts are empty: there is no error rate")
    return errors, length
