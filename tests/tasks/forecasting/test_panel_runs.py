"""A run on several series through every command that uses it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compared_runs import on_page

from attnlab.cli import main
from attnlab.internals import import_tensorflow
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.runner.resume import run
from attnlab.tasks.forecasting.shown import attention_records, forecast_records
from attnlab.views.records import Tabs

import_tensorflow()

pytestmark = pytest.mark.usefixtures("no_figures")
SHOPS = {"north": 60, "south": 71}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two shops, day by day, with decimals after commas."""
    path = tmp_path_factory.mktemp("panel") / "shops.csv"
    rows = [
        f"{np.datetime64('2020-01-01') + day};{shop};{len(shop) * 100 + day * day % 11},5"
        for shop, days in SHOPS.items()
        for day in range(days)
    ]
    path.write_text("\n".join(["date;shop;sold", *sorted(rows)]))
    return path


@pytest.fixture(scope="module")
def folder(compose, table, no_figures):
    small = ("model.units=3", "model.cell=simple", "trainer.epochs=2", "trainer.batch_size=97")
    words = (
        *(f"task.path={table}", "task.id_column=shop", "task.history=5", "task.validation=25"),
        *("task.separator=semicolon", "task.decimal=comma"),
    )
    return run(compose("task=series", "attention=bahdanau", *words, *small, "trainer.jit=false"))


def test_forecasts_are_made_for_all_or_named_series(folder, capsys):
    assert main(["forecast", str(folder), "--steps", "2", "--csv", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,time,forecast,low,high"
    assert [line.split(",")[:2] for line in lines[1::2]] == [
        ["north", "2020-03-01"],
        ["south", "2020-03-12"],
    ]
    assert main(["forecast", str(folder), "--steps", "1", "--id", "south"]) == 0
    assert capsys.readouterr().out.split()[4:7] == ["high", "south", "2020-03-12"]
    assert main(["forecast", str(folder), "--steps", "2", "--json"]) == 0
    result = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item["id"] for item in result] == ["north", "south"]
    assert {*result[0]} == {"id", "times", "forecast", "low", "high"}
    assert result[0]["low"][1] <= result[0]["forecast"][1] and result[0]["times"][0] == "2020-03-01"
    assert main(["forecast", str(folder), "--id", "suth"]) == 2
    assert "Did you mean south?" in capsys.readouterr().err


def test_every_epoch_is_scored_for_each_series(folder, capsys):
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["metric"] == "mase" and [*metrics["series"]] == [*SHOPS]
    assert main(["evaluate", str(folder), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    for name in SHOPS:
        expected = metrics["series"][name]["mase"]
        assert scored["series"][name]["mase"] == pytest.approx(expected, rel=1e-4)
    interval, columns = metrics["interval"], RunDirectory(folder).read_predictions()
    trained = TrainedRun.load(RunDirectory(folder))
    for name in SHOPS:
        rows_of_series, scale = columns["id"] == name, trained.task.origin(name).scalers[0].scale
        low = (columns["low"] - columns["prediction"])[rows_of_series]
        np.testing.assert_allclose(low, interval["low"][0] * scale, rtol=1e-6)


def test_a_page_has_a_tab_for_each_series(folder):
    (tabs,) = forecast_records(on_page(folder.parents[2]))
    assert isinstance(tabs, Tabs) and {*tabs.choices} == {*SHOPS}
    _, slider = attention_records(on_page(folder.parents[2]))
    labels = {strip.label.split()[1] for strip in slider.frames[0][0].strips}
    assert labels == {*SHOPS}
