"""One process at a time writes a folder: its living owner, here or in a cluster job."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from attnlab.errors import RequestError, RunBusy
from attnlab.records import status
from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.records.status import FolderLock, is_running, shown_state, this_process

HOLD = (
    "import sys; from pathlib import Path; from attnlab.records.status import FolderLock; "
    "FolderLock(Path(sys.argv[1])).acquire(); print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `tmp_path`."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_lock_of_a_living_process_is_respected_and_named(tmp_path, holder):
    with pytest.raises(RunBusy, match=rf"process {holder.pid} on .* since 2"):
        FolderLock(tmp_path).acquire()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path, holder):
    holder.kill()
    holder.wait()
    with FolderLock(tmp_path):
        owner = json.loads((tmp_path / "lock.json").read_text())
        assert owner["pid"] == this_process()["pid"]
    assert not (tmp_path / "lock.json").exists()


def test_a_lock_excludes_its_own_process_too(tmp_path):
    with FolderLock(tmp_path), pytest.raises(RunBusy):
        FolderLock(tmp_path).acquire()


def test_a_process_on_another_host_counts_as_living(tmp_path):
    elsewhere = {**this_process(), "host": "elsewhere", "pid": 1}
    (tmp_path / "lock.json").write_text(json.dumps(elsewhere))
    with pytest.raises(RunBusy, match="process 1 on elsewhere .* remove lock.json"):
        FolderLock(tmp_path).acquire()


def test_a_worker_on_another_host_lives_as_long_as_its_launcher(tmp_path, holder, monkeypatch):
    launcher = json.loads((tmp_path / "lock.json").read_text())
    worker = {"host": "node7", "pid": 1, "slurm_job": "77", "launcher": launcher}
    monkeypatch.setenv("SLURM_JOB_ID", "77")  # Ray's nodes may be in one job of Slurm
    assert is_running(worker)
    holder.kill()
    holder.wait()
    assert not is_running(worker)
    monkeypatch.setattr(status, "_launcher", launcher)  # for another worker of the same launcher
    assert is_running(worker) and this_process()["launcher"] == launcher


def test_a_host_may_change_its_name(tmp_path, monkeypatch):
    with FolderLock(tmp_path):
        monkeypatch.setattr(status.socket, "gethostname", lambda: "renamed")
    assert not (tmp_path / "lock.json").exists()


def test_other_hosts_learn_that_a_run_was_killed(tmp_path, monkeypatch):
    own, lock = status.Status(tmp_path / "status.json"), FolderLock(tmp_path)
    monkeypatch.setattr(status.socket, "gethostname", lambda: "lost")
    lock.acquire()
    own.write("running")
    monkeypatch.setattr(status.socket, "gethostname", lambda: "third")
    with pytest.raises(RunBusy):
        lock.acquire()
    assert own.state() == "running"
    status.write_ended(tmp_path, own.read())
    assert own.state() == "killed"
    lock.acquire()


GONE = {**this_process(), "pid": 2**22 + 1}
ELSEWHERE = {"host": "elsewhere", "pid": 17, "pid_started": None}


@pytest.mark.parametrize("state", ["running", "killed"])
@pytest.mark.parametrize("step", ["lock", "run"])
def test_a_run_that_another_process_has_taken_since_stays_with_it(tmp_path, state, step):
    run = RunDirectory.create(tmp_path, "fib", "none", 0)
    run.status.write(state, **GONE)
    (listed,) = list_runs(tmp_path)
    assert listed.state == "killed"
    with FolderLock(run.path):
        if step == "run":
            run.status.write("running")
        before = run.status.read()
        status.write_ended(run.path, listed.status)
        assert run.status.read() == before and run.is_locked


def test_the_lock_of_a_second_process_that_died_is_removed_too(tmp_path):
    """Its own host sees that it is dead, but not the hosts of the jobs."""
    run = RunDirectory.create(tmp_path, "fib", "none", 0)
    run.status.write("running", **GONE)
    (run.path / "lock.json").write_text(json.dumps({**GONE, "pid": GONE["pid"] + 1}))
    status.write_ended(run.path, run.status.read())
    assert run.status.read()["state"] == "killed" and not run.is_locked


def test_a_run_that_ended_since_keeps_its_state(tmp_path):
    run = RunDirectory.create(tmp_path, "fib", "none", 0)
    run.status.write("running", **GONE)
    (listed,) = list_runs(tmp_path)
    run.status.write("failed", error="another sweep could not resume it")
    status.write_ended(run.path, listed.status)
    assert run.status.state() == "failed"
    shutil.rmtree(run.path)
    status.write_ended(run.path, listed.status)
    assert not run.path.exists()


def test_a_process_releases_only_its_own_lock(tmp_path):
    with FolderLock(tmp_path):
        (tmp_path / "lock.json").write_text(json.dumps(ELSEWHERE))
    assert (tmp_path / "lock.json").exists()


def test_a_run_forgets_the_launcher_of_an_earlier_process(tmp_path):
    run = RunDirectory.create(tmp_path, "fib", "none", 0)
    run.status.write(launcher={"host": "node7", "pid": 1}, slurm_job="5")
    run.status.write("running")
    assert not {"launcher", "slurm_job"} & set(run.status.read())


def test_a_damaged_lock_can_be_taken_over(tmp_path):
    (tmp_path / "lock.json").write_text("{")
    FolderLock(tmp_path).acquire()
    owner = json.loads((tmp_path / "lock.json").read_text())
    assert owner["pid"] == os.getpid()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attnlab.records.files.write_json", full)
    with pytest.raises(RequestError, match="expected a folder that can be written .No space") as no:
        FolderLock(tmp_path).acquire()
    assert not isinstance(no.value, RunBusy)


def test_exactly_one_of_many_processes_takes_a_dead_lock(tmp_path):
    dead = {**this_process(), "pid": 2**22 + 1}
    (tmp_path / "lock.json").write_text(json.dumps(dead))
    code = HOLD.replace("sys.stdin.read()", "import time; time.sleep(1)")
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(4)
    ]
    outputs = [process.communicate()[0] for process in crowd]
    assert outputs.count(b"held\n") == 1


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """Replace the answer of Slurm's squeue."""
    monkeypatch.setattr(status, "_asked", None)

    def answer(text: str, code: int = 0) -> None:
        script = f"#!/bin/sh\necho $* >> {tmp_path}/asked\nprintf '{text}'\nexit {code}\n"
        (tmp_path / "squeue").write_text(script)
        (tmp_path / "squeue").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return answer


