"""Small sweeps for tests, and functions that read their results."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import time
from pathlib import Path

from command_line import CommandLine

# A run of a second.
SMALL = (
    *("task=fib", "task.count=61", "task.history=5", "attention=none", "model.units=3"),
    *("trainer.batch_size=61", "trainer.epochs=2", "trainer.jit=false", "model.cell=simple"),
)
UNTRACKED = "tracking.enabled=false"
# A run that continues until it is stopped.
ENDLESS = ("trainer.epochs=999", "trainer.batch_size=1")


def states(attnlab: CommandLine) -> list[str]:
    """The states of all runs."""
    statuses = [json.loads((f / "status.json").read_text()) for f in attnlab.run_folders()]
    return [status["state"] for status in sorted(statuses, key=lambda s: s["started"])]


def sweep_folder(attnlab: CommandLine) -> Path:
    (folder,) = (attnlab.runs / "sweeps").iterdir()
    return folder


def table(folder: Path) -> list[dict[str, str]]:
    with open(folder / "table.csv", newline="") as stream:
        return list(csv.DictReader(stream))


def query(attnlab: CommandLine, sql: str) -> list[tuple]:
    """The runs in the MLflow store."""
    with sqlite3.connect(attnlab.runs / "mlflow.db") as store:
        return store.execute(sql).fetchall()


def ended_jobs(err: str) -> list[str]:
    """The lines of ended jobs, without terminal codes."""
    return re.findall(r"attnlab: (\d+/\d+  .*)", err)


def wait_for(condition, process=None, seconds: float = 240) -> None:
    """Wait for a condition; fail at once if the process ends first."""
    end = time.monotonic() + seconds
    while not condition():
        ended = process is not None and process.poll() is not None
        assert not ended or condition(), process.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
