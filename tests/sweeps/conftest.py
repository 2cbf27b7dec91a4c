"""What tests of sweeps share."""

from __future__ import annotations

import pytest
from command_line import ROOT
from sweep_examples import InProcess


@pytest.fixture
def here(tmp_path, monkeypatch) -> InProcess:
    """The command line in this process, and workers of its own where it launches some."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return InProcess(tmp_path)
