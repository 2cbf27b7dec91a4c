"""`attnlab runs sync`: missing figures and copies are made, and only once."""

from __future__ import annotations

import shutil

import pytest
from command_line import CommandLine
from run_folders import mlflow_runs, write_run

from attnlab.records.files import read_json

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here


@pytest.fixture
def moved(trained, here, empty_store):
    """A complete run without its figures, in another runs folder with an empty store."""
    task = trained.folder.parents[1].name
    shutil.copytree(trained.folder.parents[1], here.runs / task)
    shutil.copy(empty_store, here.runs / "mlflow.db")
    (folder,) = here.run_folders()
    shutil.rmtree(folder / "plots")
    return folder


def test_sync_makes_the_figures_and_the_copy_of_a_run(trained, moved, here):
    for _ in range(2):
        done = here("runs", "sync")
        assert (done.code, done.out) == (0, "1 of 1 are complete in MLflow.\n"), done.err
        assert {path.name for path in (moved / "plots").iterdir()} == {
            path.name for path in (trained.folder / "plots").iterdir()
        }
        (there,) = mlflow_runs(here.runs, "series").values()
        assert there.info.run_id == read_json(moved / "status.json")["mlflow_run_id"]
    (before,) = mlflow_runs(trained.attnlab.runs, "series").values()
    assert (there.data.metrics, there.data.params) == (before.data.metrics, before.data.params)
    assert there.info.start_time == before.info.start_time


def test_sync_leaves_out_untracked_runs_unless_a_store_is_named(here, tmp_path):
    write_run(here.runs, state="failed", config={"tracking.enabled": False})
    assert here("runs", "sync").code == 0
    assert not (here.runs / "mlflow.db").exists()
    other = tmp_path / "other"
    other.mkdir()
    assert here("runs", "sync", "--uri", f"sqlite:///{other}/mlflow.db").code == 0
    assert len(mlflow_runs(other)) == 1


def test_sync_reports_a_damaged_run_and_copies_the_others(here, empty_store):
    here.runs.mkdir()
    shutil.copy(empty_store, here.runs / "mlflow.db")
    options = {"state": "failed", "status": {"sweep": "s"}}
    damaged, _ = (write_run(here.runs, seed=seed, **options) for seed in (0, 1))
    (damaged.path / "config.yaml").write_text("task: 1")
    done = here("runs", "sync")
    assert done.code == 2 and "config.yaml" in done.err or "damaged" in done.err
    assert len(mlflow_runs(here.runs)) == 2  # a run, and that of its sweep


def test_another_folder_is_followed_by_a_command(attnlab: CommandLine, empty_store):
    attnlab.runs.mkdir()
    shutil.copy(empty_store, attnlab.runs / "mlflow.db")
    run = write_run(attnlab.runs, state="killed")
    done = attnlab("runs", "sync", "--follow", run.path)
    assert (done.code, done.out) == (0, "")
    (there,) = mlflow_runs(attnlab.runs).values()
    assert there.info.status == "KILLED"
