"""Jobs of a sweep that train together, by the command line: killed and interrupted."""

from __future__ import annotations

import json
import signal

import pytest
from command_line import CommandLine
from same_runs import assert_same_runs
from sweep_examples import wait_for

TOGETHER = (
    *("-m", "task=fib", "task.count=200", "task.history=6", "model.units=4", "attention=bahdanau"),
    *("seed=range(5)", "trainer.epochs=12", "trainer.patience=4", "optimizer.learning_rate=0.01"),
    *("trainer.checkpoint_every_seconds=0", "tracking.enabled=false"),
)


def statuses(attnlab: CommandLine) -> list[dict]:
    folders = attnlab.run_folders()
    return [json.loads((folder / "status.json").read_text()) for folder in folders]


@pytest.mark.slow
def test_killed_and_interrupted_jobs_end_with_the_same_bits(tmp_path):
    for name in "abc":
        (tmp_path / name).mkdir()
    whole, killed, interrupted = (CommandLine(tmp_path / name) for name in "abc")
    assert whole(*TOGETHER).code == 0
    for folder, status in zip(whole.run_folders(), statuses(whole), strict=True):
        log = (folder / "run.log").read_text()  # each job has its own
        assert len([line for line in log.splitlines() if "/12: " in line]) == status["epoch"]
    assert {status["together"] for status in statuses(whole)} == {4}
    assert len({status["epoch"] for status in statuses(whole)}) > 1  # some stopped early
    for attnlab, how in ((killed, signal.SIGKILL), (interrupted, signal.SIGINT)):
        with attnlab.start(*TOGETHER) as process:
            wait_for(lambda a=attnlab: len([*a.runs.glob("*/*/*/weights/epoch_*")]) >= 12, process)
            process.send_signal(how)
            process.communicate()
    assert process.returncode == 130
    assert "killed" in {status["state"] for status in statuses(interrupted)}
    for attnlab in (killed, interrupted):
        assert attnlab(*TOGETHER).code == 0
        assert_same_runs(attnlab, whole)
