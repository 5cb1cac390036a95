"""One native thread pool per thread count, shared by everything in the process."""

from __future__ import annotations

import os

from loglinear._core import ThreadPool

_pools: dict[int, ThreadPool] = {}


def available_cores() -> int:
    """Return the number of cores this process may run on, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pool(n_threads: int | None = None) -> ThreadPool:
    """Return the pool with ``n_threads`` threads; None or -1 means all cores this process may use."""
    if n_threads is None or n_threads == -1:
        n_threads = available_cores()
    if not isinstance(n_threads, int) or isinstance(n_threads, bool) or n_threads < 1:
        raise ValueError(f"n_threads must be a positive integer, -1 or None, not {n_threads!r}")
    if n_threads not in _pools:
        _pools[n_threads] = ThreadPool(n_threads)
    return _pools[n_threads]


_abandoned: list[dict[int, ThreadPool]] = []


def _after_fork() -> None:
    """Forget the pools in a forked child, which has none of its parent's threads, without joining them."""
    global _pools
    _abandoned.append(_pools)
    _pools = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
