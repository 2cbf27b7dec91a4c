"""The choice of epochs whose weights are loaded."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import choose_epochs, require_best_saved, spans


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


def test_the_smallest_loss_decides_between_equal_epochs(tmp_path):
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
    with pytest.raises(RequestError, match="--average=3: only 2 epochs have a validation score"):
        choose_epochs(run, "best", 3)


def test_missing_weights_are_named_with_the_saved_epochs(run):
    run.weights_path(2).unlink()
    for words in (("best",), ("2",), ("last", 3), ("best", 2)):
        with pytest.raises(RequestError, match=r"of epoch 2 are missing. Saved epochs: 1, 3 to 4"):
            choose_epochs(run, *words)
    with pytest.raises(RequestError, match="of epoch 2 are missing"):
        require_best_saved(run, run.read_metrics())
    assert choose_epochs(run, "last") == [4] and choose_epochs(run, "last", 2) == [3, 4]
    run.weights_path(4).unlink()
    with pytest.raises(RequestError, match="of epoch 4 are missing"):
        choose_epochs(run, "last")


def test_without_metrics_the_last_weights_can_be_used(run):
    (run.path / "metrics.json").unlink()
    with pytest.raises(RequestError, match="metrics.json: .*or use its newest"):
        choose_epochs(run, "best")


def test_spans():
    assert spans([]) == "" and spans([3]) == "3" and spans([1, 3, 4, 5, 9]) == "1, 3 to 5, 9"
