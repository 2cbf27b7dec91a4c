"""The series task: settings, horizons, baselines."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.csv_series import Panel
from attnlab.tasks.forecasting.series import Series
from attnlab.tasks.forecasting.time_series import TimeSeries


def series_of(values, columns=None, **changes):
    """A series task on values in memory, with columns as inputs."""
    if columns is not None:
        changes["inputs"] = [f"input {number}" for number in range(columns.shape[1])]
    task = Series(path="memory.csv", **changes)
    times = [str(position) for position in range(len(values))]
    values = np.column_stack([values, *([] if columns is None else columns.T)]).astype(float)
    panel = Panel([TimeSeries(values, times=times)], "x", [])
    task.read_series = lambda progress: (panel, "memory")
    return task


@pytest.fixture
def csv_path(tmp_path):
    path = tmp_path / "tide.csv"
    rows = [
        f"{year}-{month:02d},{month * 3}" for year in range(1996, 2001) for month in range(1, 13)
    ]
    path.write_text("\n".join(["when,height", *rows]))
    return str(path)


def test_a_csv_file_from_path_to_report(csv_path):
    task = Series(path=csv_path, time_column="when", history=7, period=12)
    splits = task.load(0)
    assert splits.describe() == {"train": 32, "validation": 9, "test": 12}
    report = task.report(splits.parts["test"].target)
    assert report.units == "units of height"
    assert report.baselines["seasonal_naive"]["rmse"] == 0.0
    assert report.predictions["time"].tolist() == [f"2000-{month:02d}" for month in range(1, 13)]
    assert report.metrics["nrmse"] == report.metrics["rmse"] / 33


@pytest.mark.parametrize(("months", "period"), [(60, 12), (35, None)])
def test_a_season_is_found_if_train_has_two(tmp_path, months, period):
    path = tmp_path / "level.csv"
    times = np.arange("1996-01", np.datetime64("1996-01") + months, dtype="datetime64[M]")
    path.write_text(
        "\n".join(["when,level", *(f"{time},{time.astype(int) % 12}" for time in times)])
    )
    task = Series(path=str(path), history=4)
    task.load(0)
    report = task.report(task.splits.parts["test"].target)
    assert task.period == period
    assert ("seasonal_naive" in report.baselines) == bool(period)


def test_several_steps_are_scored_in_natural_units():
    values = np.arange(60.0)
    task = series_of(values, history=5, horizon=3, test=0.2)
    splits = task.load(0)
    assert len(splits.parts["test"]) == 10 and splits.parts["test"].target.shape == (10, 3)
    report = task.report(splits.parts["test"].target)
    assert report.predictions["index"][:6].tolist() == [48, 49, 50, 49, 50, 51]
    assert report.predictions["step"][:6].tolist() == [1, 2, 3, 1, 2, 3]
    assert report.predictions["target"][:6].tolist() == [48, 49, 50, 49, 50, 51]
    assert report.predictions["persistence"][:6].tolist() == [47, 47, 47, 48, 48, 48]
    assert report.baselines["persistence"]["mse"] == pytest.approx((1 + 4 + 9) / 3)
    assert report.baselines["linear_ar12"]["rmse"] < 1e-9


def test_long_forecasts_are_recursive():
    task = series_of(np.arange(60.0), history=5, horizon=2)
    task.load(0)
    seen = []

    def predict(history):
        seen.append(history)
        natural = task.origin().scalers[0].invert(history[0, -1, 0])
        return task.origin().scalers[0].apply([[natural + 1, natural + 2]])

    forecast = task.serve(predict, task.origin().values, 5)
    np.testing.assert_allclose(forecast, [60, 61, 62, 63, 64], rtol=1e-5)
    assert len(seen) == 3 and {h.shape for h in seen} == {(1, 5, 1)}
    assert {h.dtype for h in seen} == {np.dtype("float32")}


@pytest.mark.parametrize(
    ("values", "steps", "words"),
    [([1.0] * 4, 1, "newest 5"), ([np.nan] * 5, 1, "finite numbers"), ([1.0] * 5, 0, "steps")],
)
def test_a_forecast_from_a_short_history_is_refused(values, steps, words):
    task = series_of(np.arange(60.0), history=5)
    task.load(0)
    with pytest.raises(RequestError, match=words):
        task.serve(lambda history: history[:, -1], values, steps)


def test_a_history_has_the_form_of_the_runs_file(tmp_path):
    """Fixed: the last column was forecast without a warning."""
    path, more = tmp_path / "y.csv", tmp_path / "more.csv"
    path.write_text("\n".join(["date,y", *(f"2020-01-{day:02},{day % 5}" for day in range(1, 32))]))
    lines = [f"2020-01-{day:02},{day % 5},{1000 + day}" for day in range(1, 32)]
    more.write_text("\n".join(["date,y,sales", *lines]))
    task = Series(path=str(path), column="y", history=4)
    task.load()
    assert task.read_origins(str(more))[0][0].values.max() == 4
    more.write_text("y\n1\n2\n")
    with pytest.raises(RequestError, match=r"--history: .*the newest 4 values|history: expected"):
        task.read_origins(str(more))[0][0]
        task.serve(len, task.read_origins(str(more))[0][0].values, 1)


@pytest.mark.parametrize("size", [1.0, 2.5])
def test_part_sizes_from_1_on_are_numbers_of_values(size):
    with pytest.raises(RequestError, match=r"task\.test: expected a fraction below 1 or a whole"):
        Series(path="x.csv", test=size)
    splits = series_of(np.arange(60.0), history=5, test=7, validation=9).load(0)
    assert splits.counts() == {"train": 60 - 16 - 5, "validation": 9, "test": 7}


@pytest.mark.parametrize(
    ("count", "changes", "part"),
    [
        (60, {"history": 39}, "train"),
        (60, {"history": 5, "horizon": 39}, "train"),
        (60, {"history": 5, "horizon": 11}, "validation"),
        (60, {"history": 5, "test": 0.001}, "test"),
        (2, {"history": 1}, "validation"),
    ],
)
def test_a_part_without_a_window_is_named(count, changes, part):
    with pytest.raises(
        RequestError, match=rf"task\.history=.* no window fits into the {part} part"
    ):
        series_of(np.arange(float(count)), **changes).load(0)


@pytest.mark.parametrize(
    ("count", "changes", "largest"),
    [
        (150, {"horizon": 23}, {"horizon": 22}),  # the validation part grows with a horizon of 22
        (200, {"horizon": 43}, {"horizon": 40}),
        (60, {"history": 32, "horizon": 8}, {"horizon": 7}),
        (60, {"history": 39}, {"history": 38}),
    ],
)
def test_the_largest_size_that_fits_is_named(count, changes, largest):
    values = np.arange(float(count))
    ((key, size),) = largest.items()
    with pytest.raises(RequestError, match=rf"Possible: task\.{key}={size}, or other parts"):
        series_of(values, **changes).load(0)
    series_of(values, **{**changes, key: size}).load(0)
    with pytest.raises(RequestError):
        series_of(values, **{**changes, key: size + 1}).load(0)


def test_auto_leaves_a_window_for_train():
    """Fixed: more validation values for intervals left train without a window."""
    splits = series_of(np.arange(100.0), history=60).load(0)
    assert splits.counts() == {"train": 5, "validation": 15, "test": 20}


def test_a_run_without_a_validation_part_has_none_to_evaluate():
    task = series_of(np.arange(60.0), history=5, validation=0)
    splits = task.load(0)
    assert splits.counts() == {"train": 43, "test": 12}
    with pytest.raises(RequestError, match="--part: expected one of train, test, got validation"):
        task.evaluate(None, "validation")


def test_baselines_without_their_data_are_left_out():
    task = series_of(np.arange(31.0) % 7, history=13, period=29, validation=0)
    task.load(0)
    report = task.report(task.splits.parts["test"].target)
    assert set(report.baselines) == {"persistence", "train_mean"}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    count=st.integers(5, 97),
    history=st.integers(1, 13),
    horizon=st.integers(1, 7),
    test=st.floats(0.05, 0.6),
    validation=st.floats(0, 0.35),
)
def test_every_split_is_free_of_leaks_or_refused(count, history, horizon, test, validation):
    task = series_of(
        np.arange(float(count)),
        history=history,
        horizon=horizon,
        test=test,
        validation=validation,
    )
    try:
        splits = task.load(0)
    except RequestError as error:
        assert "task." in str(error)
        return
    parts = [*splits.parts.values()]
    for earlier, later in zip(parts, parts[1:], strict=False):
        assert earlier.index.max() + horizon <= later.index.min()
    for part in parts:
        natural = task.origin().scalers[0].invert(part.target)
        expected = part.index[:, None] + np.arange(horizon)
        np.testing.assert_allclose(natural, expected, atol=1e-4)
    assert splits.parts["test"].index.max() + horizon == count


COLUMNS = np.column_stack([np.arange(60.0) * 100, np.sin(np.arange(60.0))])


def test_inputs_have_their_own_scale():
    task = series_of(np.arange(60.0), COLUMNS, history=5, horizon=2)
    splits = task.load(0)
    assert splits.parts["test"].history.shape == (11, 5, 3)
    train = COLUMNS[: 60 - 12 - 9]
    at = splits.parts["test"].index[3]
    expected = (COLUMNS[at - 5 : at] - train.mean(axis=0)) / train.std(axis=0)
    np.testing.assert_allclose(splits.parts["test"].history[3, :, 1:], expected, rtol=1e-5)
    plain = series_of(np.arange(60.0), history=5, horizon=2).load(0)
    np.testing.assert_array_equal(
        splits.parts["test"].history[:, :, :1], plain.parts["test"].history
    )
    np.testing.assert_array_equal(splits.parts["test"].target, plain.parts["test"].target)
    assert splits.digest != plain.digest


def test_no_window_knows_an_input_of_its_targets():
    at = 55
    later = COLUMNS.copy()
    later[at:] += 1000.0
    before = series_of(np.arange(60.0), COLUMNS, history=5, horizon=2).load(0)
    after = series_of(np.arange(60.0), later, history=5, horizon=2).load(0)
    for part in ("train", "validation", "test"):
        is_known = before.parts[part].index <= at
        same = np.all(before.parts[part].history == after.parts[part].history, axis=(1, 2))
        np.testing.assert_array_equal(same, is_known)


def test_a_forecast_with_inputs_ends_at_the_horizon(tmp_path):
    task = series_of(np.arange(60.0), COLUMNS, history=5, horizon=2)
    task.load(0)
    task.save(tmp_path)
    loaded = series_of(np.arange(60.0), COLUMNS, history=5, horizon=2)
    loaded.load_from(tmp_path)
    for item in (task, loaded):
        assert item.origin().columns.shape == (5, 3)
        seen = []
        forecast = item.serve(
            lambda history, seen=seen: seen.append(history) or history[:, -1, :2],
            item.origin().columns,
            2,
        )
        assert seen[0].shape == (1, 5, 3)
        assert forecast[0] == pytest.approx(59, rel=1e-5)
        with pytest.raises(RequestError, match=r"at most task\.horizon=2, "):
            item.serve(lambda history: history, item.origin().columns, 3)
        with pytest.raises(RequestError, match="each of: the series, input 0, input 1"):
            item.serve(lambda history: history, np.arange(9.0), 1)
    with pytest.raises(RequestError, match="expected task, history and horizon"):
        series_of(np.arange(60.0), history=5, horizon=2).load_from(tmp_path)
