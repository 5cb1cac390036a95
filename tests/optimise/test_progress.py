"""What is shown while something takes long."""

from __future__ import annotations

import io
import sys
import time

import pytest

from loglinear.optimise.progress import Working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_stages_are_shown_on_a_terminal_while_they_take_long(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with Working(delay=0.01) as stage:
        for name in ("reading", "counting"):
            stage(name)
            end = time.monotonic() + (60 if terminal else 0.1)
            while name not in shown.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
    assert ("reading" in shown.getvalue(), "counting" in shown.getvalue()) == (terminal, terminal)


def test_short_work_shows_nothing_and_verbose_shows_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Working(1) as stage:
        stage("reading")
    assert capsys.readouterr().err == "reading\n"
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with Working() as stage:
        stage("reading")
    assert shown.getvalue() == ""
    with pytest.raises(ValueError, match="verbose"):
        Working("loud")
