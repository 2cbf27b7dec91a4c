"""Figures drawn by another process."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from command_line import ROOT

from attnlab.run.figures import Drawing

FIGURES = ["attention.png", "forecast.png", "loss.png"]
KILLED = """
import os, signal, sys
from pathlib import Path
from attnlab.run.figures import Drawing
Drawing(Path(sys.argv[1]), lambda: None)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(trained, tmp_path):
    """A finished run without figures."""
    copied = tmp_path / "fib" / "none" / "run"
    shutil.copytree(trained.folder, copied)
    shutil.rmtree(copied / "plots")
    return copied


def test_figures_are_drawn_and_failures_name_their_run(folder, tmp_path):
    calls = threading.Semaphore(0)
    damaged, whole = (Drawing(path, calls.release) for path in (tmp_path, folder))
    assert "metrics.json: missing" in damaged.wait()
    assert whole.wait() is None
    assert sorted(path.name for path in (folder / "plots").iterdir()) == FIGURES
    assert calls.acquire(blocking=False) and calls.acquire(blocking=False)


def test_a_process_that_cannot_start_is_reported(folder, monkeypatch):
    def refuse(*given, number):
        raise OSError("no memory")

    monkeypatch.setattr("attnlab.run.figures.HelperProcess.current", refuse)
    assert Drawing(folder, lambda: None).wait() == "no process could be started: no memory"


@pytest.mark.parametrize(("processors", "processes"), [(1, 1), (2, 2), (64, 4)])
def test_runs_that_end_together_are_drawn_on_all_processors(monkeypatch, processors, processes):
    asked = set()

    def refuse(module, number):
        asked.add(number)
        raise OSError

    monkeypatch.setattr("attnlab.run.figures.processors", lambda: processors)
    monkeypatch.setattr("attnlab.run.figures.HelperProcess.current", refuse)
    for _ in range(8):
        Drawing(None, lambda: None)
    assert asked == set(range(processes))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_figures_are_drawn_even_if_their_owner_is_killed(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], env=environment)
    end = time.monotonic() + 60
    while not (folder / "plots" / "attention.png").is_file():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
