"""Shared fixtures of several tasks: a run that is trained once per file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import CommandsHere


@pytest.fixture
def lab(here, no_figures) -> CommandsHere:
    """Commands in a folder, to which a file adds the data of its runs."""
    return here


@pytest.fixture(scope="module")
def trained_runs(tmp_path_factory) -> Path:
    """The folder of a file's run between its tests."""
    return tmp_path_factory.mktemp("trained") / "runs"


@pytest.fixture
def trained_lab(request, lab, trained_runs) -> CommandsHere:
    """Commands with the run of the file's `TRAINED`, trained once; each test gets a copy."""
    if not trained_runs.exists():
        lab.run(*request.module.TRAINED)
        shutil.copytree(lab.runs, trained_runs)
    shutil.copytree(trained_runs, lab.runs, dirs_exist_ok=True)
    return lab
