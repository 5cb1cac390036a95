"""What is shown while something takes long."""

from __future__ import annotations

import gzip
import io
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from loglinear.data.corpus import read_corpus
from loglinear.optimise import progress
from loglinear.optimise.minimise import History
from loglinear.optimise.progress import Counting, Reading, TrainingProgress, Trials, Working, time_left
from loglinear.solvers.solver import State


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


def history(*steps: tuple[float, float, float]) -> History:
    """Return a history of (seconds, passes, gap)."""
    found = History()
    for seconds, passes, gap in steps:
        found.record(seconds, State(weights=None, value=1.0, violation=1.0, passes=passes), gap)  # type: ignore[arg-type]
    return found


def test_time_left_is_that_to_the_tolerance_or_at_most_that_of_the_passes() -> None:
    falling = history(*((float(t), 2.0 * t, 10.0**-t) for t in range(7)))  # a tenth of the gap every second
    assert time_left(falling, 1e-10, 1000) == (pytest.approx(4.0), False)
    assert time_left(falling, 1e-6, 1000) == (0.0, False)
    assert time_left(falling, 1e-10, 14) == (pytest.approx(1.0), False)  # two passes a second
    unknown = history(*((float(t), 2.0 * t, float("inf")) for t in range(7)))
    assert time_left(unknown, 1e-10, 112) == (pytest.approx(50.0), True)
    level = history(*((float(t), 2.0 * t, 0.5) for t in range(7)))
    assert time_left(level, 1e-10, 112) == (pytest.approx(50.0), True)
    assert time_left(history((0.0, 0.0, 1.0)), None, 0) == (float("inf"), True)


@pytest.mark.parametrize("terminal", [True, False])
def test_training_shows_rate_gap_held_out_score_and_time_left(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(progress, "DELAY", -1.0)
    found = history(*((float(t), 2.0 * t, 10.0**-t) for t in range(7)))
    with TrainingProgress("auto", 1000, tolerance=1e-8, score=lambda w: 0.875) as report:
        report(6, State(weights=None, value=123.0, violation=1.0, passes=12), found)  # type: ignore[arg-type]
    told = ("step 6", "2 passes/s", "objective 123", "0.0001% above the optimum", "held out 0.875", "0:02 left")
    assert [text in shown.getvalue() for text in told] == [terminal] * len(told)


@pytest.mark.parametrize("terminal", [True, False])
def test_trials_of_tuning_are_shown(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with Trials(delay=0.01) as trials:
        for number, loss in enumerate((120.0, 90.0, 100.0), start=1):
            trials.tell(SimpleNamespace(validation=loss, seconds=2.0 * number))
        end = time.monotonic() + (60 if terminal else 0.1)
        while "trial 3" not in shown.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    told = ("trial 3", "held-out loss 100", "best 90", "2.0 s each")
    assert [text in shown.getvalue() for text in told] == [terminal] * len(told)
