"""The cluster to train on: a client that is given, the current one, that of an address, or one on this machine."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, LocalCluster, get_client

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
def cluster(address: str | None = None, n_workers: int | None = None) -> Iterator[Client]:
    """Give a client of the scheduler at an address, or of ``n_workers`` processes that end with the block."""
    if address is not None:
        try:
            client = Client(address, timeout=TIMEOUT)
        except (OSError, ValueError) as error:
            raise ValueError(f"there is no Dask scheduler at {address!r}: {error}") from None
        try:
            yield client
        finally:
            client.close()
        return
    workers = n_workers or os.cpu_count() or 1
    threads = max(1, (os.cpu_count() or 1) // workers)
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=":0", silence_logs=40
    ) as local, Client(local, direct_to_workers=True) as client:
        yield client
