"""Whether the process that owns a run still lives."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.process.variables import variable

_SLURM = "SLURM_JOB_ID"
_RUNNING = "RUNNING,COMPLETING,SUSPENDED,STOPPED"
_PATIENCE = 20.0  # seconds for Slurm's answer
_ANSWER_HOLDS = 10.0  # seconds: a list of runs asks once, not for each of them
_asked: tuple[float, set[str] | None] | None = None


def this_process() -> dict[str, Any]:
    """What `is_running` needs to recognise this process: host, pid, and its start on Linux.

    In a job of Slurm also its number, by which other hosts can ask about it.
    """
    pid = os.getpid()
    job = variable(_SLURM)
    known = {"host": socket.gethostname(), "pid": pid, "pid_started": _start(pid)}
    return known | ({"slurm_job": job} if job else {})


def is_running(owner: Mapping[str, Any], *, anew: bool = False) -> bool:
    """Whether the process recorded by `this_process` lives, as far as can be known from here.

    A process on another host counts as living, unless it was in a job of Slurm that is over; `anew`
    asks Slurm even if it has answered a moment ago, because the owner's place is to be taken. The
    start time tells the owner from a later process with the same number.
    """
    pid = owner.get("pid")
    if not isinstance(pid, int) or os.name == "nt":
        return True
    if owner.get("host") != socket.gethostname():
        return _is_queued(owner.get("slurm_job"), anew)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return owner.get("pid_started") in (None, _start(pid))


def _is_queued(job: object, anew: bool) -> bool:
    """Whether a job of Slurm runs as it did; True where that can't be known."""
    if not isinstance(job, str) or not job.isdigit():
        return True
    if job == variable(_SLURM):
        return False  # this process: the job was put back into the queue and began again
    running = _running_jobs(anew)
    return running is None or job in running


def _running_jobs(anew: bool) -> set[str] | None:
    """The numbers of all jobs that Slurm runs, asked for once in a while; None if not known."""
    global _asked
    if anew or _asked is None or time.monotonic() - _asked[0] > _ANSWER_HOLDS:
        command = ["squeue", "--noheader", "--format=%A", f"--states={_RUNNING}"]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=_PATIENCE)
            answer = None if done.returncode else set(done.stdout.split())
        except (OSError, subprocess.SubprocessError):
            answer = None
        _asked = (time.monotonic(), answer)
    return _asked[1]


def _start(pid: int) -> str | None:
    """When the process began, in the kernel's ticks since boot; None where that isn't known.

    A zombie has no start: nobody has asked for its exit status yet, but it has ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else None
