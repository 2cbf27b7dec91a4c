"""An environment variable that is empty counts as unset."""

import pytest

from attnlab.commands.data import _cache
from attnlab.config.composing import compose, from_hydra
from attnlab.config.options import user_folders
from attnlab.config.sections import PathsConfig
from attnlab.process import variable
from attnlab.records.mlflow import default_uri
from attnlab.records.run_directory import default_runs_folder


@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
def test_an_empty_variable_is_unset(monkeypatch, tmp_path, empty):
    monkeypatch.chdir(tmp_path)
    names = ("ATTNLAB_RUNS", "ATTNLAB_DATA", "ATTNLAB_CONFIG_DIR", "MLFLOW_TRACKING_URI")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    unset = default_runs_folder(), _cache(), user_folders(), default_uri(tmp_path)
    for name in names:
        monkeypatch.setenv(name, empty)
    assert unset == (default_runs_folder(), _cache(), user_folders(), default_uri(tmp_path))
    assert from_hydra(compose(["task=fib"])).paths == PathsConfig()


def test_a_set_variable_keeps_its_value(monkeypatch):
    monkeypatch.setenv("ATTNLAB_RUNS", " my runs ")
    assert variable("ATTNLAB_RUNS") == " my runs "
    assert from_hydra(compose(["task=fib"])).paths.runs == " my runs "
