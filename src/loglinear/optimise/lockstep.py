"""One objective whose weights live in several processes: every process runs the same solver on its own weights.

What a solver decides depends on numbers, not on vectors: the value, inner products, the largest entry. Where these are
those of all weights, processes that run the same solver take the same decisions in the same order, and together they
walk the path that one process with all the weights would walk. So weights, gradients and the solver's own vectors stay
where they are; numbers travel.

One process leads (``Leader``): at every meeting it collects what the others (``Follower``) bring, adds it up in a fixed
order after its own, and answers. A follower runs in a thread of its own, which waits at its meetings; whoever carries
the messages calls ``Follower.advance`` with the leader's answer and gets what it brings to the next meeting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.optimise.objective import Objective
from loglinear.protocols import Orthant, Smooth


class Member(Protocol):
    """One of the processes; all have the same meetings in the same order."""

    def total(self, own: FloatArray) -> FloatArray:
        """Return the sum of what all members bring: their own numbers, arrays of one shape."""

    def largest(self, own: float) -> float:
        """Return the largest number that a member brings."""

    def ride(self, own: float) -> None:
        """Add a number to what is brought to the next meeting; afterwards ``rode`` is the sum of all."""

    @property
    def rode(self) -> float:
        """Return the sum of the numbers that rode along to the last meeting."""


class Lost(Exception):
    """A follower was lost with its weights and was made anew: the walk begins again, from the weights that are left."""


class Stopped(Exception):
    """The leader ended the walk between two meetings."""


class Brought(NamedTuple):
    """What a follower brings to a meeting."""

    kind: str  # "meeting"; "done": it has walked to the end; "new": it was made anew and has not begun
    value: Any = None
    riding: float = 0.0


class Told(NamedTuple):
    """What the leader tells the followers between two meetings."""

    answer: Any = None  # to the last meeting
    rode: float = 0.0
    handed: Any = None  # what they need before the next meeting


class Leader:
    """The process that collects and answers.

    carry : tells every follower something and returns what each brings next, in their order
    """

    def __init__(self, carry: Callable[[Told], list[Brought]]) -> None:
        self._carry = carry
        self.last = Told()  # the last answer, which leaves with the next meeting
        self._riding = self.rode = 0.0

    def hand(self, what: Any) -> None:
        """Give the followers something with the last answer."""
        self.last = self.last._replace(handed=what)

    def ride(self, own: float) -> None:
        """Add a number to the next meeting."""
        self._riding = own

    def collect(self) -> list[Any]:
        """Return what the followers bring to a meeting; ``answer`` must follow."""
        brought = self._carry(self.last)
        if any(one.kind != "meeting" for one in brought):
            raise Lost
        self.rode, self._riding = self._riding + sum(one.riding for one in brought), 0.0
        return [one.value for one in brought]

    def answer(self, value: Any) -> None:
        """Answer the followers."""
        self.last = Told(value, self.rode)

    def total(self, own: FloatArray) -> FloatArray:
        """Return the sum of all, the followers' in their order."""
        out = np.array(own, np.float64)
        for one in self.collect():
            out += one
        self.answer(out)
        return out

    def largest(self, own: float) -> float:
        """Return the largest number."""
        out = max([own, *self.collect()])
        self.answer(out)
        return out


