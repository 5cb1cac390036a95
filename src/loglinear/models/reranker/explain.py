"""Why a reranker prefers a candidate: the share of every base score and feature in the scores of a list."""

from __future__ import annotations

from dataclasses import dataclass

from loglinear.models.push import Push

_BASE = "base: "


@dataclass(frozen=True)
class CandidateExplanation:
    """One candidate: its score is the sum of the contributions. Pushes are sorted, largest effect first."""

    text: str
    place: int  # in the list as it was given
    score: float
    pushes: list[Push]
    errors: float | None = None  # where the right text is known

    def against(self, other: CandidateExplanation) -> list[Push]:
        """What sets this one apart from another: contributions add up to the difference of their scores."""
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
class ListExplanation:
    """The candidates of a list, best first, and the one that they are held against."""

    id: str
    candidates: list[CandidateExplanation]
    against: CandidateExplanation  # the chosen one, or the one with the least errors

    @property
    def chosen(self) -> CandidateExplanation:
        """The one with the highest score."""
        return self.candidates[0]

    def differences(self) -> list[tuple[CandidateExplanation, list[Push]]]:
        """Every other candidate, and what sets it apart."""
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


def base_name(name: str) -> str:
    """How a base score is called beside features."""
    return _BASE + name
