"""The cluster to train on: a client that is given, the current one, that of an address, or one on this machine."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

import dask
from distributed import Client, LocalCluster, get_client
from distributed.core import connect

import loglinear

TIMEOUT = 5  # seconds to wait for a scheduler


def client_of(given: Any = None) -> Client:
    """Return the client that is given, or the current one, with workers of this version of the package."""
    if given is None:
        try:
            given = get_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client: make one, client = distributed.Client(address), or give client=..."
            ) from None
    check_workers(given)
    return given


def check_workers(client: Client) -> None:
    """Raise ValueError unless there are workers and all have this version of the package."""
    try:
        client.wait_for_workers(1, timeout=TIMEOUT)
    except TimeoutError:
        raise ValueError(f"the cluster {client} has no workers: start some, and train again") from None
    versions = client.run(importlib.metadata.version, "loglinear", on_error="return")
    for worker, version in versions.items():
        if isinstance(version, importlib.metadata.PackageNotFoundError):
            raise ValueError(f"the worker {worker} lacks the package loglinear: install the version that is here")
        if isinstance(version, OSError):
            continue  # a worker that has just gone
        if isinstance(version, Exception):
            raise version
        if version != loglinear.__version__:
            raise ValueError(
                f"the worker {worker} has loglinear {version}, and this is {loglinear.__version__}: install one "
                "version everywhere"
            )


@contextmanager
def cluster(
    address: str | None = None, n_workers: int | None = None, n_threads: int | None = None
) -> Iterator[Client]:
    """Give a client of the scheduler at an address, or of ``n_workers`` processes that end with the block.

    n_threads : of each of these processes; None: they share all cores
    """
    if address is not None:
        try:
            client = Client(address, timeout=TIMEOUT)
        except (OSError, ValueError) as error:
            raise ValueError(f"there is no Dask scheduler at {address!r}: {error}") from None
        try:
            client.direct_to_workers = _reaches(client)
            yield client
        finally:
            client.close()
        return
    workers = n_workers or os.cpu_count() or 1
    threads = n_threads or max(1, (os.cpu_count() or 1) // workers)
    with ExitStack() as stack:
        try:
            with _interrupts_later():
                folder = tempfile.TemporaryDirectory(prefix="loglinear-", ignore_cleanup_errors=True)
                stack.enter_context(dask.config.set({
                    "temporary-directory": stack.enter_context(folder),
                    "distributed.deploy.lost-worker-timeout": "1 hour",  # a worker that restarts slowly is not given up
                }))  # fmt: skip
                local = stack.enter_context(LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=":0",
                    silence_logs=50,
                ))  # fmt: skip
                client = stack.enter_context(Client(local, direct_to_workers=True))
            yield client
        finally:
            with _interrupts_later():
                stack.close()


def _reaches(client: Client) -> bool:
    """Return whether workers can be reached from here, so that weights need not go through the scheduler."""
    try:
        for address in client.nthreads():
            client.sync(connect, address, timeout=TIMEOUT).abort()
    except OSError:
        return False
    return True


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait until the block has ended.

    Threads and processes that start in the block never see it: a terminal sends it to workers too, which must live on
    until this process has saved what it trained.
    """
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover
        yield
        return
    resource_tracker.ensure_running()  # whose start would end the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
