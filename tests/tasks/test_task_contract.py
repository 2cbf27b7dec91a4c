"""The contract of every forecasting task of conf/task."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
import small_ett

from attnlab.config.options import option_class, option_content, option_settings, options
from attnlab.errors import RequestError
from attnlab.tasks.forecasting import ett
from attnlab.tasks.forecasting.csv_series import Panel
from attnlab.tasks.forecasting.series import SplitSeries
from attnlab.tasks.forecasting.task import ForecastingTask


def task_class(name: str) -> type:
    return option_class("task", name)


def settings_of(name: str) -> dict:
    return option_settings("task", name)


FORECASTING = [name for name in options("task") if issubclass(task_class(name), ForecastingTask)]
by_file = pytest.mark.parametrize("file", FORECASTING)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make a file's task with its defaults; a task that needs a CSV file gets one."""
    monkeypatch.setattr(ett, "_MONTH", small_ett.MONTH)

    def make(file: str, **changes) -> ForecastingTask:
        settings = settings_of(file)
        if file == "ett":
            settings["path"] = str(small_ett.write(tmp_path / "ett"))
        elif "path" in settings and settings["path"] is None:
            csv = tmp_path / "rain.csv"
            rain = np.random.default_rng(19).normal(50, 7, size=211).round(2)
            csv.write_text("\n".join(["rain", *map(str, rain)]))
            settings["path"] = str(csv)
        return task_class(file)(**(settings | changes))

    return make


@by_file
def test_the_file_gives_exactly_the_settings_of_the_constructor_each_with_a_rule(file):
    content = option_content("task", file, whole=True)
    assert set(content) - {"optimizer"} == {"task", "trainer"}
    assert set(content["trainer"]) == {"epochs", "batch_size"}
    parameters = inspect.signature(task_class(file)).parameters
    assert set(settings_of(file)) == set(parameters)
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    assert {key for key in content["task"]["rules"] if "." not in key} == set(parameters)
    assert option_content("task", file)["name"] == file == task_class(file).name
    for key, parameter in parameters.items():
        if parameter.default is not parameter.empty:
            assert settings_of(file)[key] == parameter.default, key


@by_file
def test_every_part_has_windows_ready_for_a_model(file, make):
    task = make(file)
    splits = task.load(3)
    parts = [splits.parts["train"], splits.parts["validation"], splits.parts["test"]]
    for windows in parts:
        rows = len(windows)
        assert rows > 0
        assert windows.history.shape == (rows, task.history, 1)
        assert windows.target.shape == (rows, task.horizon)
        assert windows.history.dtype == windows.target.dtype == np.float32
        assert windows.index.dtype == np.int64 and windows.index.shape == (rows,)
        assert windows.times.shape == windows.exact.shape == (rows, task.horizon)
        assert np.isfinite(windows.history).all() and np.isfinite(windows.target).all()
        assert windows.history.flags.c_contiguous and windows.target.flags.writeable
    assert len(splits.digest) == 64 and splits.name == file
    json.dumps(splits.describe())


@by_file
def test_loading_twice_gives_the_same_bits_and_the_seed_leaves_the_test_windows(file, make):
    one, again, other = (make(file).load(seed) for seed in (5, 5, 2))
    for part in ("train", "validation", "test"):
        np.testing.assert_array_equal(one.parts[part].history, again.parts[part].history)
        np.testing.assert_array_equal(one.parts[part].target, again.parts[part].target)
    assert one.digest == again.digest
    np.testing.assert_array_equal(one.parts["test"].history, other.parts["test"].history)
    np.testing.assert_array_equal(one.parts["test"].target, other.parts["test"].target)


