"""Jobs: what contenders do alike, what each of them took, and the limit of the machine where it is known.

A benchmark gives its jobs once, with its report; its own page, the joint page (``python -m benchmarks all``) and the
history of runs are made from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OURS = "loglinear"  # names of our contenders begin so; all others are peers


@dataclass(frozen=True)
class Figure:
    """What one contender reached, in the unit of its job."""

    contender: str
    value: float
    quality: Mapping[str, float] = field(default_factory=dict)
    megabytes: float | None = None  # peak of resident memory

    @property
    def is_ours(self) -> bool:
        return self.contender.startswith(OURS)


@dataclass
class Job:
    """Contenders at one job. ``unit``: "s", of which fewer are better, or something per second, such as "tokens/s".

    ``peer`` is the contender that ratios refer to; ``limit`` what no contender can pass on this machine, in the same
    unit, and ``limit_is`` says what it is made of.
    """

    name: str
    unit: str = "s"
    peer: str | None = None
    limit: float | None = None
    limit_is: str = ""
    figures: list[Figure] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)  # contender: why there is no figure of it

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Job:
        return cls(**{**given, "figures": [Figure(**figure) for figure in given["figures"]]})

    def took(
        self, contender: str, value: float, megabytes: float | None = None, **quality: float
    ) -> None:
        """Add a figure; of two of one contender, the later one counts."""
        self.figures = [figure for figure in self.figures if figure.contender != contender]
        self.figures.append(Figure(contender, value, quality, megabytes))

    def misses(self, contender: str, why: str | Exception) -> None:
        """Say why a contender has no figure."""
        self.absent[contender] = reason(why) if isinstance(why, Exception) else why

    @property
    def is_rate(self) -> bool:
        return self.unit.endswith("/s")

    def figure(self, contender: str | None) -> Figure | None:
        return next((figure for figure in self.figures if figure.contender == contender), None)

    def times(self, value: float, reference: float) -> float:
        """Return how many times as good a value is as a reference."""
        return value / reference if self.is_rate else reference / value

    def ratio(self, figure: Figure) -> float | None:
        """Return how many times as fast as the peer a contender is; None without a figure of the peer."""
        peer = self.figure(self.peer)
        return None if peer is None else self.times(figure.value, peer.value)

    def of_limit(self, figure: Figure) -> float | None:
        """Return which part of the limit's speed a contender has."""
        return None if self.limit is None else self.times(figure.value, self.limit)


def reason(error: Exception) -> str:
    """Return in a few words why a process failed."""
    text = str(error)
    if found := re.search(r"No module named '([\w.]+)'", text):
        return f"the package {found[1]} is not installed"
    if found := re.search(r"stopped after [\d.]+ s", text):
        return found[0]
    text = re.sub(r"^\S+ ended with -?\d+: ", "", text.strip())
    return text.splitlines()[-1] if text else type(error).__name__
