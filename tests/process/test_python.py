"""Python's module path, warnings and streams, in this process and in children."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from command_line import TINY

from attnlab.process import (
    child_environment,
    python_command,
    safe_command,
    search_path,
    set_up,
)

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
    """Let `set_up` change the path, the environment and the filters for this test only."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "warnoptions", [*sys.warnoptions])
    for name in ("PYTHONWARNINGS", "PYTHONSAFEPATH"):
        monkeypatch.setenv(name, "")
    with warnings.catch_warnings():
        yield


@pytest.mark.parametrize("flags", [[], ["-W", "default"]], ids=str)
def test_code_imports_no_module_of_the_working_folder(traps, flags):
    code = "import sys, random, json, numpy; print(sys.argv[1:])"
    command = safe_command([sys.executable, *flags, "-c", code, "a b", "-m"])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "['a b', '-m']\n"


def test_a_module_is_run_as_with_m(traps):
    done = subprocess.run(python_command("json.tool", "-"), input=b"[1]", capture_output=True)
    assert json.loads(done.stdout) == [1], done.stderr


@pytest.mark.parametrize("python", [["-m", "attnlab"], ["-P", "-m", "attnlab"]], ids=str)
def test_the_command_line_imports_no_module_of_the_working_folder(traps, python):
    done = subprocess.run([sys.executable, *python, "runs"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_path_is_without_the_folder_that_python_put_first(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "scripts" / "mine.py")])
    usual = ["/lib/python3", "/lib/site-packages"]
    for first in ("", str(tmp_path), str(tmp_path / "scripts")):
        monkeypatch.setattr(sys, "path", [first, *usual])
        assert search_path()[:-1] == usual  # and where this project is
    monkeypatch.setattr(sys, "path", ["/given", *usual])
    assert search_path()[:-1] == ["/given", *usual]


@pytest.mark.parametrize("given", ["error", "err", "error::DeprecationWarning", "e,ignore"])
def test_no_warning_is_an_error_here_or_in_children(own_process, monkeypatch, given):
    monkeypatch.setenv("PYTHONWARNINGS", given)
    sys.warnoptions[:] = given.split(",")
    warnings.simplefilter("error")
    set_up()
    with pytest.warns(UserWarning):
        warnings.warn("said, not raised", stacklevel=1)
    kept = ["ignore"] if "ignore" in given else []
    assert sys.warnoptions == kept
    assert child_environment().get("PYTHONWARNINGS", "") == "".join(kept)


def test_filters_that_raise_nothing_stay(own_process):
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    before = [*warnings.filters]
    set_up()
    assert warnings.filters == before


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_characters_that_a_stream_cannot_encode_are_escaped(own_process, monkeypatch, encoding):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    set_up()
    texts = ["läufe", "句", "\U0001f600", os.fsdecode(b"name-\xff")]
    print(json.dumps(texts, ensure_ascii=False), flush=True)
    assert json.loads(raw.getvalue().decode(encoding)) == texts


def test_a_run_on_a_hostile_machine(traps, attnlab):
    """Foreign settings of terminal, warnings and backend; foreign files in the working folder."""
    runs = attnlab.runs.with_name("läufe")
    attnlab.environment |= {
        **{"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "error"},
        **{"KERAS_BACKEND": "torch", "KERAS_HOME": str(traps), "ATTNLAB_RUNS": str(runs)},
    }
    settings = {"floatx": "bfloat16", "epsilon": 0.5, "image_data_format": "channels_first"}
    (traps / "keras.json").write_text(json.dumps(settings))
    done = attnlab("task=fib", "attention=none", *TINY)
    assert done.code == 0, done.err
    assert "l\\u00e4ufe" in done.out
    (metrics,) = runs.glob("fib/none/*/metrics.json")
    notes = json.loads(metrics.read_text("utf-8"))
    assert notes["epochs"] == 2
    assert json.loads((traps / "keras.json").read_text()) == settings


def test_setting_up_twice_changes_nothing(own_process):
    set_up()
    path = [*sys.path]
    set_up()
    assert sys.path == path
