"""Shared fixtures for tests of sweeps."""

from __future__ import annotations

import pytest
from command_line import ROOT, CommandsHere


@pytest.fixture
def here(tmp_path, monkeypatch) -> CommandsHere:
    """The command line in this process, which may launch its own workers."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return CommandsHere(tmp_path)
