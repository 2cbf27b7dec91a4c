"""An encoder of a briefly trained run of `task=masked_words`."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandsHere, without_figures

TINY_ENCODER = (
    *("task=masked_words", "data.sentences=100", "model.units=8", "model.feed_forward=8"),
    *("attention.heads=2", "task.max_length=24", "trainer.epochs=1", "tracking.enabled=false"),
    *("optimizer=adam", "trainer.jit=false"),
)


@pytest.fixture(scope="session")
def encoder_runs(tmp_path_factory) -> Path:
    """The runs folder of a sweep `before` with the seeds 0 and 1; tests don't change it."""
    folder = tmp_path_factory.mktemp("encoders")
    commands = CommandsHere(folder)
    with without_figures():
        code, _, err = commands("-m", *TINY_ENCODER, "seed=0,1", "sweep.name=before")
    assert code == 0, err
    return commands.runs
