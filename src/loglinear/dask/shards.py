"""Shards on the workers of a Dask cluster: every shard is an actor, so that a call goes straight to the worker that has
it. A shard is made by a task from futures that Dask can make anew; where a worker is lost, its shards are made again on
others, with what was derived from them, and the calls that were under way are repeated.
"""

from __future__ import annotations

import itertools
import logging
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from distributed import KilledWorker

from loglinear.dask.parts import out_of_memory
from loglinear.dask.workers import LOST, Workers
from loglinear.errors import FormatError
from loglinear.losses.partitioned import Shard

MAX_REPEATS = 20  # of making a part, while workers come and go
MAX_LOSSES = 4  # of one part in one call: it does not fit the workers
# What the scheduler says of an actor that was made, but whose worker was lost before we heard of it.
_ACTOR_LOST = "Worker holding Actor was lost"
log = logging.getLogger("loglinear.dask")


class Keeper:
    """What lives on a worker: a shard, and those derived from it, by number."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._shards: dict[int, Any] = {0: make(*arguments)}

    def call(self, number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return what a method of a shard returns."""
        return getattr(self._shards[number], method)(*arguments)

    def derive(self, number: int, method: str, arguments: tuple[Any, ...], new: int) -> None:
        """Keep the shard that a method returns, under a new number."""
        self._shards[new] = getattr(self._shards[number], method)(*arguments)

    def forget(self, number: int) -> None:
        """Drop a derived shard."""
        self._shards.pop(number, None)


class Held:
    """What a shard is made of: a part as it was read, None for an empty one, and the function that encodes it."""

    def __init__(self, encode: Callable[..., Shard], part: Any) -> None:
        self._encode, self.part = encode, part

    @classmethod
    def anew(cls, encode: Callable[..., Shard], read: Callable[..., Any], *arguments: Any) -> Held:
        """Read the part."""
        return cls(encode, read(*arguments))

    def encode(self, *arguments: Any) -> Shard:
        """Return the shard."""
        return self._encode(self.part, *arguments)


