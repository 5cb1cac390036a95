"""The workers of a cluster, looked at now and then: which of them a part goes to, which were lost, which came."""

from __future__ import annotations

import logging
import time
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client

# What Dask raises for a task whose worker, or one with what the task is made of, was just lost. Where asyncio cancels
# the wait, distributed's ``sync`` misses that, since it is no Exception, and returns a result that it does not have.
LOST = (CancelledError, RuntimeError, UnboundLocalError)
PATIENCE = 60.0  # seconds without any worker after which training gives up
log = logging.getLogger("loglinear.dask")


class Workers:
    """Parts are given to workers in turns, always to the same ones; to others where those are lost."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._addresses = frozenset(client.nthreads())
        self._alone_since: float | None = None

    def __len__(self) -> int:
        return len(self._addresses)

    def of(self, k: int) -> list[str]:
        """Return the worker of a part; none where there is no worker at the moment."""
        every = sorted(self._addresses)
        return [every[k % len(every)]] if every else []

    def look(self) -> None:
        """Say which workers were lost since the last look; raise where there is none for long."""
        now = frozenset(self.client.nthreads())
        if now != self._addresses:
            if lost := self._addresses - now:
                log.warning("lost %s: its parts are made anew on the %d others", ", ".join(sorted(lost)), len(now))
            self._addresses = now
            self.client.run_on_scheduler(_freeing())
        if now:
            self._alone_since = None
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > PATIENCE:
            raise RuntimeError(
                f"no worker is left, and none came for {PATIENCE:.0f} s: training cannot go on. Start workers and "
                "train again"
            )


def _freeing() -> Any:
    """Return a function for the scheduler, which frees tasks that wait for workers that are gone.

    A task that may run elsewhere than on the worker that it names, but had to wait because no worker was there at all,
    waits for ever: of the workers that come, Dask gives it to none but the one that it names. The function is made
    here, so that it travels by value: a scheduler needs no loglinear.
    """

    def free(dask_scheduler: Any) -> None:
        waiting = []
        for task in dask_scheduler.tasks.values():
            named = task.worker_restrictions
            if named and task.loose_restrictions and not any(one in dask_scheduler.workers for one in named):
                task.worker_restrictions = None
                if task.state == "no-worker":
                    waiting.append(task.key)
        if waiting:
            dask_scheduler.transitions(dict.fromkeys(waiting, "waiting"), stimulus_id="workers-came")

    return free
