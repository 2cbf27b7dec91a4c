"""Runs that are killed at various moments end with the same bits as an uninterrupted run."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import CommandLine, some_pairs
from same_runs import assert_same_run

IN_A_ROW = 4  # kills of one run at most
NOWHERE = Path("/nowhere")
FORECAST = (
    *("task=fib", "attention=bahdanau", "model.units=5", "model.cell=simple"),
    "trainer.batch_size=2",
    *("trainer.epochs=40", "model.dropout=0.2", "schedule=plateau", "trainer.patience=30"),
    "trainer.checkpoint_every_seconds=0",
)
TRANSLATION = (
    *("task=translate", "data=files", "data.path=pairs.tsv", "attention=multi_head"),
    *("model.units=16", "model.layers=1", "model.feed_forward=16", "attention.heads=2"),
    *("trainer.batch_size=90", "trainer.epochs=8", "paths.data=cache"),
    *("trainer.checkpoint_every_seconds=0", "tracking.weights=all"),
)

Moment = Callable[[Path], bool]


def at_once(folder: Path) -> bool:
    """The process has begun."""
    return True


def saving(folder: Path) -> bool:
    """A file is being written."""
    names = [*_names(folder / "checkpoint"), *_names(folder / "weights")]
    return any(name.startswith(".tmp-") for name in names)


def exists(path: str) -> Moment:
    """The run folder has a file, or a folder that is not empty."""
    return lambda folder: (folder / path).is_file() or bool(_names(folder / path))


# The moment, and for how many seconds at most the process lives on after it.
MOMENTS: list[tuple[Moment, float]] = [
    *[(at_once, 6.0), (exists("."), 3.0), (exists("checkpoint"), 1.0), (saving, 0.0)],
    *[(exists("checkpoint"), 0.05), (exists("predictions.csv"), 0.02)],
    (exists("metrics.json"), 0.5),
]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def run_folder(attnlab: CommandLine) -> Path | None:
    folders = attnlab.run_folders()
    return folders[0] if folders else None


def killed(attnlab: CommandLine, words: tuple[str, ...], moment: Moment, delay: float) -> bool:
    """Start a command and kill it at a moment; returns whether it was still running then."""
    with attnlab.start(*words) as process:
        while process.poll() is None and not moment(run_folder(attnlab) or NOWHERE):
            # Only a file that is being written is gone at once: looking takes time, too.
            time.sleep(0.0005 if moment is saving else 0.005)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL


def chain(
    attnlab: CommandLine,
    overrides: tuple[str, ...],
    draw: random.Random,
    moments: list[tuple[Moment, float]],
) -> None:
    """One run, killed at the last of some moments, which are taken away, then left to end."""
    for moment, longest in reversed(moments[-IN_A_ROW:]):
        words = ("resume", "latest") if run_folder(attnlab) else overrides
        if not killed(attnlab, words, moment, draw.uniform(0, longest)):
            break
        moments.pop()
    outcome = attnlab("resume", "latest") if run_folder(attnlab) else attnlab(*overrides)
    assert outcome.code == 0, outcome.err


def wait_for_helpers(folder: Path) -> None:
    """Wait for processes that follow the run of a killed process."""
    end = time.monotonic() + 60
    while _processes_in(folder) and time.monotonic() < end:
        time.sleep(0.05)


def _processes_in(folder: Path) -> list[Path]:
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if (process / "cwd").readlink() == folder:
                processes.append(process)
    return processes


def assert_each_step_once(store: Path) -> None:
    """Check that MLflow has one run, with each metric once per step, and each epoch."""
    with sqlite3.connect(store) as database:
        runs = database.execute("SELECT run_uuid, status FROM runs").fetchall()
        metrics = database.execute("SELECT key, step FROM metrics").fetchall()
    assert len(runs) == 1 and runs[0][1] == "FINISHED"
    assert len(metrics) == len(set(metrics))
    folder = next(store.parent.glob("*/*/*/status.json")).parent
    epochs = json.loads((folder / "metrics.json").read_text())["epochs"]
    assert {step for key, step in metrics if key == "train_loss"} == set(range(1, epochs + 1))
    assert any(key.startswith("test_") for key, _ in metrics)


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [FORECAST, TRANSLATION], ids=["forecast", "translation"])
def test_a_run_killed_at_each_moment_ends_with_the_same_bits(tmp_path, overrides):
    pairs = "".join(f"{pair.source}\t{pair.target}\r\n" for pair in some_pairs(300))
    draw, number = random.Random(7), 0
    moments = draw.sample(MOMENTS, len(MOMENTS))
    undisturbed = make(tmp_path / "undisturbed", pairs)
    undisturbed.run(*overrides)
    while moments:
        attnlab = make(tmp_path / f"chain{number}", pairs)
        chain(attnlab, overrides, draw, moments)
        (folder,) = attnlab.run_folders()
        (expected,) = undisturbed.run_folders()
        wait_for_helpers(attnlab.folder)
        assert_same_run(folder, expected)
        assert_each_step_once(attnlab.runs / "mlflow.db")
        number += 1


def make(folder: Path, pairs: str) -> CommandLine:
    folder.mkdir()
    (folder / "pairs.tsv").write_text(pairs)
    return CommandLine(folder)
