"""Candidates for one input, as recognisers, translators and input methods list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Candidate:
    """A text, words separated by blanks."""

    text: str
    scores: dict[str, float] = field(default_factory=dict)
    errors: float | None = None  # number of errors, where it is known without a reference
    features: dict[str, float] = field(default_factory=dict)  # the user's own, beside those of the text


@dataclass(frozen=True)
class CandidateList:
    """Candidates for one input, best first as far as is known."""

    id: str
    candidates: list[Candidate]
    reference: str | None = None  # the right text


class BadList(ValueError):
    """A list that cannot be used; whoever has read it from a file can add the name of the file to the message."""

    def __init__(self, one: CandidateList, message: str) -> None:
        super().__init__(f"list {one.id!r}{message}")
        self.one, self._rest = one, message

    def __reduce__(self) -> tuple[type[BadList], tuple[CandidateList, str]]:
        """Let it go from one process to another."""
        return type(self), (self.one, self._rest)


def merge_duplicates(lists: Iterable[CandidateList]) -> list[CandidateList]:
    """Merge candidates of one list that have the same words: the first stays, with the highest value of each score.

    Raises BadList if their errors are given and differ.
    """
    return [_merged(one) for one in lists]


def _merged(one: CandidateList) -> CandidateList:
    kept: dict[str, Candidate] = {}
    for candidate in one.candidates:
        key = " ".join(candidate.text.split())
        first = kept.get(key)
        kept[key] = candidate if first is None else _joined(first, candidate, one)
    if len(kept) == len(one.candidates):
        return one
    return replace(one, candidates=list(kept.values()))


def _joined(first: Candidate, second: Candidate, of: CandidateList) -> Candidate:
    if first.errors is not None and second.errors is not None and first.errors != second.errors:
        raise BadList(
            of,
            f": the candidate {first.text[:60]!r} is there twice, with {first.errors:g} and with {second.errors:g} "
            "errors; give it once",
        )
    scores = dict(first.scores)
    for name, value in second.scores.items():
        scores[name] = max(scores.get(name, value), value)
    errors = second.errors if first.errors is None else first.errors
    return replace(first, scores=scores, errors=errors)
