"""Shared fixtures of several tasks: a run that is trained once per file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandsHere


@pytest.fixture(scope="module")
def trained_runs(tmp_path_factory) -> Path:
    """The folder of a file's run between its tests."""
    return tmp_path_factory.mktemp("trained") / "runs"


@pytest.fixture
def trained_once(lab, trained_runs) -> Callable[..., CommandsHere]:
    """Train with some overrides, the same for all tests of a file; each test gets a copy."""

    def train(*words: str) -> CommandsHere:
        if not trained_runs.exists():
            code, _, err = lab(*words)
            assert code == 0, err
            shutil.copytree(lab.runs, trained_runs)
        shutil.copytree(trained_runs, lab.runs, dirs_exist_ok=True)
        return lab

    return train
