"""What is shown while something takes long."""

from __future__ import annotations

import gzip
import io
import sys
import time
from pathlib import Path

import pytest

from loglinear.data.corpus import read_corpus
from loglinear.optimise import progress
from loglinear.optimise.progress import Counting, Reading, Working


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


@pytest.mark.parametrize("terminal", [True, False])
def test_what_has_a_size_is_shown_with_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: bool
) -> None:
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"some words\n" * 1000))
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "DELAY", -1.0)
    with Reading() as report:
        read_corpus([tmp_path / "t.gz", tmp_path / "t.gz"], progress=report)
    assert ("reading" in shown.getvalue(), "bytes" in shown.getvalue()) == (terminal, terminal)
    with Counting("lists", 10, results_follow=True) as count:
        for i in range(10):
            count(i)
    assert ("/s" in shown.getvalue(), "9 lists" in shown.getvalue()) == (terminal, terminal)
