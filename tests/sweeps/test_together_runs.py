"""Jobs of a sweep that train together, by the command line: killed, interrupted, failing."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from command_line import CommandLine
from same_runs import weights

TOGETHER = (
    *("-m", "task=fib", "task.count=200", "task.history=6", "model.units=4", "attention=bahdanau"),
    *("seed=range(5)", "trainer.epochs=12", "trainer.patience=4", "optimizer.learning_rate=0.01"),
    *("trainer.checkpoint_every_seconds=0", "tracking.enabled=false"),
)


def commands(folder: Path) -> CommandLine:
    folder.mkdir(exist_ok=True)
    return CommandLine(folder)


def all_weights(attnlab: CommandLine) -> dict[tuple[str, str, str], bytes]:
    """All weights of all epochs, by seed, file and place in it."""
    arrays = {}
    for folder in attnlab.run_folders():
        for path in sorted((folder / "weights").glob("epoch_*.h5")):
            place = folder.name.rpartition("_s")[2], path.name
            arrays |= {(*place, name): array.tobytes() for name, array in weights(path).items()}
    return arrays


def statuses(attnlab: CommandLine) -> list[dict]:
    folders = attnlab.run_folders()
    return [json.loads((folder / "status.json").read_text()) for folder in folders]


def ended(attnlab: CommandLine, how: signal.Signals) -> int:
    """Start the sweep and end it amid its epochs; the exit code."""
    with attnlab.start(*TOGETHER) as process:
        while len([*attnlab.runs.glob("*/*/*/weights/epoch_*")]) < 12 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(how)
        process.communicate()
        return process.returncode


@pytest.mark.slow
def test_killed_and_interrupted_jobs_end_with_the_same_bits(tmp_path):
    whole, killed, interrupted = (commands(tmp_path / name) for name in "abc")
    assert whole(*TOGETHER).code == 0
    expected = all_weights(whole)
    for folder, status in zip(whole.run_folders(), statuses(whole), strict=True):
        log = (folder / "run.log").read_text()  # each job has its own
        assert len([line for line in log.splitlines() if "/12: " in line]) == status["epoch"]
    assert {status["together"] for status in statuses(whole)} == {4}
    assert len({status["epoch"] for status in statuses(whole)}) > 1  # some stopped early
    ended(killed, signal.SIGKILL)
    assert ended(interrupted, signal.SIGINT) == 130
    assert "killed" in {status["state"] for status in statuses(interrupted)}
    for again in (killed, interrupted):
        assert 0 < len(all_weights(again)) < len(expected)
        assert again(*TOGETHER).code == 0
        assert all_weights(again) == expected


@pytest.mark.slow
def test_a_failing_job_does_not_end_the_others(tmp_path):
    attnlab = CommandLine(tmp_path)
    rates = ("optimizer=sgd", "optimizer.learning_rate=0.01,1e31,0.02", "seed=1")
    words = (*(word for word in TOGETHER if not word.startswith(("seed", "optimizer"))), *rates)
    outcome = attnlab(*words)
    assert outcome.code == 1 and "1 of 3 jobs failed" in outcome.err
    assert sorted(status["state"] for status in statuses(attnlab)) == [
        *("completed", "completed", "failed")
    ]
