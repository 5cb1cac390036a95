"""Candidates for one input, as recognisers, translators and input methods list them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Candidate:
    """A text, words separated by blanks. ``errors``: how wrong it is, where that is known without a reference."""

    text: str
    scores: dict[str, float] = field(default_factory=dict)
    errors: float | None = None
    features: dict[str, float] = field(default_factory=dict)  # of one's own


@dataclass(frozen=True)
class CandidateList:
    """Candidates for one input, best first as far as is known. ``reference``: the right text."""

    id: str
    candidates: list[Candidate]
    reference: str | None = None


def merge_duplicates(lists: Iterable[CandidateList]) -> list[CandidateList]:
    """Candidates of one list with the same words become one: the first of them, with the highest of each score.

    Where errors are given they must agree.
    """
    return [_merged(one) for one in lists]


def _merged(one: CandidateList) -> CandidateList:
    kept: dict[str, Candidate] = {}
    for candidate in one.candidates:
        key = " ".join(candidate.text.split())
        first = kept.get(key)
        kept[key] = candidate if first is None else _joined(first, candidate, one.id)
    if len(kept) == len(one.candidates):
        return one
    return replace(one, candidates=list(kept.values()))


def _joined(first: Candidate, second: Candidate, list_id: str) -> Candidate:
    if first.errors is not None and second.errors is not None and first.errors != second.errors:
        raise ValueError(
            f"list {list_id!r}: the candidate {first.text[:60]!r} is there twice, with {first.errors:g} and with "
            f"{second.errors:g} errors; give it once"
        )
    scores = dict(first.scores)
    for name, value in second.scores.items():
        scores[name] = max(scores.get(name, value), value)
    errors = second.errors if first.errors is None else first.errors
    return replace(first, scores=scores, errors=errors)


def with_scores(lists: Sequence[CandidateList], name: str, values: Sequence[float]) -> list[CandidateList]:
    """The lists with one more score: ``values`` has one for each candidate, list after list."""
    n = sum(len(one.candidates) for one in lists)
    numbers = [float(value) for value in values]
    if len(numbers) != n:
        raise ValueError(f"{len(numbers)} scores for {n} candidates")
    rest = iter(numbers)
    return [
        replace(one, candidates=[replace(c, scores={**c.scores, name: next(rest)}) for c in one.candidates])
        for one in lists
    ]