@by_file
def test_a_perfect_forecast_scores_no_error_and_a_report_is_complete(file, make):
    task = make(file)
    splits = task.load(0)
    for part in ("train", "validation", "test"):
        windows = splits.parts[part]
        report = task.report(windows.target, part)
        size = np.abs(report.predictions["target"]).max()
        assert report.metrics["rmse"] < 1e-6 * size
        assert {"persistence", "train_mean"} <= set(report.baselines)
        for scores in report.baselines.values():
            assert set(scores) == set(report.metrics)
        counted = set(report.baselines) - set(report.oracles)
        assert report.best_baseline == min(counted, key=lambda n: report.baselines[n]["rmse"])
        assert set(report.predictions) == {
            "index", "time", "step", "target", "prediction", *report.baselines
        }  # fmt: skip
        assert {len(column) for column in report.predictions.values()} == {windows.target.size}
        json.dumps([report.metrics, report.baselines, report.skill, report.skills], allow_nan=False)


@by_file
def test_the_saved_files_are_enough_to_forecast(file, make, tmp_path):
    task = make(file)
    task.load(0)
    task.save(tmp_path)
    loaded = make(file)
    loaded.load_from(tmp_path)

    def predict(history):
        return np.repeat(history[:, -1] * np.float32(0.5), task.horizon, axis=1)

    np.testing.assert_array_equal(loaded.origin().values, task.origin().values)
    expected = task.serve(predict, task.origin().values, 5)
    np.testing.assert_array_equal(loaded.serve(predict, loaded.origin().values, 5), expected)
    assert loaded.origin().labels(2) == task.origin().labels(2)
    assert loaded.units == task.units


@by_file
def test_a_saved_scaler_that_is_missing_damaged_or_of_other_settings_is_refused(
    file, make, tmp_path
):
    task = make(file)
    with pytest.raises(RequestError, match=r"scaler\.json: damaged or missing: "):
        task.load_from(tmp_path)
    task.load(0)
    task.save(tmp_path)
    with pytest.raises(RequestError, match="expected task, history and horizon"):
        make(file, history=task.history + 1).load_from(tmp_path)
    text = (tmp_path / "scaler.json").read_text()
    for damaged in (text[:-9], "[]", "{}", text.replace('"values"', '"value"')):
        (tmp_path / "scaler.json").write_text(damaged)
        with pytest.raises(RequestError, match=r"scaler\.json"):
            make(file).load_from(tmp_path)


SERIES = [name for name in FORECASTING if issubclass(task_class(name), SplitSeries)]
by_series = pytest.mark.parametrize("file", SERIES)


@by_series
@pytest.mark.parametrize("horizon", [1, 5])
def test_no_earlier_target_is_in_or_after_the_test_part(file, make, horizon):
    splits = make(file, horizon=horizon).load(0)
    first_validation, first_test = (
        splits.parts["validation"].index.min(),
        splits.parts["test"].index.min(),
    )
    assert splits.parts["train"].index.max() + horizon <= first_validation
    assert splits.parts["validation"].index.max() + horizon <= first_test


@by_series
@pytest.mark.parametrize("changed", ["validation", "test"])
def test_later_values_change_neither_an_earlier_part_nor_the_scaler(file, make, changed):
    plain = make(file)
    before = plain.load(0)
    border = before.parts[changed].index.min()
    columns = plain.members[0].columns.copy()
    columns[border:] = 7 * columns[border:] - 1000
    panel = Panel([replace(plain.members[0], columns=columns)], "x", [])
    other = make(file)
    other.read_series = lambda progress: (panel, "changed")
    after = other.load(0)
    for part in ("train",) if changed == "validation" else ("train", "validation"):
        np.testing.assert_array_equal(before.parts[part].history, after.parts[part].history)
        np.testing.assert_array_equal(before.parts[part].target, after.parts[part].target)
    assert not np.array_equal(before.parts[changed].target, after.parts[changed].target)
    assert before.digest != after.digest
    assert plain.origins[0].scalers == other.origins[0].scalers != ()


@by_series
def test_histories_reach_back_over_the_border(file, make):
    task = make(file, horizon=1)
    splits = task.load(0)
    expected = np.concatenate(
        [splits.parts["train"].target[:, 0], splits.parts["validation"].target[:, 0]]
    )
    np.testing.assert_array_equal(splits.parts["test"].history[0, :, 0], expected[-task.history :])
