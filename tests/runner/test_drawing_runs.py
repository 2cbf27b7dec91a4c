"""Runs whose figures can't be drawn."""

from __future__ import annotations

import pytest

from attnlab.commands import command
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory


@pytest.fixture
def run(tmp_path):
    """A completed run of one epoch that forecast two values."""
    run = RunDirectory.create(tmp_path, "fib", "none", 0)
    run.history.append({"epoch": 1, "train_loss": 0.5})
    columns = {"index": [5, 6], "time": ["5", "6"], "step": [1, 1]}
    run.write_predictions({**columns, "target": [0.1, 0.2], "prediction": [0.1, 0.1]})
    run.write_json("metrics.json", {"task": "fib", "attention": "b", "seed": 0, "best_epoch": 1})
    run.status.write("completed", mlflow_run_id="abc123")
    return run


def plot(*words):
    command("plot").main([str(word) for word in words], standalone_mode=False)


def test_a_run_that_cannot_be_drawn_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="--output: .* can't be written"):
        plot(run.path, "--output", tmp_path / "file" / "deeper")
    run.write_json("metrics.json", {"task": "fib"})
    with pytest.raises(RequestError, match="is damaged: no 'attention' in it"):
        plot("abc", "--runs", tmp_path)
    run.status.write("failed")
    with pytest.raises(RequestError, match="not completed but failed"):
        plot(run.path)
