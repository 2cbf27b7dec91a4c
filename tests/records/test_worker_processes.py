"""Work in several processes: order, errors, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from attnlab.errors import RequestError
from attnlab.records import worker_processes
from attnlab.records.worker_processes import in_order

HERE = Path(__file__).parent


def doubled(number: int, wait: float = 0.0) -> tuple[int, int]:
    time.sleep(wait / (number + 1))
    return 2 * number, os.getpid()


def failing(number: int) -> int:
    if number == 3:
        raise RequestError("3: expected another number.")
    return number


def dying(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def noted(number: int, folder: Path) -> int:
    (folder / str(os.getpid())).touch()
    time.sleep(0.05)
    return number


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch):
    monkeypatch.setattr(worker_processes, "processors", lambda: 2)


def test_results_are_in_the_order_of_the_jobs(monkeypatch):
    found = [*in_order(partial(doubled, wait=0.3), range(12))]
    assert [(job, result) for job, (result, _) in found] == [(n, 2 * n) for n in range(12)]
    processes = {process for _, (_, process) in found}
    assert len(processes) == 2 and os.getpid() not in processes
    assert {process for _, (_, process) in in_order(doubled, range(3), alone=True)} == {os.getpid()}
    monkeypatch.setattr(worker_processes, "processors", lambda: 1)
    assert {process for _, (_, process) in in_order(doubled, range(3))} == {os.getpid()}


def test_few_jobs_are_begun_ahead():
    begun = []
    jobs = (begun.append(number) or number for number in range(50))
    results = in_order(doubled, jobs)
    next(results)
    assert len(begun) == 5
    results.close()


def test_an_error_is_that_of_the_function_and_a_dead_process_is_an_os_error():
    with pytest.raises(RequestError, match="3: expected another number."):
        [*in_order(failing, range(9))]
    with pytest.raises(OSError, match="a process ended, perhaps for lack of memory"):
        [*in_order(dying, range(9))]


KILLED = """
import os, sys
from functools import partial
from test_worker_processes import Path, in_order, noted, worker_processes
worker_processes.processors = lambda: 2
for number, _ in in_order(partial(noted, folder=Path(sys.argv[1])), range(1000)):
    if number == 4:
        os.kill(os.getpid(), 9)
"""


def is_running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status


def test_processes_end_with_a_process_that_is_killed(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=HERE, timeout=120)
    assert done.returncode == -signal.SIGKILL
    processes = [int(path.name) for path in tmp_path.iterdir()]
    deadline = time.monotonic() + 30
    while any(map(is_running, processes)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(processes) == 2 and not any(map(is_running, processes))
