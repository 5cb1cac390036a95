"""Tasks that are done once for every part: in turns on the workers, with their results in the order of the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from distributed import Client, Future, KilledWorker, wait

from loglinear.dask.workers import Workers
from loglinear.optimise.progress import Counting

POLL = 0.5  # seconds between two looks at tasks under way


class PartTasks:
    """The tasks of the parts of one training.

    given : where each part comes from: what is read on a worker, or a future
    shared : whether workers have several parts, so that each has one thread
    """

    def __init__(self, client: Client, given: Sequence[Any], verbose: str | int) -> None:
        self.client, self.given, self.verbose = client, list(given), verbose
        self.workers = Workers(client)
        self.n_workers = max(len(self.workers), 1)
        self.shared = len(self.given) > self.n_workers

    def submit(self, function: Callable[..., Any], every: Sequence[Any], *arguments: Any) -> list[Future]:
        """Start a task for every part: in turns on the workers, elsewhere where one is lost."""
        return [self.submit_one(k, function, one, *arguments) for k, one in enumerate(every)]

    def submit_one(self, k: int, function: Callable[..., Any], *arguments: Any) -> Future:
        """Start a task for one part."""
        return self.client.submit(
            function, *arguments, pure=False, workers=self.workers.of(k), allow_other_workers=True
        )

    def results(self, futures: Sequence[Future], label: str) -> list[Any]:
        """Return the results of the tasks, in the order of the parts; the first error ends all."""
        verbose, under_way = "auto" if self.verbose == "auto" else 0, dict.fromkeys(futures)
        with Counting(label, len(futures), verbose=verbose, results_follow=True) as told:
            while under_way:
                try:
                    done = wait(list(under_way), timeout=POLL, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    done = set()
                    self.workers.look()
                for future in done:
                    if future.status == "error":
                        self._raise(future, list(futures).index(future))
                    del under_way[future]
                told(len(futures) - len(under_way))
        found = [self._result(future) for future in futures]
        self.workers.look()
        return found

    def _result(self, future: Future) -> Any:
        """Wait for a result, which may be under way again where its worker was lost after all."""
        while True:
            try:
                return future.result(timeout=POLL)
            except (TimeoutError, UnboundLocalError):  # the second: see workers.LOST
                if future.status in ("error", "cancelled"):
                    raise
                self.workers.look()

    def _raise(self, future: Future, place: int) -> None:
        try:
            future.result()
        except (KilledWorker, MemoryError) as error:
            raise out_of_memory(self.client, self.given, place, error) from error


def out_of_memory(client: Client, given: Sequence[Any], place: int, error: BaseException | None) -> MemoryError:
    """Return the error of a part whose workers ended again and again, with what would fit."""
    part, n = given[place], len(given)
    size, name = getattr(part, "n_bytes", None), getattr(part, "path", None)
    limits = [one.get("memory_limit") or 0 for one in client.scheduler_info()["workers"].values()]
    limit = getattr(getattr(error, "last_worker", None), "memory_limit", None) or min(limits, default=0)
    what = f"partition {place} of {n}"
    if size and name:
        what += f" ({name}, {size / 1e6:,.1f} MB)"
    has = f" of {limit / 1e9:,.2g} GB" if limit else ""
    fit = f"at least {2 * n} partitions" + (f" of at most {size / 2e6:,.1f} MB" if size else "")
    fit = f"{getattr(part, 'remedy', fit)}, more workers"
    more = f"workers with {2 * limit / 1e9:,.2g} GB or more" if limit else "workers with more memory"
    return MemoryError(
        f"the workers that held {what} ended again and again; most often their memory{has} was not enough: give {fit}, "
        f"or {more}; look whether their disks are full, as Dask moves to disk what does not fit"
    )
