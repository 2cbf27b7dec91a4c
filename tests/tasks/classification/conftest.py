"""What tests of classification share."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from attnlab.tasks import kinds
from attnlab.tasks.classification.kind import KIND


@pytest.fixture
def known_task(monkeypatch):
    """Let runs of the task `classify` be of their kind, whatever the task itself needs."""
    found = kinds.option_class

    def option_class(group, name):
        return SimpleNamespace(kind=KIND) if name == "classify" else found(group, name)

    monkeypatch.setattr(kinds, "option_class", option_class)
