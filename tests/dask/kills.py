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
    timers = [threading.Timer(moment, os.kill, (pid, signal.SIGKILL)) for pid in sorted(pids)[which]]
    caplog.clear()
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, logger="loglinear.dask"):
        for timer in timers:
            timer.start()
        yield
    is_over = time.monotonic() - began < moment + 0.5  # or was nearly, when they were killed: perhaps not noticed
    for timer in timers:
        timer.join()
    told = [record.getMessage() for record in caplog.records if record.name == "loglinear.dask"]
    assert is_over or any(message.startswith("lost tcp://") for message in told), told
    client.wait_for_workers(2, timeout=60)
