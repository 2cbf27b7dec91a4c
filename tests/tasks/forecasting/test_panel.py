"""Several independent series in one file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compared_runs import only
from run_folders import write_run
from scipy import stats

from attnlab.comparison.selection import Filters
from attnlab.errors import RequestError
from attnlab.tasks.forecasting.series import Series

LENGTHS = {"a": 40, "b": 61, "c": 53}


def level(name: str, at: int) -> float:
    """Whole numbers that encode their series and their position in it."""
    return {"a": 1000, "b": 2000, "c": 3000}[name] + at


def rows(lengths=LENGTHS):
    """Id, day and value; the series start on other days."""
    starts = {name: np.datetime64("2020-01-01") + 7 * n for n, name in enumerate(lengths)}
    return [
        (n, starts[n] + at, level(n, at)) for n, length in lengths.items() for at in range(length)
    ]


@pytest.fixture
def write(tmp_path):
    """Write lines of a file; returns its path."""

    def write(lines, header="unique_id,ds,y"):
        path = tmp_path / "panel.csv"
        path.write_text("\n".join([header, *(",".join(map(str, line)) for line in lines)]))
        return str(path)

    return write


def panel(path, ids="unique_id", times="ds", **overrides):
    """A loaded task."""
    overrides = {"history": 5, "horizon": 2, **overrides}
    task = Series(path=path, id_column=ids, time_column=times, **overrides)
    task.load(0)
    return task


def test_windows_never_cross_from_one_series_to_the_next(write):
    task = panel(write(rows()))
    for name, part in task.splits.parts.items():
        shown = task.report_units(part.history[:, :, 0], part).round().astype(int)
        whole = np.hstack([shown, part.exact.astype(int)])
        assert np.all(np.diff(whole, axis=1) == 1), name
        assert np.all(whole // 1000 == whole[:, :1] // 1000)
        assert [*part.by_series()] == [*LENGTHS]


def test_each_series_is_divided_by_time_by_itself(write):
    task = panel(write(rows()), test=0.2, validation=0.15)
    for name, count in LENGTHS.items():
        tests, validations = round(count * 0.2), round(count * 0.15)
        ends = np.cumsum([count - tests - validations, validations, tests])
        for part, first, end in zip(task.splits.parts.values(), [5, *ends[:2]], ends, strict=True):
            selected = part.index[part.ids == name]
            np.testing.assert_array_equal(selected, np.arange(first, end - 2 + 1))
    counted = panel(write(rows()), test=7, validation=3)
    assert counted.splits.counts()["test"] == 3 * (7 - 2 + 1)


def test_each_series_has_the_scale_of_its_own_train_part(write):
    task = panel(write(rows()), test=7, validation=3)
    for name, count in LENGTHS.items():
        train = np.array([level(name, at) for at in range(count - 10)])
        selected = task.splits.parts["train"].take(
            np.flatnonzero(task.splits.parts["train"].ids == name)
        )
        expected = (train[5] - train.mean()) / train.std()
        assert selected.target[0, 0] == pytest.approx(expected, rel=1e-5)
        assert task.origin(name).scalers[0].scale == pytest.approx(train.std())


def walks(lengths, seed=3):
    draw = np.random.default_rng(seed)
    scale = {name: 10.0**n for n, name in enumerate(lengths)}
    return {n: 50 * scale[n] + scale[n] * draw.normal(size=c).cumsum() for n, c in lengths.items()}


def lines_of(series):
    return [(name, value) for name, values in series.items() for value in values]


def test_measures_are_those_of_the_m4_competition(write):
    """Its definitions, in plain Python, on the last values of each series."""
    series = walks({"W1": 60, "W2": 85, "W3": 71})
    settings = dict(history=8, horizon=13, test=13, validation=13, period=None)
    task = panel(write(lines_of(series), "unique_id,y"), times=None, **settings)
    report = task.report(task.splits.parts["test"].target)
    smape, mase = [], []
    for values in series.values():
        past, target = values[:-13], values[-13:]
        naive = [past[-1]] * 13
        shares = [2 * abs(t - f) / (abs(t) + abs(f)) for t, f in zip(target, naive, strict=True)]
        step = sum(abs(b - a) for a, b in zip(past, past[1:], strict=False)) / (len(past) - 1)
        smape.append(100 * sum(shares) / 13)
        mase.append(sum(abs(target - past[-1])) / 13 / step)
    result = report.baselines["persistence"]
    assert result["smape"] == pytest.approx(np.mean(smape))
    assert result["mase"] == pytest.approx(np.mean(mase))
    assert report.metric == "mase" and len(task.splits.parts["test"]) == 3


def test_metrics_of_each_series_and_their_means(write):
    series = walks(LENGTHS)
    task = panel(write(lines_of(series), "unique_id,y"), times=None, test=9, validation=5)
    test = task.splits.parts["test"]
    forecast = test.target + np.random.default_rng(1).normal(size=test.target.shape)
    report = task.report(forecast)
    errors = task.report_units(forecast, test) - test.exact
    assert report.metrics["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert report.metrics["mae"] == pytest.approx(np.mean(np.abs(errors)))
    table = report.details["series"]
    for name in LENGTHS:
        assert table[name]["mae"] == pytest.approx(np.mean(np.abs(errors[test.ids == name])))
    for metric in ("mase", "smape", "mse_z", "nrmse"):
        mean = np.mean([row[metric] for row in table.values()])
        assert report.metrics[metric] == pytest.approx(mean)
    assert report.predictions["id"].tolist() == [n for n in LENGTHS for _ in range(16)]
    json.dumps(report.scores(), allow_nan=False)


def test_a_short_series_a_gap_and_an_empty_id_are_named(write):
    with pytest.raises(RequestError, match=r"6 of 9 values of series a"):
        panel(write(rows(LENGTHS | {"a": 9})))
    lines = [row for row in rows() if row[2] != 2030]
    with pytest.raises(RequestError, match=r"line 72: .* from 2020-02-06 .* to 2020-02-08"):
        panel(write(lines))
    with pytest.raises(RequestError, match=r"line 3: task\.id_column: expected an id"):
        panel(write([("a", 2), ("", 3), ("a", 4)], "unique_id,y"), times=None)


def test_forecasts_of_each_series_or_of_some(write, tmp_path):
    path = write(rows())
    task = panel(path)
    task.save(tmp_path)
    task = Series(path=path, id_column="unique_id", time_column="ds", history=5, horizon=2)
    task.load_from(tmp_path)

    def predict(history):
        return np.repeat(history[:, -1, :1], 2, axis=1)

    made = task.forecast(predict, task.origins, 3)
    last = [level(name, count - 1) for name, count in LENGTHS.items()]
    np.testing.assert_allclose(made, np.repeat(np.array(last)[:, None], 3, axis=1), rtol=1e-6)
    assert task.origin("b").labels(1) == ["2020-03-09"]
    for name in ("d", None):
        with pytest.raises(RequestError, match=r"--id: expected an id of the run \(a, b, c\), got"):
            task.origin(name)


def test_a_history_of_an_unknown_series_has_its_own_scale(write):
    task = panel(write(rows()))
    new = [("new", *row) for name, *row in rows() if name == "c"]
    (one, other), _ = task.read_origins(write([*rows({"a": 40}), *new]))
    assert one.scalers == task.origin("a").scalers
    (scaler,), values = other.scalers, other.values
    mean, deviation = scaler.level + scaler.offset, scaler.scale
    assert (mean, deviation) == pytest.approx((values.mean(), values.std()))


def write_forecasts(run, losses, ids, times):
    """predictions.csv with such squared errors, (N,), of windows with ids and times."""
    number = np.arange(len(losses))
    columns = {"id": ids, "index": number, "time": times, "step": number * 0 + 1}
    columns |= {"target": 0.0 * number, "prediction": np.sqrt(losses)}
    run.write_predictions(columns)


@pytest.mark.parametrize("aligned", [True, False])
def test_test_items_are_shared_times_or_else_series(runs, aligned):
    """Windows of several series at one time can be correlated, so they count as one item."""
    draw = np.random.default_rng(0)
    ids = np.repeat([*"pqrst"], 9)
    times = np.tile(np.arange(9), 5) + (0 if aligned else np.repeat(np.arange(5), 9))
    losses = {name: draw.exponential(size=45) for name in ("none", "bahdanau")}
    for name, item in losses.items():
        write_forecasts(write_run(runs, name, 0, 1.0), item, ids, [f"t{at}" for at in times])
    test = only(runs, Filters(where=("attention=none,bahdanau", "seed=0"))).item_test
    means = [losses[name].reshape(5, 9).mean(axis=0 if aligned else 1) for name in losses]
    assert test.p == pytest.approx(stats.ttest_rel(*means).pvalue)
    assert (test.name, test.items) == (("Diebold-Mariano", 9) if aligned else ("t test", 5))
