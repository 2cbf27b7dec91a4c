"""What tests of translation share: corpora, the one that ships and those that don't."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attnlab.tasks.translation.corpora.builtin import Builtin


@pytest.fixture
def realdata() -> Path:
    """The folder of the real corpora."""
    folder = os.environ.get("ATTNLAB_REALDATA")
    if not folder:
        pytest.skip("needs $ATTNLAB_REALDATA, a folder of the real corpora")
    return Path(folder)


@pytest.fixture(scope="session")
def builtin_parts() -> dict[str, list]:
    """The embedded corpus, part by part; nobody changes it."""
    corpus = Builtin()
    return {part: list(corpus.pairs(part)) for part in corpus.own_parts}
