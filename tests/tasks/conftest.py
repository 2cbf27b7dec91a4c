"""What the tests of several tasks share: a run that is trained once in a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandsHere


@pytest.fixture(scope="module")
def kept_runs(tmp_path_factory) -> Path:
    """Where the run of a file lies between its tests."""
    return tmp_path_factory.mktemp("trained") / "runs"


@pytest.fixture
def trained_once(lab, kept_runs) -> Callable[..., CommandsHere]:
    """Train by some words, which are the same for all tests of a file; each has a copy."""

    def train(*words: str) -> CommandsHere:
        if not kept_runs.exists():
            code, _, err = lab(*words)
            assert code == 0, err
            shutil.copytree(lab.runs, kept_runs)
        shutil.copytree(kept_runs, lab.runs, dirs_exist_ok=True)
        return lab

    return train
