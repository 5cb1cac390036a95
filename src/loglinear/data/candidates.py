"""N-best lists encoded for training: margins of pairs (reference, candidate), grouped by list.

The *reference* of a list is its best candidate, the oracle: least errors, then the highest first base score, then the
first place. Every other candidate makes a *pair* with it, and all that a loss needs of a pair is its margin

    margin(p) = score(reference) - score(candidate) = sum_b w_b base[p, b] + sum_k w_{n_base + k} value[p, k]

with differences of dense base scores (a language model's log-probability, scores of a recogniser) and of sparse
features. Weights of base scores come first. Features of candidates are ``features.CandidateFeatures``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, fingerprint
from loglinear.data.edit_distance import ErrorUnits, edit_distances
from loglinear.data.matrix import SparseRows
from loglinear.errors import IncompatibleError
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.candidate_list import BadList, CandidateList
from loglinear.threads import pool

MissingPolicy: TypeAlias = Literal["error", "worst"]
RANK = "rank"  # the base score of lists without scores: minus the place in the list
LANGUAGE_MODEL = "lm"  # the base score that a language model gives


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Encoded lists. Lists with fewer than two candidates have no pair: they add no loss, but count in evaluation."""

    list_ptr: NDArray[np.int64]  # [n_lists + 1], pairs of each list
    base: FloatArray  # [n_pairs, n_base], reference - candidate
    rows: SparseRows  # [n_pairs, n_features], reference - candidate, ascending, without zeros
    errors: FloatArray  # [n_pairs], errors(candidate) - errors(reference), not negative
    place: NDArray[np.int32]  # [n_pairs], of the candidate in its list as it was given
    reference: NDArray[np.int32]  # [n_lists], place of the reference; -1 in an empty list
    reference_errors: FloatArray  # [n_lists]; of an empty list, the length of its transcript
    length: FloatArray  # [n_lists], of the transcript; NaN where there is none
    base_names: tuple[str, ...] = ()
    space: str = ""  # hash of the features: lists of one space share their weights
    n_threads: int | None = None

    def __post_init__(self) -> None:
        n_pairs, n_lists = self.rows.n_rows, self.list_ptr.size - 1
        if n_lists < 0 or self.list_ptr[0] != 0 or self.list_ptr[-1] != n_pairs or np.any(np.diff(self.list_ptr) < 0):
            raise ValueError(f"list_ptr must ascend from 0 to the number of pairs, {n_pairs}")
        if self.base.ndim != 2 or self.base.shape[0] != n_pairs:
            raise ValueError(f"base scores of shape {self.base.shape} for {n_pairs} pairs")
        if not np.isfinite(self.base).all():
            raise ValueError("a base score is NaN or infinite")
        for name in ("errors", "place"):
            if getattr(self, name).shape != (n_pairs,):
                raise ValueError(f"{name} must have one entry for each of {n_pairs} pairs")
        for name in ("reference", "reference_errors", "length"):
            if getattr(self, name).shape != (n_lists,):
                raise ValueError(f"{name} must have one entry for each of {n_lists} lists")
        if np.any(self.errors < 0):
            raise ValueError("errors of pairs are negative: the reference is not the best candidate")
        for name in ("list_ptr", "base", "errors", "place", "reference", "reference_errors", "length"):
            getattr(self, name).flags.writeable = False

    # ---- sizes and views ----
    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return self.list_ptr.size - 1

    @property
    def n_examples(self) -> int:
        """Number of lists."""
        return self.n_lists

    @property
    def n_pairs(self) -> int:
        """Number of candidates that are not the reference of their list."""
        return self.rows.n_rows

    @property
    def n_base(self) -> int:
        """Number of base scores: of the first weights."""
        return self.base.shape[1]

    @property
    def n_features(self) -> int:
        """Number of sparse features."""
        return self.rows.n_columns

    @property
    def n_weights(self) -> int:
        """Return the number of base scores and features."""
        return self.n_base + self.n_features

    @property
    def columns(self) -> SparseRows:
        """Return the inverted index from features to pairs; it is made on first use."""
        return self.rows.columns(pool(self.n_threads))

    def mean_base(self) -> float:
        """Return the mean size of the differences of base scores."""
        return float(np.abs(self.base).mean())

    def list_of_pair(self) -> NDArray[np.int32]:
        """Return the list of each pair: [n_pairs]."""
        return np.repeat(np.arange(self.n_lists, dtype=np.int32), np.diff(self.list_ptr))

    # ---- under weights ----
    def margins(self, w: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Score of the reference - score of the candidate, of every pair: [n_pairs]."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        if w.shape != (self.n_weights,):
            raise IncompatibleError(
                f"{w.size} weights for lists of {self.n_base} base scores and {self.n_features} features; encode the "
                "lists with the features of the model"
            )
        out = np.empty(self.n_pairs) if out is None else out
        self.rows.margins(pool(self.n_threads), w[self.n_base :], None, 1, out)
        if self.n_base:
            out += self.base @ w[: self.n_base]
        return out

    def choices(self, w: FloatArray) -> NDArray[np.int32]:
        """Return the place of the best-scored candidate of each list, the first if tied; -1 in an empty list."""
        return self.choices_of(self.margins(w))

    def choices_of(self, margins: FloatArray) -> NDArray[np.int32]:
        """Return the same as :meth:`choices`, computed from margins."""
        out = np.empty(self.n_lists, dtype=np.int32)
        _core.choose_candidates(pool(self.n_threads), self.list_ptr, margins, self.place, self.reference, out)
        return out

    def errors_of(self, choices: NDArray[np.int32]) -> FloatArray:
        """Return the errors of the candidate at the given place of each list: [n_lists]."""
        lists = np.arange(self.n_lists)
        offset = choices.astype(np.int64) - (choices > self.reference)  # pairs of a list skip its reference
        errors = self.reference_errors.copy()
        other = lists[choices != self.reference]
        errors[other] += self.errors[self.list_ptr[:-1][other] + offset[other]]
        return errors

    def chosen_errors(self, w: FloatArray) -> FloatArray:
        """Return the errors of the candidates that the weights choose: [n_lists]."""
        return self.errors_of(self.choices(w))

    def check_same_space(self, other: CandidateLists, what: str = "the other lists") -> None:
        """Raise IncompatibleError for lists that were encoded with other features or base scores."""
        check_same_space(self, other, what)

    # ---- parts ----
    def take(self, lists: NDArray[np.intp]) -> CandidateLists:
        """Return the lists with these numbers, in this order."""
        sizes = np.diff(self.list_ptr)[lists]
        list_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        pairs = np.repeat(self.list_ptr[:-1][lists] - list_ptr[:-1], sizes) + np.arange(list_ptr[-1])
        return CandidateLists(
            list_ptr, self.base[pairs], self.rows.take(pairs), self.errors[pairs], self.place[pairs],
            self.reference[lists], self.reference_errors[lists], self.length[lists], self.base_names, self.space,
            self.n_threads,
        )  # fmt: skip

    def fingerprint(self) -> str:
        """Return a short hash, equal for equal lists only."""
        return fingerprint(
            self.list_ptr, self.base, self.rows.indptr, self.rows.indices, self.rows.values, self.errors, self.place,
            self.reference, self.reference_errors, self.length, start=f"{self.base_names}{self.space}",
        )


class InSpace(Protocol):
    """Lists whose weights are those of some base scores and features."""

    @property
    def base_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102
    @property
    def space(self) -> str: ...  # noqa: D102


def check_same_space(these: InSpace, other: InSpace, what: str) -> None:
    """Raise IncompatibleError for lists that were encoded with other features or base scores than ``these``."""
    if these.base_names != other.base_names:
        raise IncompatibleError(
            f"{what} have the base scores {list(other.base_names)}, not {list(these.base_names)}; encode them with "
            "the same ones"
        )
    if these.n_features != other.n_features or these.space != other.space:
        raise IncompatibleError(
            f"{what} have other features ({other.n_features}, not {these.n_features}, or other names); encode them "
            "with the features fitted on these: encode_lists(lists, features, fit=False)"
        )


def encode_lists(
    lists: Sequence[CandidateList], features: CandidateFeatures, *, base: Sequence[str] = ("score",), fit: bool = True,
    labelled: bool = True, units: ErrorUnits = "words", missing: MissingPolicy = "error", n_threads: int | None = None,
) -> CandidateLists:
    """Return the lists encoded as pairs of their best candidate and every other one.

    Parameters
    ----------
    lists : the lists, each with a reference or with errors of all its candidates if ``labelled``
    features : counts the features of candidates; learns them from the lists first if ``fit``
    base : names of the base scores, in the order of their weights. "rank", where the candidates have no score of that
        name, is minus the place in the list
    labelled : False for lists that are only to be ranked: the candidate with the highest first base score stands for
        the reference, and there are no errors
    units : what errors are counted in where they are not given, "words" or "characters"
    missing : "error" raises ValueError for a candidate without a base score, "worst" gives it the lowest of its list
    n_threads : native threads; None means all cores
    """
    counts = np.asarray([len(one.candidates) for one in lists], dtype=np.int64)
    candidate_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    scores = base_scores(lists, base, missing)
    if labelled:
        errors, length = candidate_errors(lists, units, n_threads)
    else:
        errors, length = np.zeros(int(candidate_ptr[-1])), np.full(len(lists), np.nan)
    reference = _oracles(candidate_ptr, errors, scores)
    rows = features.fit_transform(lists, n_threads) if fit else features.transform(lists, n_threads)
    indptr, indices, values = _core.candidate_differences(pool(n_threads), *rows, candidate_ptr, reference)
    best = candidate_ptr[:-1] + np.maximum(reference, 0)
    is_pair = np.ones(int(candidate_ptr[-1]), dtype=bool)
    is_pair[best[counts > 0]] = False
    owner = np.repeat(np.arange(len(lists)), counts)
    candidates = np.flatnonzero(is_pair)
    reference_errors = np.where(np.isnan(length), 0.0, length)
    reference_errors[counts > 0] = errors[best[counts > 0]]
    return CandidateLists(
        list_ptr=np.concatenate([[0], np.cumsum(np.maximum(counts - 1, 0))]).astype(np.int64),
        base=np.ascontiguousarray(scores[best[owner[candidates]]] - scores[candidates]),
        rows=SparseRows(indptr, indices, values, len(features.vocabulary)),
        errors=errors[candidates] - errors[best[owner[candidates]]],
        place=(candidates - candidate_ptr[owner[candidates]]).astype(np.int32), reference=reference,
        reference_errors=reference_errors, length=length, base_names=tuple(base), space=feature_space(features),
        n_threads=n_threads,
    )


def feature_space(features: CandidateFeatures) -> str:
    """Return a short hash of the features and their numbers."""
    vocabulary = features.vocabulary
    digest = hashlib.blake2b(repr(sorted(features.settings().items())).encode(), digest_size=8)
    digest.update(np.ascontiguousarray(vocabulary.offsets).view(np.uint8).data)
    digest.update(np.ascontiguousarray(vocabulary.blob).data)
    return digest.hexdigest()


# ---- scores, errors, oracles ----------------------------------------------------------------------------------------
# All that training and ranking need of candidate lists is checked here, and only here; parsers of files only check that
# what they read are finite numbers.
def check_base_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of base scores; raise ValueError unless they are strings and all different."""
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"base must be names of scores, not {names!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"a base score is named twice: {list(names)}")
    return tuple(names)


def check_missing(missing: str) -> MissingPolicy:
    """Return the policy for missing base scores; raise ValueError if there is none of that name."""
    if missing not in ("error", "worst"):
        raise ValueError(f"missing must be 'error' or 'worst', not {missing!r}")
    return cast(MissingPolicy, missing)


def base_scores(lists: Sequence[CandidateList], base: Sequence[str], missing: MissingPolicy = "error") -> FloatArray:
    """Return the base scores of all candidates: [n_candidates, n_base]."""
    check_base_names(base)
    check_missing(missing)
    columns = []
    for name in base:
        column = [candidate.scores.get(name) for one in lists for candidate in one.candidates]
        if name == RANK and all(value is None for value in column):
            column = [-float(place) for one in lists for place in range(len(one.candidates))]
        values = np.asarray([np.nan if value is None else value for value in column], dtype=np.float64)
        absent = np.fromiter((value is None for value in column), bool, count=len(column))
        if not np.isfinite(values[~absent]).all():
            one, place = _candidate(lists, int(np.flatnonzero(~absent & ~np.isfinite(values))[0]))
            raise BadList(one, f", candidate {place}: the score {name!r} is NaN or infinite; leave the candidate out")
        if absent.any():
            if missing == "error":
                raise _missing_score(lists, name, absent)
            _fill_missing(lists, name, values, absent)
        columns.append(values)
    return np.stack(columns, axis=1) if columns else np.zeros((sum(len(one.candidates) for one in lists), 0))


def _missing_score(lists: Sequence[CandidateList], name: str, absent: NDArray[np.bool_]) -> BadList:
    known = sorted({key for one in lists for candidate in one.candidates for key in candidate.scores})
    remedy = "give the language model (--lm)" if name == LANGUAGE_MODEL else "name other base scores (--base)"
    one, place = _candidate(lists, int(np.flatnonzero(absent)[0]))
    return BadList(
        one,
        f", candidate {place} has no score {name!r} ({absent.sum()} of {absent.size} candidates lack it; scores there "
        f"are: {', '.join(known) or 'none'}); {remedy}, or give such candidates the lowest score of their list with "
        "missing='worst' (--missing worst)",
    )


def _fill_missing(lists: Sequence[CandidateList], name: str, values: FloatArray, absent: NDArray[np.bool_]) -> None:
    """Give candidates without a score the lowest of their list, in place."""
    at = 0
    for one in lists:
        part = slice(at, at + len(one.candidates))
        at = part.stop
        if absent[part].any():
            if absent[part].all():
                raise BadList(one, f": no candidate has the score {name!r}, so there is no lowest")
            values[part] = np.where(absent[part], np.nanmin(values[part]), values[part])


def _candidate(lists: Sequence[CandidateList], number: int) -> tuple[CandidateList, int]:
    """Return the list of a candidate and its place there, from 1, by its number among all candidates."""
    for one in lists:
        if number < len(one.candidates):
            return one, number + 1
        number -= len(one.candidates)
    raise IndexError(number)


def has_errors(one: CandidateList) -> bool:
    """Whether the errors of the candidates are given or can be counted against a reference."""
    given = {candidate.errors is not None for candidate in one.candidates}
    return given == {True} or (one.reference is not None and True not in given)


def candidate_errors(
    lists: Sequence[CandidateList], units: ErrorUnits = "words", n_threads: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return (errors of each candidate, length of each transcript), as given or else by edit distance."""
    given = [candidate.errors for one in lists for candidate in one.candidates]
    absent = np.fromiter((value is None for value in given), bool, count=len(given))
    errors = np.asarray([np.nan if value is None else value for value in given], dtype=np.float64)
    sizes = np.asarray([len(one.candidates) for one in lists], dtype=np.int64)
    owner = np.repeat(np.arange(sizes.size), sizes)
    to_count = np.bincount(owner[absent], minlength=sizes.size) == sizes
    _check_errors(lists, to_count, np.unique(owner[~(errors >= 0) | np.isinf(errors)]))
    texts = [candidate.text for one, is_to in zip(lists, to_count.tolist()) if is_to for candidate in one.candidates]
    text_ptr = np.concatenate([[0], np.cumsum(np.where(to_count, sizes, 0))]).astype(np.int64)
    transcripts = [one.reference or "" for one in lists]
    errors[to_count[owner]], length = edit_distances(transcripts, texts, text_ptr, units=units, n_threads=n_threads)
    length[[one.reference is None for one in lists]] = np.nan
    return errors, length


def _check_errors(lists: Sequence[CandidateList], to_count: NDArray[np.bool_], without: NDArray[np.intp]) -> None:
    """Raise BadList for a list whose errors are neither countable nor given for all candidates."""
    bare = [lists[i] for i in np.flatnonzero(to_count).tolist() if lists[i].reference is None]
    if bare:
        raise BadList(
            bare[0],
            f" has neither a reference nor errors of its candidates ({len(bare)} of {len(lists)} lists have neither); "
            "give references (--references), or leave such lists out",
        )
    for i in without[~to_count[without]].tolist():
        message = ": errors must be given for all of its candidates or for none, finite and not negative"
        raise BadList(lists[i], message)


def _oracles(candidate_ptr: NDArray[np.int64], errors: FloatArray, scores: FloatArray) -> NDArray[np.int32]:
    """Return the place of the best candidate of each list: fewest errors, then highest first score, then first."""
    counts = np.diff(candidate_ptr)
    owner = np.repeat(np.arange(counts.size), counts)
    first = -scores[:, 0] if scores.shape[1] else np.zeros(errors.size)
    order = np.lexsort((np.arange(errors.size), first, errors, owner))
    reference = np.full(counts.size, -1, dtype=np.int32)
    full = counts > 0
    reference[full] = order[candidate_ptr[:-1][full]] - candidate_ptr[:-1][full]
    return reference
