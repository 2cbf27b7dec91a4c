"""Which epochs' weights are meant."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.run.loading import choose_epochs


@pytest.fixture
def run(tmp_path):
    """Four epochs of a translator, of which two were scored."""
    run = RunDirectory.create(tmp_path, "translate", "none", 0, {"task": {"name": "translate"}})
    for epoch, bleu in enumerate([float("nan"), 3.0, float("nan"), 2.0], 1):
        run.weights_path(epoch).write_bytes(b"")
        run.history.append({"epoch": epoch, "val_bleu": bleu})
    run.write_json("metrics.json", {"monitor": "val_bleu", "best_epoch": 2})
    run.status.write("completed", epoch=4)
    return run


def test_of_equal_epochs_those_of_the_smallest_loss_are_the_best(tmp_path):
    run = RunDirectory.create(tmp_path, "translate", "none", 0, {"task": {"name": "translate"}})
    for epoch, loss in enumerate([4.0, 3.0, 2.0, 3.0], 1):
        run.weights_path(epoch).write_bytes(b"")
        run.history.append({"epoch": epoch, "val_bleu": 0.0, "val_loss": loss})
    run.write_json("metrics.json", {"monitor": "val_bleu", "best_epoch": 3})
    run.status.write("completed", epoch=4)
    assert choose_epochs(run, "best") == [3] and choose_epochs(run, "best", 2) == [2, 3]


def test_the_best_epochs_are_those_that_were_scored(run):
    assert choose_epochs(run, "best", 2) == [2, 4]
    assert choose_epochs(run, "last", 3) == [2, 3, 4]
    with pytest.raises(RequestError, match="at most the 2 epochs that were scored, got 3"):
        choose_epochs(run, "best", 3)
