import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for problems.py
import peers

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background hands down "ignore"


@pytest.fixture(autouse=True)
def _quiet_terminal(monkeypatch):
    """Tests see no colour codes and no terminal width."""
    monkeypatch.setenv("NO_COLOR", "1")


def pytest_terminal_summary(terminalreporter):
    """Say which suites of peers did not run, because the package index was out of reach."""
    skipped = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])}
    for reason in sorted(one for one in skipped if peers.UNREACHABLE in one):
        terminalreporter.write_line(f"PEERS NOT RUN: {reason.splitlines()[0]}", red=True)


_LONGEST = "docs", "real_data", "kenlm", "peer_suites", "demo", "multilabel"


def pytest_collection_modifyitems(items):
    """The longest tests come first, so that no process works alone at the end."""
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in _LONGEST)
