"""An environment variable that is empty counts as unset."""

import ast
import os
import subprocess
from pathlib import Path

import pytest

from attnlab.commands.data import _cache
from attnlab.config.composing import compose, from_hydra
from attnlab.config.options import own_folders
from attnlab.config.sections import PathsConfig
from attnlab.process import variable
from attnlab.records.mlflow import default_uri
from attnlab.records.run_directory import default_runs_folder

ROOT = Path(__file__).parents[2]
EMPTY = pytest.mark.parametrize("empty", ["", " ", "\t\n"])
# A reader that has to know whether a variable is empty: CUDA hides all GPUs then.
KNOWS_EMPTY = {"CUDA_VISIBLE_DEVICES"}
READERS = {"os.environ.get", "os.getenv", "environ.get", "getenv"}


@EMPTY
def test_an_empty_variable_is_unset(monkeypatch, tmp_path, empty):
    monkeypatch.chdir(tmp_path)
    names = ("ATTNLAB_RUNS", "ATTNLAB_DATA", "ATTNLAB_CONFIG_DIR", "MLFLOW_TRACKING_URI")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    unset = default_runs_folder(), _cache(None), own_folders(), default_uri(tmp_path)
    for name in names:
        monkeypatch.setenv(name, empty)
    assert unset == (default_runs_folder(), _cache(None), own_folders(), default_uri(tmp_path))
    assert from_hydra(compose(["task=fib"])).paths == PathsConfig()


def test_a_set_variable_keeps_its_value(monkeypatch):
    monkeypatch.setenv("ATTNLAB_RUNS", " my runs ")
    assert variable("ATTNLAB_RUNS") == " my runs "
    assert from_hydra(compose(["task=fib"])).paths.runs == " my runs "


@EMPTY
def test_make_has_a_default_for_an_empty_variable(empty):
    environment = {**os.environ, "ATTNLAB_RUNS": empty, "PYTHON": "", "VENV": ""}
    made = subprocess.run(
        ["make", "--print-data-base", "--dry-run", "help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for line in (f"ATTNLAB_RUNS := {ROOT}/runs", "PYTHON := python3", "VENV := .venv"):
        assert line in made.stdout.splitlines()


def test_variables_are_read_by_one_function():
    for file in [*ROOT.glob("attnlab/**/*.py"), *ROOT.glob("scripts/*.py")]:
        found = [n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.Call)]
        reads = [n.args[0] for n in found if ast.unparse(n.func) in READERS]
        if file.name != "process.py":
            assert all(ast.literal_eval(name) in KNOWS_EMPTY for name in reads), file
