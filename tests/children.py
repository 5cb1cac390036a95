"""Child processes of tests: Python code in a process of its own, and processes that are stopped while they work."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence


def python(code: str) -> list[str]:
    """Return the command that runs code in a Python process of its own."""
    return [sys.executable, "-c", code]


def stopped(
    command: Sequence[str], sign: str, *, stop: signal.Signals = signal.SIGINT, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Start command, send it a signal once it has shown a sign of life, and return how it ended.

    Waiting for the sign instead of a number of seconds makes the moment of the signal independent of the machine. The
    child gets Ctrl-C even where this process was started in the background, because conftest.py undoes "ignore".

    Parameters
    ----------
    command : the child's command; everything it says goes to one stream
    sign : text in the line that shows that the child is at work
    stop : the signal, by default Ctrl-C
    timeout : seconds after which the child is killed and the test fails
    """
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    late = threading.Timer(timeout, child.kill)
    late.start()
    said = []
    try:
        for line in child.stdout:
            said.append(line)
            if sign in line:
                break
        else:
            raise AssertionError(f"ended before its sign of life {sign!r}:\n{''.join(said)}")
        child.send_signal(stop)
        said += child.stdout
        child.wait()
    finally:
        in_time = late.is_alive()
        late.cancel()
        child.kill()
        child.wait()
        child.stdout.close()
    assert in_time, f"still alive {timeout:g} seconds after its start:\n{''.join(said)}"
    return subprocess.CompletedProcess(command, child.returncode, "".join(said))
