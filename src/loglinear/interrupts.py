"""Ctrl-C. A training stops between two steps; a command ends with one line and exit code 130, at any moment.

The command line calls ``end_at_once`` before it imports anything, and runs the work of a command within
``raise_interrupts``. Code that imports may swallow a KeyboardInterrupt or turn it into another error, so one that comes
during an import is raised when the import is over.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

EXIT_CODE = 130  # as shells have it
_AGAIN = 0.02  # seconds after which a delayed interrupt is tried again


def end_at_once() -> None:
    """Let Ctrl-C end this process with one line, unless the process was told to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt within the block, where it would end this process at once."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGALRM, _raise)
    signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)
        signal.signal(signal.SIGALRM, _end)


class CtrlC:
    """A context in which the first Ctrl-C asks for a stop between steps, and the second one interrupts at once."""

    def __enter__(self) -> CtrlC:
        self.pressed = False
        self._old: Any = None
        if threading.current_thread() is threading.main_thread():
            old = signal.getsignal(signal.SIGINT)
            if old in (signal.default_int_handler, _raise):
                self._old = old
                signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *exc: object) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(EXIT_CODE)


def _raise(number: int, frame: FrameType | None) -> None:
    if _is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    else:
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
