"""The process of a command: the working folder, its environment, what its streams can print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TINY

from attnlab.commands.data import _cache
from attnlab.config.composing import compose, from_hydra
from attnlab.config.options import user_folders
from attnlab.config.sections import PathsConfig
from attnlab.records.mlflow import default_uri
from attnlab.records.run_directory import default_runs_folder

MODULES = ("random", "json", "numpy", "keras", "mlflow", "joblib", "uvicorn", "tensorflow")


@pytest.fixture
def traps(tmp_path, monkeypatch) -> Path:
    """A working folder with files that end a process that imports them."""
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py was run')")
    monkeypatch.chdir(tmp_path)
    # As on Python 3.10, which has no such variable.
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path


def test_a_run_on_a_hostile_machine(traps, attnlab):
    """Foreign settings of terminal, warnings and backend; foreign files in the working folder."""
    for python in (["-m", "attnlab"], ["-P", "-m", "attnlab"]):
        done = subprocess.run([sys.executable, *python, "runs"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    runs = attnlab.runs.with_name("läufe")
    attnlab.environment |= {
        **{"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        **{"KERAS_BACKEND": "torch", "KERAS_HOME": str(traps), "ATTNLAB_RUNS": str(runs)},
    }
    settings = {"floatx": "bfloat16", "epsilon": 0.5, "image_data_format": "channels_first"}
    (traps / "keras.json").write_text(json.dumps(settings))
    done = attnlab.run("task=fib", "attention=none", *TINY)
    assert "l\\xe4ufe" in done.out
    (metrics,) = runs.glob("fib/none/*/metrics.json")
    notes = json.loads(metrics.read_text("utf-8"))
    assert notes["epochs"] == 2
    assert json.loads((traps / "keras.json").read_text()) == settings


def test_an_empty_variable_is_unset(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = ("ATTNLAB_RUNS", "ATTNLAB_DATA", "ATTNLAB_CONFIG_DIR", "MLFLOW_TRACKING_URI")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    unset = default_runs_folder(), _cache(), user_folders(), default_uri(tmp_path)
    for name in names:
        monkeypatch.setenv(name, "")
    assert unset == (default_runs_folder(), _cache(), user_folders(), default_uri(tmp_path))
    assert from_hydra(compose(["task=fib"])).paths == PathsConfig()
