"""What tests of sweeps share."""

from __future__ import annotations

import pytest
from command_line import ROOT, CommandsHere


@pytest.fixture
def here(tmp_path, monkeypatch) -> CommandsHere:
    """The command line in this process, and workers of its own where it launches some."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return CommandsHere(tmp_path)