class Cluster:
    """The actors of all parts, made anew when they are lost.

    tasks : (function, arguments) of each part, which make its first object on a worker; others may take their place
        later, to make it anew without what it was first made of
    given : where each part comes from, for messages
    """

    def __init__(
        self, workers: Workers, tasks: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], given: Sequence[Any] = ()
    ) -> None:
        self.workers, self.client, self.tasks = workers, workers.client, list(tasks)
        self.given = list(given) or [None] * len(self.tasks)
        self.derived: dict[int, tuple[int, str, Sequence[tuple[Any, ...]]]] = {}  # by number, in order
        self.first_is_needed = True  # whether the first objects stay when all that is derived from them is made
        self.numbers = itertools.count(1)
        self.n_losses: Counter[int] = Counter()  # of each part
        self._futures: list[Any] = [None] * len(self.tasks)
        self._actors: list[Any] = [None] * len(self.tasks)
        self._make(range(len(self.tasks)))

    def _make(self, places: Sequence[int]) -> None:
        """Make the actors of some parts, and all that was derived from them."""
        again = self._actors[places[0]] is not None if places else False
        for k in places:
            self._submit(k)
        for k in places:
            for n in itertools.count(1):
                try:
                    self._actors[k] = self._result(k)
                except FormatError as error:
                    if not again:
                        raise
                    message = f"{error.message}; it had to be read again, as the worker that had read it was lost"
                    raise FormatError(message, error.source, error.line) from error
                try:
                    for new, (number, method, own) in self.derived.items():
                        self._actors[k].derive(number, method, own[k], new).result()
                    if not self.first_is_needed:
                        self._actors[k].forget(0).result()
                    break
                except (OSError, RuntimeError) as error:  # another worker was lost meanwhile
                    if not self._is_lost(k):
                        raise
                    if n == MAX_LOSSES:
                        raise self.too_large(k, error) from error
                    self.workers.look()
                    self._submit(k)
        self.workers.look()  # Dask makes anew without a word, or hears of a loss later than we do

    def _submit(self, k: int) -> None:
        make, arguments = self.tasks[k]
        self._futures[k] = self.client.submit(
            Keeper, make, *arguments, actor=True, pure=False, workers=self.workers.of(k), allow_other_workers=True
        )

    def _result(self, k: int) -> Any:
        """Wait for the actor of a part; begin it again elsewhere where its worker is gone."""
        repeats = itertools.count(1)
        while True:
            try:
                return self._futures[k].result(timeout=2)
            except (KilledWorker, MemoryError) as error:
                raise self.too_large(k, error) from error
            except LOST as error:
                is_fault = self._futures[k].status == "error" and str(error) != _ACTOR_LOST
                if is_fault or next(repeats) > MAX_REPEATS:
                    raise
                log.debug("part %d: %s", k, error)
                time.sleep(0.2)
                self.workers.look()
                self._submit(k)
            except TimeoutError:
                self.workers.look()

    def call(self, call: Callable[[Any, int], Any]) -> list[Any]:
        """Return call(actor, place).result() of every part, in their order; repeat for parts that were lost."""
        results: list[Any] = [None] * len(self.tasks)
        todo = list(range(len(self.tasks)))
        n_losses: Counter[int] = Counter()
        while todo:
            under_way = [(k, self._begin(call, k)) for k in todo]
            todo = []
            for k, future in under_way:
                try:
                    if future is None:
                        todo.append(k)
                    else:
                        results[k] = future.result()
                except (OSError, RuntimeError) as error:
                    if not self._is_lost(k):
                        raise
                    log.debug("part %d: %s", k, error)
                    todo.append(k)
            if todo:
                self.workers.look()
                self.n_losses.update(todo)
                n_losses.update(todo)
                k, n = n_losses.most_common(1)[0]
                if n == MAX_LOSSES:
                    raise self.too_large(k)
                self._make(todo)
        return results

    def too_large(self, k: int | None = None, error: BaseException | None = None) -> MemoryError:
        """Return the error for a part whose workers ended again and again; None: the one that was lost most often."""
        if k is None:
            k = self.n_losses.most_common(1)[0][0] if self.n_losses else 0
        return out_of_memory(self.client, self.given, k, error)

    def _begin(self, call: Callable[[Any, int], Any], k: int) -> Any:
        try:
            return call(self._actors[k], k)
        except RuntimeError:
            if self._is_lost(k):
                return None
            raise

    def _is_lost(self, k: int) -> bool:
        """Return whether the worker of a part is gone; the scheduler may hear of it later than we do."""
        address = self._actors[k]._address
        for _ in range(50):
            if self._futures[k].status not in ("finished", "pending") or address not in self.client.nthreads():
                return True
            time.sleep(0.1)
        return False

    def encode(self, arguments: Sequence[tuple[Any, ...]], again: Sequence[tuple[Any, ...]]) -> DaskParts:
        """Return the shards of parts that are ``Held``, which are then dropped.

        again : the arguments of ``Held.anew`` of each part, for one that is lost
        """
        shards = DaskParts(self).derive("encode", arguments)
        self.tasks = [(Held.anew, own) for own in again]
        self.first_is_needed = False
        self.call(lambda actor, k: actor.forget(0))
        return shards

    def release(self) -> None:
        """Let the workers forget the parts."""
        for future in self._futures:
            if future is not None:
                future.release()
        self._futures, self._actors = [], []


class DaskParts:
    """The shards of a loss: those of a cluster, or what was derived from them."""

    def __init__(self, cluster: Cluster, number: int = 0) -> None:
        self.cluster, self.number = cluster, number
        if number:
            weakref.finalize(self, _forget, weakref.ref(cluster), number)

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what a method of every shard returns, in the order of the shards."""
        number = self.number
        return self.cluster.call(lambda actor, k: actor.call(number, method, arguments[k]))

    def derive(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> DaskParts:
        """Return the shards that a method returns; they stay where they are."""
        cluster, number = self.cluster, self.number
        new = next(cluster.numbers)
        cluster.call(lambda actor, k: actor.derive(number, method, arguments[k], new))
        cluster.derived[new] = number, method, arguments
        return DaskParts(cluster, new)


def _forget(reference: weakref.ref[Cluster], number: int) -> None:
    """Drop derived shards that nobody uses any more."""
    cluster = reference()
    if cluster is None:
        return
    cluster.derived.pop(number, None)
    for actor in cluster._actors:
        try:
            actor.forget(number)
        except Exception:
            log.debug("a part that was lost needs to forget nothing")
