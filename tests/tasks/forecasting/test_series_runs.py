"""Runs on a CSV file with dates and inputs: their files, and their forecasts."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

from attnlab.cli import main
from attnlab.internals import import_tensorflow
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.runner.resume import run
from attnlab.runner.train import make_learner

import_tensorflow()

pytestmark = pytest.mark.usefixtures("no_figures")
SMALL = (
    *("model.units=3", "model.cell=simple", "trainer.epochs=2", "trainer.batch_size=97"),
    "trainer.jit=false",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A German spreadsheet of working days, newest first, with a second column of numbers."""
    path = tmp_path_factory.mktemp("series") / "kasse.csv"
    days = pd.date_range("2020-01-01", periods=301, freq="B")
    rows = [f"{day:%d.%m.%Y};{1000 + 7 * (at % 5)},5;{at % 3}" for at, day in enumerate(days)]
    path.write_text("\n".join(["Tag;Umsatz;Käufer", *rows[::-1]]), encoding="utf-8-sig")
    return path


FORM = ("task.separator=semicolon", "task.decimal=comma", "task.time_format='%d.%m.%Y'")


@pytest.fixture(scope="module")
def plain(compose, table):
    words = ("task=series", f"task.path={table}", "task.column=Umsatz", "task.history=5", *FORM)
    return compose(*words, "task.horizon=2", "attention=bahdanau", *SMALL)


@pytest.fixture(scope="module")
def folder(plain, no_figures):
    return run(plain)


@pytest.fixture(scope="module")
def with_inputs(compose, table, no_figures):
    words = ("task=series", f"task.path={table}", "task.column=2", 'task.inputs=["Käufer"]', *FORM)
    return run(compose(*words, "task.history=5", "task.horizon=3", *SMALL))


def test_a_run_reports_sorting_and_the_coverage_of_its_interval(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    assert "sorted" in metrics["notes"][0]
    interval = metrics["interval"]
    assert 0 <= interval["coverage"] <= 1 and len(interval["coverage_by_step"]) == 2
    assert len(interval["low"]) == 24 and None not in interval["low"][:6]
    assert interval["low"][-1] is None  # 45 validation days: fewer than 39 are 24 ahead
    columns = RunDirectory(folder).read_predictions()
    ends = columns["low"] - columns["prediction"], columns["high"] - columns["prediction"]
    scale = TrainedRun.load(RunDirectory(folder)).task.origin().scalers[0].scale
    np.testing.assert_allclose(ends[0][::2], interval["low"][0] * scale)
    np.testing.assert_allclose(ends[1][1::2], interval["high"][1] * scale)


def test_errors_beyond_the_horizon_are_those_of_recursive_forecasts(plain, folder):
    trained = TrainedRun.load(RunDirectory(folder))
    trained.task.load(trained.config.seed)
    learner = make_learner(plain, trained.task)
    learner.model.set_weights(trained.model.get_weights())
    errors = learner._validation_errors()
    series, first = trained.task.members[0].values, trained.task.splits.parts["validation"].index[4]
    recursive = trained.task.serve(trained.model, series[:first], 24)
    scale = trained.task.origin().scalers[0].scale
    expected = series[first : first + 24] - recursive
    np.testing.assert_allclose(errors[4] * scale, expected, rtol=1e-3, atol=0.05)


def test_a_forecast_has_dates_and_its_interval(folder, table, tmp_path, capsys):
    path = tmp_path / "next.csv"
    assert main(["forecast", str(folder), "--csv", str(path), "--plot", f"{path}.png"]) == 0
    notes = capsys.readouterr().err
    assert "no 95 % interval after step 7: it needs a run with task.validation=50" in notes
    assert (
        "scored 1 to 2 steps ahead; later steps continue its own forecasts: task.horizon=12"
        in notes
    )
    rows = [*csv.DictReader(path.read_text().splitlines())]
    assert [*rows[0]] == ["id", "time", "forecast", "low", "high"]
    assert [row["time"] for row in rows[:3]] == ["2021-02-25", "2021-02-26", "2021-03-01"]
    assert all(float(r["low"]) <= float(r["forecast"]) <= float(r["high"]) for r in rows[:7])
    assert {(row["low"], row["high"]) for row in rows[7:]} == {("", "")}
    for words in (["--history", str(table)], []):
        assert main(["forecast", str(folder), "--steps", "2", *words]) == 0
        header, *lines = (line.split() for line in capsys.readouterr().out.splitlines())
        assert header == ["time", "forecast", "low", "high"] and len(lines) == 2
        expected = [float(rows[1][name]) for name in ("forecast", "low", "high")]
        assert lines[1][0] == "2021-02-26"
        assert [*map(float, lines[1][1:])] == pytest.approx(expected, rel=1e-4)
        assert len({len(number.partition(".")[2]) for row in lines for number in row[1:]}) == 1


def test_another_epoch_or_a_run_of_the_version_before_has_no_interval(folder, capsys, tmp_path):
    best = json.loads((folder / "metrics.json").read_text())["best_epoch"]
    assert main(["forecast", str(folder), "--epoch", str(3 - best)]) == 0
    printed = capsys.readouterr()
    assert "the interval is known only for the best epoch" in printed.err
    assert printed.out.split()[:2] == ["time", "forecast"] and "low" not in printed.out


def test_inputs_work_with_every_command(with_inputs, table, capsys):
    assert main(["forecast", str(with_inputs)]) == 0
    out = capsys.readouterr().out
    assert [len(line.split()) for line in out.splitlines()] == [4] * 4
    assert main(["forecast", str(with_inputs), "--history", str(table)]) == 0
    assert capsys.readouterr().out == out
    assert main(["forecast", str(with_inputs), "--steps", "4"]) == 2
    assert "at most task.horizon=3, since the future of the inputs" in capsys.readouterr().err
    assert main(["evaluate", str(with_inputs), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]["rmse"]
    metrics = json.loads((with_inputs / "metrics.json").read_text())
    assert scored == pytest.approx(metrics["test"]["rmse"], rel=1e-4)


def test_an_mlflow_model_accepts_the_series_and_its_inputs(with_inputs):
    served = json.loads((with_inputs / "served.json").read_text())
    assert np.shape(served["input"]["values"]) == (1, 5, 2)
    trained = TrainedRun.load(RunDirectory(with_inputs))
    last = trained.task.origin().columns
    forecast = trained.predict(np.stack([last, last]))
    assert forecast.shape == np.shape(served["output"]["values"] * 2)
    np.testing.assert_allclose(forecast[0], trained.task.serve(trained.model, last, 3))
