"""What tests of all tasks share: data that don't ship."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def realdata() -> Path:
    """The folder of the real corpora."""
    folder = os.environ.get("ATTNLAB_REALDATA")
    if not folder:
        pytest.skip("needs $ATTNLAB_REALDATA, a folder of the real corpora")
    return Path(folder)
