"""What tests of translation share: the corpus that ships."""

from __future__ import annotations

import pytest

from attnlab.tasks.translation.corpora.builtin import Builtin


@pytest.fixture(scope="session")
def builtin_parts() -> dict[str, list]:
    """The embedded corpus, part by part; nobody changes it."""
    corpus = Builtin()
    return {part: list(corpus.pairs(part)) for part in corpus.own_parts}