class Follower:
    """A process that brings its numbers and waits for answers; ``walk`` is what it does, given this member."""

    def __init__(self, walk: Callable[[Follower], Any]) -> None:
        self._brought: SimpleQueue[Brought | BaseException] = SimpleQueue()
        self._answers: SimpleQueue[Told | Stopped] = SimpleQueue()
        self._riding = self.rode = 0.0
        self.handed: Any = None  # what the leader gave with its last answer
        self._thread = threading.Thread(target=self._run, args=(walk,), daemon=True)
        self._begun = False

    def _run(self, walk: Callable[[Follower], Any]) -> None:
        try:
            self._brought.put(Brought("done", walk(self)))
        except Stopped:
            pass
        except BaseException as error:
            self._brought.put(error)

    # what the walk calls
    def swap(self, own: Any) -> Any:
        """Bring something to a meeting; return the leader's answer."""
        self._brought.put(Brought("meeting", own, self._riding))
        told = self._answers.get()
        if isinstance(told, Stopped):
            raise told
        self._riding = 0.0
        _, self.rode, self.handed = told
        return told.answer

    def ride(self, own: float) -> None:
        """Add a number to the next meeting."""
        self._riding = own

    def total(self, own: FloatArray) -> FloatArray:
        """Return the sum of all."""
        return np.asarray(self.swap(np.asarray(own, np.float64)))

    def largest(self, own: float) -> float:
        """Return the largest number."""
        return float(self.swap(own))

    # what the carrier calls
    def advance(self, told: Told) -> Brought:
        """Hand over what the leader tells (the first time, begin) and return what is brought next."""
        if self._begun:
            self._answers.put(told)
        else:
            self._begun, self.handed = True, told.handed
            self._thread.start()
        found = self._brought.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def stop(self) -> None:
        """End the walk where it waits."""
        if self._begun:
            self._answers.put(Stopped())
            self._thread.join()


@dataclass(frozen=True)
class LockstepObjective(Objective):
    """The objective as one member sees it: its own weights, and numbers of all of them.

    The loss meets once, and its value is that of all. ``n_everywhere``: the number of all weights.
    """

    member: Member | None = None
    n_everywhere: int = 0

    can_be_bounded: ClassVar[bool] = False  # bounds form vectors that are not made of sums alone

    def _total(self, *own: float) -> list[float]:
        assert self.member is not None
        return self.member.total(np.array(own)).tolist()

    @property
    def n_all_weights(self) -> int:
        """Return the number of weights of all members."""
        return self.n_everywhere

    def value_and_loss_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value of the whole; write the gradient of the loss alone."""
        assert self.member is not None
        self.member.ride(self.penalty.value(w))  # the loss meets once
        return self.loss.value_and_gradient(w, out) + self.member.rode

    def value_and_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value of the whole; write its gradient. The penalty must be Smooth."""
        assert isinstance(self.penalty, Smooth)
        value = self.loss.value_and_gradient(w, out)
        return value + self._total(self.penalty.add_gradient(w, out))[0]

    def value_and_smooth_gradient(self, w: FloatArray, out: FloatArray) -> float:
        """Return the value of the whole; write the gradient of its smooth part. The penalty must be Orthant."""
        assert isinstance(self.penalty, Orthant)
        value = self.value_and_loss_gradient(w, out)
        self.penalty.add_smooth_gradient(w, out)
        return value

    def penalty_value(self, w: FloatArray) -> float:
        """Return strength * penalty of all weights."""
        return self._total(self.penalty.value(w))[0]

    def violation(self, w: FloatArray, loss_gradient: FloatArray) -> float:
        """Return the largest entry of the least subgradient."""
        assert self.member is not None
        return self.member.largest(self.penalty.violation(w, loss_gradient))

    def dot(self, a: FloatArray, b: FloatArray) -> float:
        """Return <a, b>."""
        return self._total(_core.dot(self.pool, a, b))[0]

    def dots(self, rows: Sequence[NDArray[Any]], targets: Sequence[NDArray[Any]], out: FloatArray) -> None:
        """Write <rows[i], targets[j]> into out[i, j]."""
        assert self.member is not None
        _core.dots(self.pool, rows, targets, out)
        out[:] = self.member.total(out)

    def dot_difference(self, a: FloatArray, b: FloatArray, c: FloatArray) -> float:
        """Return <a, b - c>."""
        return self._total(_core.dot_difference(self.pool, a, b, c))[0]

    def largest(self, v: FloatArray) -> float:
        """Return max |v|."""
        assert self.member is not None
        return self.member.largest(_core.max_abs(self.pool, v))
