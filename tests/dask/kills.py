"""Workers that are killed while something is trained; the log must say that they were lost."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from contextlib import contextmanager


@contextmanager
def killed(client, moment, caplog, which=slice(None)):
    """Kill workers, all of them or some by number, with SIGKILL, at a moment of the block; go on when there are two."""
    deadline = time.monotonic() + 60
    while True:
        client.wait_for_workers(2, timeout=60)
        pids = client.run(os.getpid, on_error="return").values()
        if len(pids) == 2 and all(isinstance(pid, int) for pid in pids):
            break  # none of them is on its way out
        assert time.monotonic() < deadline
        time.sleep(0.1)
    over, ended = threading.Event(), []
    killer = threading.Thread(target=kill, args=(client, sorted(pids)[which], moment, over, ended))
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="loglinear.dask"):
        killer.start()
        try:
            yield
        finally:
            over.set()
            killer.join()
    is_noticed = ended and time.monotonic() - ended[0] > 0.5  # the block may be over before anybody looks
    told = [record.getMessage() for record in caplog.records if record.name == "loglinear.dask"]
    assert not is_noticed or any(message.startswith("lost tcp://") for message in told), told
    client.wait_for_workers(2, timeout=60)


def kill(client, pids, moment, over, ended):
    """Kill processes a moment after the first task of the block has begun; note when, unless the block is over."""
    while not over.is_set() and not any(client.processing().values()):
        time.sleep(0.01)
    if not over.wait(moment):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        ended.append(time.monotonic())
