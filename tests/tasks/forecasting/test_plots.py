"""Figures are pictures of a sensible size for every shape of run."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from drawn import drawn
from matplotlib.image import imread
from matplotlib.text import Text

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.run.figures import draw_run
from attnlab.tasks.forecasting.data.origin import Origin
from attnlab.tasks.forecasting.shown import attention, figures, forecasts
from attnlab.views.png.style import write

loss_figure, forecast_figure = drawn(figures.loss_figure), drawn(figures.forecast_figure)
attention_figure = drawn(attention.attention_figure)
next_values_figure = drawn(forecasts.next_values_figure)

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


def ahead(values, last="", id="", **columns):
    """Where the forecast of a series starts, and its columns."""
    step = "h" if last else None
    origin = Origin(np.asarray(values)[:, None], (), (id,) if id else (), last, step)
    return origin, {name: np.asarray(column, float) for name, column in columns.items()}


PANEL_METRICS = {
    **METRICS,
    "metric": "mase",
    "test": {"mase": 0.7},
    "series": {name: {"mase": at / 10} for at, name in enumerate("ABCDEF")},
}


def panel(rows=19):
    """Predictions of six series, F the worst; E has one window."""
    found = {}
    for name in "ABCDEF":
        own = predictions(rows) if name != "E" else predictions(1, horizon=rows)
        own = {"id": np.full(rows, name), **own}
        found = {key: [*found.get(key, []), *column] for key, column in own.items()}
    return {key: np.array(column) for key, column in found.items()}


def history(epochs=7, validation=True):
    losses = [0.5**epoch for epoch in range(epochs)]
    columns = {"epoch": list(range(1, epochs + 1)), "train_loss": losses}
    return {**columns, "val_loss": [2 * loss for loss in losses]} if validation else columns


def weights(windows=8, heads=1, queries=1, steps=13):
    scores = np.random.default_rng(0).random((windows, heads, queries, steps))
    return (scores / scores.sum(-1, keepdims=True)).astype(np.float32)


def make_run(folder, attention=True):
    run = RunDirectory.create(folder, "sunspots", "luong_local", 3)
    run.write_json("metrics.json", METRICS)
    columns = history()
    rows = zip(*columns.values(), strict=True)
    run.history.replace([dict(zip(columns, row, strict=True)) for row in rows])
    run.write_predictions(predictions())
    if attention:
        memory = np.zeros((8, 13), np.float32)
        index = np.arange(100, 108)
        np.savez(run.path / "attention.npz", weights=weights(), history=memory, index=index)
    run.status.write("completed")
    return run


def assert_picture(path, width, height):
    pixels = imread(path)
    assert pixels.shape[:2] == (height * 3 // 2, width * 3 // 2)  # 150 dots an inch
    ink = (pixels[..., :3].min(axis=-1) < 0.9).mean()
    assert 0.01 < ink < 0.6


def test_run_with_attention_has_three_pictures(tmp_path):
    run = make_run(tmp_path)
    files = draw_run(run)
    assert [path.name for path in files] == ["loss.png", "forecast.png", "attention.png"]
    assert {path.parent for path in files} == {run.plots}
    assert_picture(run.plots / "loss.png", 700, 400)
    assert_picture(run.plots / "forecast.png", 900, 540)
    assert_picture(run.plots / "attention.png", 900, 500)


def test_run_without_attention_has_two(tmp_path):
    output = tmp_path / "new" / "folder"
    files = draw_run(make_run(tmp_path, attention=False), output)
    assert [path.relative_to(output).name for path in files] == ["loss.png", "forecast.png"]


def test_units_are_not_drawn_as_formulas(tmp_path):
    units = "cost_$ per_$"  # as a formula, a damaged one
    metrics = {**METRICS, "units": units}
    named = {
        "time.png": forecast_figure(predictions(), metrics),
        "target.png": forecast_figure(predictions(shuffled=True), metrics),
        "next.png": next_values_figure([ahead(np.ones(3), forecast=[1])], title="", units=units),
        "look.png": attention_figure(weights(), np.zeros((8, 13)), ["1"] * 8, metrics),
    }
    for name, figure in named.items():
        write(figure, tmp_path / name)
        (shown,) = (text for text in figure.findobj(Text) if units in text.get_text())
        assert not shown.get_parse_math()


def test_numbers_on_a_logarithmic_axis_are_written_out():
    columns = predictions(shuffled=True)
    columns["prediction"] = columns["target"] + np.logspace(-4, 0, len(columns["target"]))
    figure = forecast_figure(columns, METRICS)
    figure.draw_without_rendering()
    labels = [text.get_text() for text in figure.axes[1].get_xticklabels(which="both")]
    assert {"0.001", "0.01", "0.1"} <= {*labels} and not any("$" in text for text in labels)


@pytest.mark.parametrize("name", ["metrics.json", "predictions.csv"])
def test_missing_file_is_named(tmp_path, name):
    run = make_run(tmp_path)
    (run.path / name).unlink()
    with pytest.raises(RequestError, match=name):
        draw_run(run)


def test_missing_column_is_named(tmp_path):
    run = make_run(tmp_path)
    run.write_predictions({"index": [1], "time": ["a"], "step": [1], "target": [0.5]})
    with pytest.raises(RequestError, match="damaged: no 'prediction'"):
        draw_run(run)


def test_damaged_attention_is_a_request_error(tmp_path):
    run = make_run(tmp_path)
    (run.path / "attention.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(RequestError, match=r"attention\.npz: damaged"):
        draw_run(run)


@pytest.mark.parametrize("validation", [True, False])
@pytest.mark.parametrize("epochs", [1, 7])
def test_loss_curves(epochs, validation):
    figure = loss_figure(history(epochs, validation), METRICS)
    axes = figure.axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert ("validation" in labels) is validation
    both = epochs == 7 and validation
    assert any(label.startswith("best epoch: 5") for label in labels) is both
    assert axes.get_yscale() == ("log" if epochs == 7 else "linear")


def test_losses_that_are_not_finite_dont_affect_the_axis():
    broken = {"epoch": [1, 2, 3], "train_loss": [0.5, math.nan, math.inf]}
    figure = loss_figure(broken, METRICS)
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_ylim()
    assert low < 0.5 < high < 1


def test_series_is_drawn_along_time():
    figure = forecast_figure(predictions(horizon=3), METRICS)
    upper, lower, steps = figure.axes
    assert "step 1 of 3" in figure.texts[0].get_text()
    target, forecast = upper.get_lines()
    np.testing.assert_allclose(forecast.get_ydata() - target.get_ydata(), 0.1)
    assert len(target.get_xdata()) == 31 and not upper.collections
    years = [int(label.get_text()) for label in lower.get_xticklabels()]
    assert len(years) > 4 and np.ptp(np.diff(years)) == 0
    model, baseline = steps.get_lines()
    np.testing.assert_allclose([model.get_ydata(), baseline.get_ydata()], [[0.1] * 3, [0.2] * 3])
    assert list(model.get_xdata()) == [1, 2, 3]


@pytest.mark.parametrize("label", ["week {}", "{}-Q1"])
def test_times_that_are_not_dates_label_equal_distances(label):
    columns = predictions()
    columns["time"] = np.array([label.format(1900 + index) for index in columns["index"]])
    figure = forecast_figure(columns, METRICS)
    figure.draw_without_rendering()
    lower = figure.axes[1]
    shown = dict(zip(lower.get_xticks(), lower.get_xticklabels(), strict=True))
    shown = {place: text.get_text() for place, text in shown.items() if text.get_text()}
    assert len(shown) > 3 and np.ptp(np.diff([*shown])) == 0
    assert all(text == label.format(1900 + int(place)) for place, text in shown.items())


def test_the_interval_is_a_band_in_the_forecasts():
    columns = predictions()
    columns |= {"low": columns["prediction"] - 1, "high": columns["prediction"] + 1}
    (band,) = forecast_figure(columns, METRICS).axes[0].collections
    assert band.get_label() == "95 % interval"
    band = {"low": [3, np.nan], "high": [5, np.nan]}
    drawn = next_values_figure([ahead(np.ones(5), forecast=[4, 4], **band)], title="", units="")
    (band,) = drawn.axes[0].collections
    assert band.get_paths()[0].get_extents().get_points().tolist() == [[1, 3], [1, 5]]


@pytest.mark.parametrize(
    ("options", "panels"),
    [
        ({"labelled": False}, ["sunspots", "error"]),
        ({"labelled": False, "first": 0}, ["forecast", "share of test windows"]),
        ({"labelled": False, "shuffled": True}, ["forecast", "share of test windows"]),
        ({"shuffled": True}, ["forecast", "share of test windows"]),
    ],
)
def test_windows_without_order_are_drawn_against_their_targets(options, panels):
    figure = forecast_figure(predictions(**options), METRICS)
    assert [axes.get_ylabel() for axes in figure.axes] == panels


def test_share_of_windows_by_error_ends_at_one():
    curve = forecast_figure(predictions(shuffled=True), METRICS).axes[1].get_lines()[0]
    np.testing.assert_allclose(curve.get_xdata()[:-1], 0.1)
    np.testing.assert_allclose(curve.get_ydata()[:-1], np.arange(1, 32) / 31)
    assert curve.get_ydata()[-1] == 1


def test_errors_too_small_for_float32_do_not_stretch_the_axis():
    columns = predictions(shuffled=True)
    columns["linear_ar24"] = columns["target"] + 1e-13
    columns["prediction"] = columns["target"] + np.geomspace(1e-3, 1, 31)
    left, right = forecast_figure(columns, METRICS).axes[1].get_xlim()
    assert 1e-8 < left < 1e-6
    assert right == pytest.approx(1.5)


def test_exact_forecast_is_drawn():
    columns = predictions(shuffled=True)
    columns["prediction"] = columns["linear_ar24"] = columns["target"]
    figure = forecast_figure(columns, METRICS)
    figure.draw_without_rendering()
    curve = figure.axes[1].get_lines()[0]
    assert set(curve.get_xdata()[:-1]) == {0.0}


@pytest.mark.parametrize(
    ("steps", "heads", "queries"),
    [(1, 1, 1), (13, 1, 1), (132, 4, 1), (2, 4, 1), (1, 8, None), (13, 1, None), (24, 8, None)],
)
def test_attention_of_every_shape(steps, heads, queries):
    shown = weights(heads=heads, queries=queries or steps, steps=steps)
    labels = [f"{year}-01" for year in range(8)]
    figure = attention_figure(shown, np.zeros((8, steps)), labels, METRICS)
    figure.draw_without_rendering()
    bars = next(axes for axes in figure.axes if axes.get_ylabel() == "mean weight")
    drawn = bars.patches
    heights = [bar.get_height() for bar in drawn] if steps <= 100 else drawn[0].get_data().values
    np.testing.assert_allclose(heights, shown.mean(axis=(0, 1, 2)), rtol=1e-5)
    ticks = dict(zip(bars.get_xticks(), bars.get_xticklabels(), strict=True))
    assert all(int(label.get_text()) == steps - place for place, label in ticks.items())


@pytest.mark.parametrize(("queries", "at_once"), [(6, 1), (4, 24), (96, 1)])
def test_the_queries_of_a_decoder_are_steps_of_the_forecast(queries, at_once):
    ahead = 1 + at_once * np.arange(queries)
    figure = attention_figure(
        weights(queries=queries), np.zeros((8, 13)), ["a"] * 8, METRICS, ahead
    )
    figure.draw_without_rendering()
    panel, bars = (axes for axes in figure.axes if axes.get_ylabel() != "weight")
    assert panel.get_ylabel() == "query, its first step ahead"
    assert bars.get_xlabel() == "steps before the forecast"
    labels = [int(label.get_text()) for label in panel.get_yticklabels()]
    assert labels == [ahead[int(place)] for place in panel.get_yticks()]
    assert 4 <= len(labels) <= 6


@pytest.mark.parametrize(
    "figure",
    [
        loss_figure(history(), METRICS),
        forecast_figure(predictions(rows=564), METRICS),
        forecast_figure(predictions(rows=564, horizon=3), METRICS),
        forecast_figure(predictions(shuffled=True), METRICS),
        attention_figure(weights(heads=4), np.zeros((8, 13)), ["1949-01"] * 8, METRICS),
        attention_figure(weights(heads=4, queries=13), np.zeros((8, 13)), ["a"] * 8, METRICS),
        attention_figure(
            weights(queries=2), np.zeros((8, 13)), ["a"] * 8, METRICS, np.array([1, 4])
        ),
        next_values_figure(
            [
                ahead(np.arange(336.0), "2018-02-14 23:00", forecast=np.ones(24)),
                ahead(np.arange(48.0), "2018-02-14 23:00", "B", forecast=np.ones(24)),
            ],
            title="next 24 values",
            units="degrees",
        ),
        forecast_figure(panel(), PANEL_METRICS),
    ],
    ids=[
        *("loss", "along time", "three steps", "against target", "one query", "many queries"),
        *("decoder", "next values", "several series"),
    ],
)
def test_texts_neither_overlap_nor_leave_the_figure(figure, legible_texts):
    assert len(legible_texts(figure)) > 5


def test_the_best_the_worst_and_some_other_series_are_drawn():
    figure = forecast_figure(panel(), PANEL_METRICS)
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["A: MASE 0", "C: MASE 0.2", "D: MASE 0.3", "F: MASE 0.5"]
    assert "4 of 6 series" in figure.texts[0].get_text()
    for axes in figure.axes:
        target, forecast = axes.get_lines()
        np.testing.assert_allclose(forecast.get_ydata() - target.get_ydata(), 0.1)
        assert len(target.get_xdata()) == 19


def test_the_error_of_every_step_is_inside_its_panel():
    columns = predictions(horizon=7)
    columns["prediction"] = columns["target"] + columns["step"] ** 2
    panel = forecast_figure(columns, METRICS).axes[2]
    tops = [float(line.get_ydata().max()) for line in panel.get_lines()]
    assert panel.get_ylim()[0] == 0 and panel.get_ylim()[1] > max(tops) == 49


@pytest.mark.parametrize(("steps", "dots"), [(24, 1), (336, 0)])
def test_dots_of_long_histories_dont_touch(steps, dots):
    figure = attention_figure(weights(steps=steps), np.ones((8, steps)), ["1"] * 8, METRICS)
    example = next(each for each in figure.axes if each.get_title().startswith("history before"))
    assert len(example.collections) == dots and ("dot" in example.get_title()) == bool(dots)


def test_the_title_names_the_run_and_its_result():
    written = " ".join(text.get_text() for text in loss_figure(history(), METRICS).texts)
    for part in ("sunspots", "luong_local", "seed 3", "test RMSE 0.1", "linear_ar24 0.2", "0.5"):
        assert part in written


def test_drawing_imports_neither_pyplot_nor_tensorflow():
    code = (
        "import sys; import attnlab.tasks.forecasting.shown.figures, attnlab.views.png.figure;"
        "print([m for m in ('matplotlib.pyplot', 'tensorflow', 'mlflow', 'pandas')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
