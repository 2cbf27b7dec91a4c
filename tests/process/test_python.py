"""Python's module path, warnings and streams, in this process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TINY

from attnlab.process import set_up

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


@pytest.fixture
def own_process(monkeypatch):
    """Let `set_up` change the path and the environment for this test only."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONSAFEPATH", "")


@pytest.mark.parametrize("python", [["-m", "attnlab"], ["-P", "-m", "attnlab"]], ids=str)
def test_the_command_line_imports_no_module_of_the_working_folder(traps, python):
    done = subprocess.run([sys.executable, *python, "runs"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_path_is_without_the_folder_that_python_put_first(own_process, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "scripts" / "mine.py")])
    usual = ["/lib/python3", "/lib/site-packages"]
    for first in ("", str(tmp_path), str(tmp_path / "scripts")):
        monkeypatch.setattr(sys, "path", [first, *usual])
        set_up()
        assert sys.path[:-1] == usual  # and where this project is
    monkeypatch.setattr(sys, "path", ["/given", *usual])
    for _ in range(2):
        set_up()
        assert sys.path[:-1] == ["/given", *usual]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_characters_that_a_stream_cannot_encode_are_escaped(own_process, monkeypatch, encoding):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    set_up()
    print("läufe 句", os.fsdecode(b"name-\xff"), flush=True)
    assert raw.getvalue().decode(encoding).endswith("name-\\udcff\n")


def test_a_run_on_a_hostile_machine(traps, attnlab):
    """Foreign settings of terminal, warnings and backend; foreign files in the working folder."""
    runs = attnlab.runs.with_name("läufe")
    attnlab.environment |= {
        **{"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        **{"KERAS_BACKEND": "torch", "KERAS_HOME": str(traps), "ATTNLAB_RUNS": str(runs)},
    }
    settings = {"floatx": "bfloat16", "epsilon": 0.5, "image_data_format": "channels_first"}
    (traps / "keras.json").write_text(json.dumps(settings))
    done = attnlab("task=fib", "attention=none", *TINY)
    assert done.code == 0, done.err
    assert "l\\xe4ufe" in done.out
    (metrics,) = runs.glob("fib/none/*/metrics.json")
    notes = json.loads(metrics.read_text("utf-8"))
    assert notes["epochs"] == 2
    assert json.loads((traps / "keras.json").read_text()) == settings
