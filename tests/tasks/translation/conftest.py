"""Shared fixture of translation: the built-in corpus."""

from __future__ import annotations

import pytest

from attnlab.tasks.translation.corpora.builtin import Builtin


@pytest.fixture(scope="session")
def builtin_parts() -> dict[str, list]:
    """The parts of the built-in corpus; tests don't change them."""
    corpus = Builtin()
    return {part: list(corpus.pairs(part)) for part in corpus.own_parts}
