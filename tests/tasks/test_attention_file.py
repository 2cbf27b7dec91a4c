"""Attention recorded while a run trains: which epochs, one file, read as it was written."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import (
    MOST_EPOCHS,
    Recorded,
    epochs_to_record,
    read_attention,
    write_attention,
)

TOKENS = np.array([["a", "b"]])


def examples(epoch: int) -> dict[str, np.ndarray]:
    return {"weights": np.full((1, 1, 2, 2), epoch, np.float16), "tokens": TOKENS}


def test_epochs_are_spread_over_the_run():
    assert epochs_to_record(3) == {1, 2, 3}
    epochs = epochs_to_record(1000)
    assert len(epochs) == MOST_EPOCHS and {1, 1000} < epochs


def test_what_is_written_is_read(tmp_path):
    recorded = Recorded({epoch: examples(epoch) for epoch in (1, 4, 9)}, best=4)
    write_attention(RunDirectory(tmp_path), recorded)
    again = read_attention(RunDirectory(tmp_path))
    assert again.epochs == [1, 4, 9] and again.best == 4
    for epoch in again.epochs:
        assert again.at(epoch).keys() == {"weights", "tokens"}
        for name, array in examples(epoch).items():
            assert np.array_equal(again.at(epoch)[name], array)
    assert again.final()["weights"][0, 0, 0, 0] == 4


def test_a_run_without_attention_and_a_damaged_file(tmp_path):
    run = RunDirectory(tmp_path)
    assert read_attention(run) is None
    (tmp_path / "attention.npz").write_bytes(b"PK broken")
    with pytest.raises(RequestError, match=r"attention\.npz: damaged"):
        read_attention(run)
