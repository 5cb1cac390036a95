"""Workers that are killed while something is trained."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager


@contextmanager
def all_killed(client, moment):
    """Kill all workers, with SIGKILL, at a moment of the block; go on when there are two again."""
    deadline = time.monotonic() + 60
    while True:
        client.wait_for_workers(2, timeout=60)
        pids = client.run(os.getpid, on_error="return").values()
        if len(pids) == 2 and all(isinstance(pid, int) for pid in pids):
            break  # none of them is on its way out
        assert time.monotonic() < deadline
        time.sleep(0.1)
    timers = [threading.Timer(moment, os.kill, (pid, signal.SIGKILL)) for pid in pids]
    for timer in timers:
        timer.start()
    yield
    for timer in timers:
        timer.join()
    client.wait_for_workers(2, timeout=60)
