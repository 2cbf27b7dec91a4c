"""Figures and pages of forecasting runs, from the files of a run folder."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import on_page
from drawn import drawn
from matplotlib.image import imread
from run_folders import write_forecast, write_run

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.follow import draw_run
from attnlab.tasks.attention import Recorded, read_attention, write_attention
from attnlab.tasks.forecasting import shown
from attnlab.tasks.forecasting.time_series import TimeSeries
from attnlab.views.records import Curves, Slider, Strips

forecast_figure = drawn(shown.forecast_figure)
attention_figure = drawn(shown.attention_figure)
next_values_figure = drawn(shown.next_values_figure)

METRICS = {
    "task": "sunspots",
    "attention": "luong_local",
    "seed": 3,
    "monitor": "val_loss",
    "best_epoch": 5,
    "test": {"rmse": 0.1},
    "baselines": {"linear_ar24": {"rmse": 0.2}},
    "best_baseline": "linear_ar24",
    "skill": 0.5,
    "units": "sunspots",
}
PANEL_METRICS = {
    **METRICS,
    "metric": "mase",
    "test": {"mase": 0.7},
    "series": {name: {"mase": at / 10} for at, name in enumerate("ABCDEF")},
}


def predictions(rows=31, horizon=1, first=100, labelled=True, shuffled=False):
    random = np.random.default_rng(0)
    index = random.permutation(rows) if shuffled else np.arange(first, first + rows)
    times = [f"{1900 + i}-01" if labelled else str(i) for i in index]
    target = random.normal(size=rows * horizon)
    return {
        "index": np.repeat(index, horizon),
        "time": np.repeat(times, horizon),
        "step": np.tile(np.arange(1, horizon + 1), rows),
        "target": target,
        "prediction": target + 0.1,
        "linear_ar24": target - 0.2,
    }


def panel(rows=19):
    """Predictions of six series, F the worst; E has one window."""
    columns = {}
    for name in "ABCDEF":
        series_columns = predictions(rows) if name != "E" else predictions(1, horizon=rows)
        series_columns = {"id": np.full(rows, name), **series_columns}
        columns = {key: [*columns.get(key, []), *column] for key, column in series_columns.items()}
    return {key: np.array(column) for key, column in columns.items()}


def ahead(values, last="", id="", **columns):
    """Where the forecast of a series starts, and its columns."""
    step = "h" if last else None
    origin = TimeSeries(np.asarray(values)[:, None], times=[last], step=step, id=id)
    return origin, {name: np.asarray(column, float) for name, column in columns.items()}


def example(windows=8, heads=1, queries=1, steps=13, ahead=None):
    """What `ForecastLearner.examples` returns of an epoch."""
    scores = np.random.default_rng(0).random(
        (windows if queries == 1 else 1, heads, queries, steps)
    )
    weights = scores / scores.sum(-1, keepdims=True)
    return {
        "weights": weights.astype(np.float16),
        "history": np.arange(windows * steps).reshape(windows, steps) % 7.0,
        "labels": np.array([f"{1900 + number}-01" for number in range(windows)]),
        **({} if ahead is None else {"ahead": np.array(ahead)}),
    }


def seven_epochs(folder, attends=True):
    run = write_run(folder, "luong_local", 3, metrics=METRICS)
    losses = {n: 0.5**n for n in range(1, 8)}
    run.history.replace(
        [{"epoch": n, "train_loss": x, "val_loss": 2 * x} for n, x in losses.items()]
    )
    run.write_predictions(predictions())
    if attends:
        write_attention(run, Recorded({1: example(), 5: example()}, 5))
    return run


def test_a_run_has_a_picture_of_its_losses_forecasts_and_attention(tmp_path):
    run = seven_epochs(tmp_path)
    sizes = {"loss.png": (700, 400), "forecast.png": (900, 350), "attention.png": (900, 500)}
    assert [path.name for path in draw_run(run)] == [*sizes]
    for name, (width, height) in sizes.items():
        pixels = imread(run.plots / name)
        assert pixels.shape[:2] == (height * 3 // 2, width * 3 // 2)  # 150 dots an inch
        assert 0.01 < (pixels[..., :3].min(axis=-1) < 0.9).mean() < 0.6
    output = tmp_path / "new" / "folder"
    files = draw_run(seven_epochs(tmp_path, attends=False), output)
    assert [path.relative_to(output).name for path in files] == ["loss.png", "forecast.png"]


@pytest.mark.parametrize("name", ["metrics.json", "predictions.csv"])
def test_a_missing_or_damaged_file_is_named(tmp_path, name):
    run = seven_epochs(tmp_path)
    (run.path / name).unlink()
    with pytest.raises(RequestError, match=name):
        draw_run(run)


def test_series_are_drawn_along_time_with_the_error_of_each_step():
    upper, steps = forecast_figure(predictions(horizon=3), METRICS).axes
    assert "the first of 3 steps" in upper.get_title("left")
    target, forecast = upper.get_lines()
    np.testing.assert_allclose(forecast.get_ydata() - target.get_ydata(), 0.1)
    assert len(target.get_xdata()) == 31 and not upper.collections
    years = [int(label.get_text()) for label in upper.get_xticklabels()]
    assert len(years) > 4 and np.ptp(np.diff(years)) == 0
    model, baseline = steps.get_lines()
    np.testing.assert_allclose([model.get_ydata(), baseline.get_ydata()], [[0.1] * 3, [0.2] * 3])


@pytest.mark.parametrize("options", [{"first": 0}, {"shuffled": True}])
def test_windows_without_order_are_drawn_against_their_targets(options):
    (axes,) = forecast_figure(predictions(**options), METRICS).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("target (sunspots)", "forecast")


def test_the_interval_is_a_band_in_the_forecasts():
    columns = predictions()
    columns |= {"low": columns["prediction"] - 1, "high": columns["prediction"] + 1}
    (band,) = forecast_figure(columns, METRICS).axes[0].collections
    assert band.get_label() == "95 % interval"
    band = {"low": [3, np.nan], "high": [5, np.nan]}
    figure = next_values_figure([ahead(np.ones(5), forecast=[4, 4], **band)], title="", units="")
    (band,) = figure.axes[0].collections
    assert band.get_paths()[0].get_extents().get_points().tolist() == [[0, 1], [1, 5]]


@pytest.mark.parametrize(
    ("steps", "heads", "queries", "ahead"),
    [(132, 4, 1, None), (24, 8, 24, None), (9, 1, 3, [1, 4, 7])],
)
def test_attention_of_every_shape(steps, heads, queries, ahead):
    arrays = example(heads=heads, queries=queries, steps=steps, ahead=ahead)
    figure = attention_figure(arrays, METRICS)
    figure.draw_without_rendering()
    maps = [axes for axes in figure.axes if axes.images]
    assert len(maps) == (1 if queries == 1 else heads)
    rows = arrays["weights"].astype(float).mean(axis=0)
    picture = maps[0].images[0].get_array()
    np.testing.assert_allclose(picture, rows[:, 0] if queries == 1 else rows[0], rtol=1e-3)
    assert ("first step ahead" in maps[0].get_ylabel()) == (ahead is not None)


@pytest.mark.parametrize(
    "figure",
    [
        forecast_figure(predictions(rows=564, horizon=3), METRICS),
        forecast_figure(predictions(shuffled=True), METRICS),
        attention_figure(example(heads=4, queries=13), METRICS),
        attention_figure(example(queries=2, ahead=[1, 4]), METRICS),
        next_values_figure(
            [
                ahead(np.arange(336.0), "2018-02-14T23:00", forecast=np.ones(24)),
                ahead(np.arange(48.0), "2018-02-14T23:00", "B", forecast=np.ones(24)),
            ],
            title="next 24 values",
            units="degrees",
        ),
        forecast_figure(panel(), PANEL_METRICS),
    ],
    ids=["steps", "target", "many queries", "decoder", "next values", "series"],
)
def test_texts_neither_overlap_nor_leave_the_figure(figure, legible_texts):
    assert len(legible_texts(figure)) > 5


def test_a_page_shows_the_recorded_weights_of_each_epoch(trained, monkeypatch):
    monkeypatch.chdir(trained.attnlab.folder)
    _, slider = shown.attention_records(on_page(trained.attnlab.runs))
    assert isinstance(slider, Slider) and list(slider.epochs.numbers) == [1, 2]
    recorded = read_attention(RunDirectory(trained.folder))
    table = RunDirectory(trained.folder).read_predictions(("time",))
    for epoch, (strips, heads) in zip(recorded.epochs, slider.frames, strict=True):
        arrays = recorded.at(epoch)
        assert isinstance(strips, Strips) and len(strips.strips) == 8
        for number, strip in enumerate(strips.strips):
            assert strip.label == f"before {arrays['labels'][number]}"
            assert arrays["labels"][number] in table["time"]
            assert strip.weights == pytest.approx(arrays["weights"][number, 0, 0].astype(float))
            assert sum(strip.weights) == pytest.approx(1, abs=0.01)
            assert strip.values == pytest.approx(arrays["history"][number])
        assert heads.weights.sum() == pytest.approx(1, abs=0.01)


def test_forecasts_of_equal_targets_are_in_one_chart(three_groups):
    (chart,) = shown.forecast_records(on_page(three_groups))
    assert isinstance(chart, Curves)
    labels = ["target", "bahdanau", "pooling", "no attention"]
    assert [curve.label for curve in chart.curves] == labels
    errors = np.subtract(chart.curves[1].y, chart.curves[0].y)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(0.94)  # its run of the median
    assert chart.names[0] == "1900, 100" and len(chart.x) == 40


def test_several_steps_have_an_error_each(tmp_path):
    run = write_run(tmp_path, "none", 0, 1.0, metrics={"best_baseline": "persistence"})
    write_forecast(run, np.tile([3.0, 4.0], 20))
    table = run.read_predictions()
    steps = np.tile([1, 2], 20)
    persistence = table["target"] + 5
    run.write_predictions({**table, "step": steps, "persistence": persistence})
    forecast, errors = shown.forecast_records(on_page(tmp_path))
    assert [curve.y for curve in errors.curves] == [[3.0, 4.0], [5.0, 5.0]]
    assert len(forecast.x) == 20 and "the first of 2 steps" in forecast.title
