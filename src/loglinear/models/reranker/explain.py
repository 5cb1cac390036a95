"""Why a reranker prefers a candidate: what every base score and feature contributes to the scores of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.data.candidates import candidate_errors, has_errors
from loglinear.data.edit_distance import ErrorUnits
from loglinear.features.featuriser import Rows
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.candidate_list import CandidateList
from loglinear.models.notebook import Shown
from loglinear.models.push import Push

_BASE = "base: "  # what the names of base scores begin with beside features


@dataclass(frozen=True)
class CandidateExplanation:
    """One candidate, whose score is the sum of its contributions; they are sorted, largest effect first."""

    text: str
    place: int  # in the list as it was given
    score: float
    pushes: list[Push]
    errors: float | None = None  # if the right text is known

    def against(self, other: CandidateExplanation) -> list[Push]:
        """Return what sets this candidate apart from another; contributions add up to the difference of scores."""
        here = {push.feature: push for push in self.pushes}
        there = {push.feature: push for push in other.pushes}
        differences = []
        for name in {**here, **there}:
            weight = (here.get(name) or there[name]).weight
            value = (here[name].value if name in here else 0.0) - (there[name].value if name in there else 0.0)
            if value:
                differences.append(Push(name, value, weight, value * weight))
        return sorted(differences, key=lambda push: -abs(push.contribution))


@dataclass(frozen=True)
class ListExplanation(Shown):
    """The candidates of a list, best first, and the one that they are compared with."""

    id: str
    candidates: list[CandidateExplanation]
    against: CandidateExplanation  # the chosen one, or the one with the fewest errors

    @property
    def chosen(self) -> CandidateExplanation:
        """Return the candidate with the highest score."""
        return self.candidates[0]

    def differences(self) -> list[tuple[CandidateExplanation, list[Push]]]:
        """Return every other candidate with what sets it apart."""
        return [(one, one.against(self.against)) for one in self.candidates if one is not self.against]

    def __str__(self) -> str:
        lines = [f"{self.against.score:+9.4f}  {self.against.text}{_errors(self.against)}"]
        for push in self.against.pushes[:10]:
            lines.append(f"    {push.contribution:+9.4f}  {push.feature}  (value {push.value:g})")
        for one, pushes in self.differences():
            lines.append(f"{one.score:+9.4f}  {one.text}{_errors(one)}")
            lines += [f"    {push.contribution:+9.4f}  {push.feature}  ({push.value:+g})" for push in pushes[:10]]
        return "\n".join(lines)


def _errors(one: CandidateExplanation) -> str:
    return "" if one.errors is None else f"  [{one.errors:g} errors]"


def explain_list(
    one: CandidateList, against: str, scores: FloatArray, base: FloatArray, rows: Rows, base_names: Sequence[str],
    features: Vocabulary, weights: FloatArray, *, units: ErrorUnits,
) -> ListExplanation:  # fmt: skip
    """Return the explanation of a list from the scores, base scores [n, n_base] and features of its candidates."""
    if against not in ("chosen", "reference"):
        raise ValueError(f"against must be 'chosen' or 'reference', not {against!r}")
    errors: list[float | None] = [None] * len(one.candidates)
    if against == "reference" or has_errors(one):
        errors = candidate_errors([one], units)[0].tolist()
    names = [_BASE + name for name in base_names]
    explained = []
    for place in np.argsort(-scores, kind="stable").tolist():
        shares = list(zip(names, base[place].tolist(), weights.tolist()))
        indptr, indices, values = rows
        part = slice(indptr[place], indptr[place + 1])
        counted = zip(indices[part].tolist(), values[part].tolist(), weights[len(names) + indices[part]].tolist())
        shares += [(features[j], value, weight) for j, value, weight in counted]
        pushes = [Push(name, value, weight, value * weight) for name, value, weight in shares]
        pushes.sort(key=lambda push: -abs(push.contribution))
        text = one.candidates[place].text
        explained.append(CandidateExplanation(text, place, float(scores[place]), pushes, errors[place]))
    if against == "chosen":
        return ListExplanation(one.id, explained, explained[0])
    return ListExplanation(one.id, explained, min(explained, key=lambda item: (item.errors, -item.score)))