def test_a_process_knows_the_job_that_it_is_in(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert set(this_process()) == {"host", "pid", "pid_started"}
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    assert this_process()["slurm_job"] == "4711"
    assert is_running(this_process())


def test_another_host_counts_as_living(monkeypatch):
    monkeypatch.setattr(status, "_asked", None)
    monkeypatch.setenv("PATH", "")
    assert is_running(ELSEWHERE)
    assert is_running({**ELSEWHERE, "slurm_job": "4711"})  # nobody to ask


@pytest.mark.parametrize(
    ("answer", "lives"),
    [
        (("4711\\n",), True),
        (("470\\n4711\\n",), True),
        (("47\\n",), False),
        (("",), False),
        (("slurm_load_jobs error: Unable to contact slurm controller", 1), True),
    ],
)
def test_the_cluster_is_queried_about_its_jobs(squeue, tmp_path, answer, lives):
    squeue(*answer)
    assert is_running({**ELSEWHERE, "slurm_job": "4711"}) is lives
    assert "--states=RUNNING,COMPLETING,SUSPENDED,STOPPED" in (tmp_path / "asked").read_text()


def test_a_list_of_runs_queries_the_cluster_once(squeue, tmp_path):
    squeue("3\\n5\\n")
    for number in range(12):
        run = RunDirectory.create(tmp_path / "runs", "fib", "none", number, {})
        run.status.write("running", **ELSEWHERE, slurm_job=str(number))
    listed = list_runs(tmp_path / "runs")
    living = [entry.status["seed"] for entry in listed if shown_state(entry.status) == "running"]
    assert sorted(living) == [3, 5]
    asked = tmp_path / "asked"
    assert len(asked.read_text().splitlines()) == 1
    # Taking over a lock needs a fresh answer, not the cached one.
    squeue("7\\n")
    (tmp_path / "lock.json").write_text(json.dumps({**ELSEWHERE, "slurm_job": "7"}))
    with pytest.raises(RunBusy):
        FolderLock(tmp_path).acquire()
    assert len(asked.read_text().splitlines()) == 2


def test_a_restarted_job_is_not_the_owner_of_its_old_lock(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    assert not is_running({**ELSEWHERE, "slurm_job": "4711"})
