"""Why a classifier decided as it did: the share of every feature in every class's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loglinear.models.push import Push


@dataclass(frozen=True)
class Explanation:
    """Scores add up: score[c] = intercept[c] + sum of contributions to c. Pushes are sorted, largest effect first."""

    predicted: Any
    probabilities: dict[Any, float]
    scores: dict[Any, float]
    intercepts: dict[Any, float]
    pushes: dict[Any, list[Push]]

    def top(self, k: int = 10, label: Any = None) -> list[Push]:
        """The k pushes of largest effect on a class (the predicted one unless told)."""
        return self.pushes[self.predicted if label is None else label][:k]

    def __str__(self) -> str:
        lines = [f"predicted {self.predicted!r} with probability {self.probabilities[self.predicted]:.4f}"]
        for push in self.top():
            detail = f"(value {push.value:g}, weight {push.weight:+.4f})"
            lines.append(f"  {push.contribution:+9.4f}  {push.feature}  {detail}")
        lines.append(f"  {self.intercepts[self.predicted]:+9.4f}  intercept")
        return "\n".join(lines)
