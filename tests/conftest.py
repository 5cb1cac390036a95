import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for problems.py


@pytest.fixture(autouse=True)
def _quiet_terminal(monkeypatch):
    """Tests see no colour codes and no terminal width."""
    monkeypatch.setenv("NO_COLOR", "1")
