"""Reading ahead: a thread reads and decompresses the next blocks while the last one is worked on."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_N_AHEAD = 8  # blocks
_END: Any = object()


def read_ahead(items: Generator[_Item, None, None]) -> Iterator[_Item]:
    """Yield the same items in the same order; what goes wrong is raised at its place.

    For files, not for pipes: where nobody takes the items any more, the read that is under way is waited for.
    """
    executor = ThreadPoolExecutor(1, thread_name_prefix="loglinear-reading")
    waiting: deque[Future[_Item]] = deque()
    try:
        while True:
            while len(waiting) < _N_AHEAD:
                waiting.append(executor.submit(next, items, _END))
            item = waiting.popleft().result()
            if item is _END:
                return
            yield item
    finally:
        executor.shutdown(cancel_futures=True)
        items.close()
