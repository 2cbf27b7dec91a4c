"""Whether an owner lives: here, and in a job of a cluster."""

from __future__ import annotations

import os

import pytest

from attnlab.records.processes import is_running, this_process

ELSEWHERE = {"host": "elsewhere", "pid": 17, "pid_started": None}


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """Have Slurm's squeue answer this."""

    def answer(text: str, error: str = "", code: int = 0) -> None:
        script = f"#!/bin/sh\necho $* > {tmp_path}/asked\necho '{text}'\n"
        (tmp_path / "squeue").write_text(script + f"echo '{error}' >&2\nexit {code}\n")
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
    monkeypatch.setenv("PATH", "")
    assert is_running(ELSEWHERE)
    assert is_running({**ELSEWHERE, "slurm_job": "4711"})  # nobody to ask


@pytest.mark.parametrize(
    ("answer", "lives"),
    [
        (("RUNNING",), True),
        (("COMPLETING",), True),
        (("PENDING",), False),
        (("",), False),
        (("", "slurm_load_jobs error: Invalid job id specified", 1), False),
        (("", "slurm_load_jobs error: Unable to contact slurm controller", 1), True),
    ],
)
def test_a_cluster_is_asked_about_its_jobs(squeue, tmp_path, answer, lives):
    squeue(*answer)
    assert is_running({**ELSEWHERE, "slurm_job": "4711"}) is lives
    assert "--jobs=4711" in (tmp_path / "asked").read_text()


def test_a_job_that_began_again_is_not_its_own_owner(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    assert not is_running({**ELSEWHERE, "slurm_job": "4711"})
