"""What tests of sweeps share."""

from __future__ import annotations

import pytest
from sweep_examples import InProcess


@pytest.fixture
def here(tmp_path) -> InProcess:
    """The command line in this process."""
    return InProcess(tmp_path)
