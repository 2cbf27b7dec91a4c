"""A run is alive while a process holds its lock; the kernel releases the lock of a dead process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from attnlab.errors import RequestError, RunBusy
from attnlab.records.run_directory import RunDirectory, hold, is_alive, list_runs

HOLD = (
    "import sys; from pathlib import Path; from attnlab.records.run_directory import run_lock; "
    "lock = run_lock(Path(sys.argv[1])); lock.acquire(); print('held', flush=True); "
    "sys.stdin.read()"
)


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path / "runs", "fib", "none", 0, {})


@pytest.fixture
def holder(run):
    """A process that holds the lock of a run."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_run_is_running_until_its_process_is_killed(run, holder):
    (listed,) = list_runs(run.path.parents[2])
    assert is_alive(run.path) and run.status.state() == listed.state == "running"
    with pytest.raises(RunBusy, match="another process is working in this folder"):
        with hold(run.path, 0.1):
            pass
    holder.kill()
    holder.wait()
    assert not is_alive(run.path) and run.status.state() == listed.state == "killed"
    with hold(run.path):
        assert run.status.state() == "running"
        with pytest.raises(RunBusy), hold(run.path, 0):
            pass
    run.status.write("failed")
    assert run.status.state() == "failed"


def test_a_process_waits_for_the_lock(run, holder):
    holder.stdin.close()
    with hold(run.path, -1):
        assert holder.wait() == 0


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="file: expected a folder that can be written "):
        with hold(tmp_path / "file"):
            pass
    assert not is_alive(tmp_path / "file") and not is_alive(tmp_path / "gone")
