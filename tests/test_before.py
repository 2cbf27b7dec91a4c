"""Run folders, sweeps and the MLflow store of the version before keep working in every verb."""

from __future__ import annotations

import json
import socket
import sqlite3
import tarfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir

from attnlab.cli import main
from attnlab.config.composing import from_hydra, register_schema
from attnlab.run.index import RunIndex

pytestmark = pytest.mark.usefixtures("no_figures")
FIXTURE = Path(__file__).parent / "fixtures" / "before.tar.xz"
MADE_IN = "/srv/attnlab/runs"
SETTINGS = (
    *("task=fib_random", "model.units=3", "trainer.epochs=2", "task.train_windows=200"),
    *("task.validation_windows=50", "task.test_windows=20"),
)


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    """The runs folder of the version before, as if it had been made here."""
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    runs = tmp_path / "runs"
    _move_store(runs)
    for path in [*runs.glob("*/*/*/status.json"), *runs.glob("*/*/*/lock.json")]:
        path.write_text(path.read_text().replace('"lab"', json.dumps(socket.gethostname())))
    for path in runs.glob("sweeps/*/**/*.json"):
        path.write_text(path.read_text().replace(MADE_IN, str(runs)))
    monkeypatch.setenv("ATTNLAB_RUNS", str(runs))
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return runs


def _move_store(runs: Path) -> None:
    columns = {
        "experiments": "artifact_location",
        "runs": "artifact_uri",
        "tags": "value",
        "logged_models": "artifact_location",
    }
    with closing(sqlite3.connect(runs / "mlflow.db")) as store, store:
        for table, column in columns.items():
            change = f"UPDATE {table} SET {column} = replace({column}, ?, ?)"
            store.execute(change, (MADE_IN, str(runs)))


def only(runs: Path, pattern: str) -> Path:
    (found,) = runs.glob(pattern)
    return found


@pytest.fixture
def forecaster(runs) -> Path:
    return only(runs, "fib_random/bahdanau/*_174931_s0")


@pytest.fixture
def translator(runs) -> Path:
    return only(runs, "translate/luong_global/*")


@pytest.fixture
def killed(runs) -> Path:
    return only(runs, "fib_random/none/*_s9")


def document(run: Path) -> dict:
    return json.loads((run / "metrics.json").read_text())


def test_runs_and_compare_show_the_numbers_that_the_folders_have(runs, killed, capsys):
    assert main(["runs", "--json"]) == 0
    listed = {row["path"]: row for row in json.loads(capsys.readouterr().out)}
    assert len(listed) == 9
    assert listed[str(killed)]["state"] == "killed" and listed[str(killed)]["epoch"] == 66
    for path, row in listed.items():
        if row["state"] == "completed":
            metrics = document(Path(path))
            assert row["test"] == metrics["test"][metrics["metric"]]
    assert main(["compare", "--sweep", "grid", "--format", "json"]) == 0
    groups = json.loads(capsys.readouterr().out)["tasks"][0]["groups"]
    assert {group["attention"]: group["n"] for group in groups} == {"none": 2, "bahdanau": 2}


@pytest.mark.slow
def test_weights_are_scored_as_they_were(forecaster, translator, capsys):
    """The translator's on the made corpus of today, which is of another version: that is said."""
    for run, close in ((forecaster, 1e-4), (translator, 0.02)):
        assert main(["evaluate", str(run), "--json"]) == 0
        said = capsys.readouterr()
        assert ("data have changed since" in said.err) is (run == translator)
        scored = json.loads(said.out)["metrics"]
        for name, value in document(run)["test"].items():
            assert scored[name] == pytest.approx(value, rel=close), name


def test_they_forecast_and_translate(forecaster, translator, capsys):
    assert main(["forecast", str(forecaster), "--steps", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["translate", str(translator), "The old dog sleeps.", "--epoch", "1"]) == 0
    assert capsys.readouterr().out.strip()


def test_a_killed_run_goes_on(runs, killed, compose):
    """Afterwards it is found by what it is, as a sweep looks for it."""
    before = (killed / "history.csv").read_text().splitlines()
    assert main(["resume", str(killed), "trainer.epochs=68"]) == 0
    after = (killed / "history.csv").read_text().splitlines()
    assert len(after) == 69 and after[:60] == before[:60]
    status = json.loads((killed / "status.json").read_text())
    assert (status["state"], status["epoch"]) == ("completed", 68)
    assert "_target_" not in (killed / "config.yaml").read_text()
    words = ("task.train_windows=20000", "task.test_windows=20", "trainer.epochs=68", "seed=9")
    config = compose("task=fib_random", "attention=none", "model.units=3", *words)
    index = RunIndex(runs).refresh()
    assert index.find(config.digest) is None  # its first rates were those of a longer run
    found = index.find(replace(config, beside=status["beside"]).digest)
    assert found is not None and found.path == killed


@pytest.mark.slow
def test_its_configuration_runs_again_to_the_same_result(forecaster, runs):
    words = ["--config-path", str(forecaster), "tracking.enabled=false", f"paths.runs={runs}/more"]
    assert main(words) == 0
    again = only(runs, "more/fib_random/bahdanau/*")
    before, now = document(forecaster)["test"], document(again)["test"]  # which has further ones
    assert {name: now[name] for name in before} == pytest.approx(before, rel=1e-5)
    config = yaml.safe_load((again / "config.yaml").read_text())
    assert config["attention"] == {"name": "bahdanau", "units": None, "dropout": 0.0}


def test_what_auto_stood_for_stands_when_its_configuration_runs_again(translator):
    register_schema()
    with initialize_config_dir(str(translator), version_base="1.3"):
        model = from_hydra(hydra_compose("config")).model
    given = yaml.safe_load((translator / "config.yaml").read_text())["model"]
    assert (given["placement"], given["output"]) == ("auto", "auto")
    assert (model.settings["placement"], model.settings["output"]) == ("after_step", "attentional")


def test_a_sweep_finds_its_jobs_done(runs, capsys):
    grid = ("attention=none,bahdanau", "seed=0,1", "sweep.name=grid")
    assert main(["-m", *SETTINGS, *grid]) == 0
    assert "sweep grid: 4 completed (4 of them before)" in capsys.readouterr().out
    search = ("search=learning_rate", "search.trials=2", "sweep.name=search")
    assert main(["-m", *search, *SETTINGS]) == 0
    assert "sweep search: 2 completed (2 of them before)" in capsys.readouterr().out
    assert len(list(runs.glob("*/*/*/status.json"))) == 9


def test_the_store_gets_no_more_than_it_lacks(runs, forecaster, capsys):
    assert main(["runs", "sync", "--state", "completed"]) == 0
    first = capsys.readouterr().out
    assert "logged as" not in first
    assert main(["runs", "sync", "--state", "completed"]) == 0
    assert capsys.readouterr().out == "8 had everything already.\n"


def test_a_removed_run_goes_from_the_store_too(runs, forecaster, capsys):
    run_id = json.loads((forecaster / "status.json").read_text())["mlflow_run_id"]
    assert main(["runs", "rm", str(forecaster), "--yes"]) == 0
    assert not forecaster.exists()
    with closing(sqlite3.connect(runs / "mlflow.db")) as store:
        found = store.execute("SELECT count(*) FROM runs WHERE run_uuid = ?", (run_id,))
        assert found.fetchone() == (0,)


@pytest.mark.slow
def test_they_are_drawn(forecaster, translator):
    for run in (forecaster, translator):
        assert main(["plot", str(run)]) == 0
        assert (run / "plots" / "loss.png").stat().st_size > 5_000
    assert main(["plot", "embeddings", str(translator)]) == 0
