"""Pages about forecasts: test targets, and attention by epoch."""

from __future__ import annotations

import shutil

import h5py
import numpy as np
import pytest
from compared_runs import on_page, write_forecast, write_run

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.forecasting.shown.attention import (
    _frame,
    _Learned,
    _over_epochs,
    attention_records,
    coarser,
)
from attnlab.tasks.forecasting.shown.forecasts import forecast_records
from attnlab.views.records import Curves, Maps, Slider, Strips, Text


@pytest.fixture
def shown(trained, monkeypatch):
    """The run of the fixture, as a page shows it."""
    monkeypatch.chdir(trained.attnlab.folder)
    return on_page(trained.attnlab.runs)


def test_the_best_epochs_weights_are_the_saved_ones(shown, trained):
    (slider,) = attention_records(shown)
    assert isinstance(slider, Slider)
    assert list(slider.epochs.numbers) == [1, 2]
    assert slider.epochs.notes[slider.epochs.first].endswith("best")
    table = RunDirectory(trained.folder).read_predictions()
    times = dict(zip(table["index"], table["time"], strict=True))
    with np.load(trained.folder / "attention.npz") as kept:
        names = [f"before {times[at]}" for at in kept["index"]]
        expected = dict(zip(names, kept["weights"][:, 0, 0], strict=True))
        values = dict(zip(names, kept["history"], strict=True))
    (best,) = slider.frames[slider.epochs.first]
    assert isinstance(best, Strips) and len(best.strips) == len(expected) == 8
    for strip in best.strips:
        assert strip.weights == pytest.approx(expected[strip.label], abs=1e-5)
        assert strip.values == pytest.approx(values[strip.label])
        assert sum(strip.weights) == pytest.approx(1)
    means = [np.mean([strip.weights for strip in own.strips], axis=0) for (own,) in slider.frames]
    assert slider.over_epochs.weights[0] == pytest.approx(np.array(means))


def test_each_epoch_has_its_own_weights(shown, monkeypatch, tmp_path):
    """The second epoch gets the weights of a model whose scores are all 0."""
    changed = tmp_path / "epoch_002.weights.h5"
    shutil.copy(shown[0].run.weights_path(2), changed)
    with h5py.File(changed, "r+") as file:
        for values in arrays(file):
            values[...] = 0
    of_epoch(monkeypatch, 2, changed)
    (slider,) = attention_records(shown)
    first, second = (np.array([s.weights for s in own.strips]) for (own,) in slider.frames)
    assert second == pytest.approx(1 / 7)
    assert slider.over_epochs.weights[0, 1] == pytest.approx(1 / 7)
    assert np.abs(first - 1 / 7).max() > 0.05


def arrays(group) -> list:
    """All arrays in a file of weights."""
    found = []
    group.visititems(lambda _, each: found.append(each) if hasattr(each, "shape") else None)
    return found


def of_epoch(monkeypatch, number: int, path) -> None:
    """Move an epoch's weights away."""
    where = RunDirectory.weights_path

    def found(run, epoch):
        return path if epoch == number else where(run, epoch)

    monkeypatch.setattr(RunDirectory, "weights_path", found)


def test_without_weights_only_the_best_epoch_is_shown(shown, trained, monkeypatch):
    monkeypatch.setattr(RunDirectory, "weights_epochs", lambda run: [])
    slider, *reasons = attention_records(shown)
    assert len(slider.epochs.numbers) == len(slider.frames) == 1
    assert all(isinstance(why, Text) for why in reasons)
    assert any("no saved weights" in why.text for why in reasons)


def test_an_epoch_that_is_damaged_is_left_out_and_named(shown, trained, monkeypatch, tmp_path):
    damaged = tmp_path / "epoch_001.weights.h5"
    damaged.write_bytes(b"no weights")
    of_epoch(monkeypatch, 1, damaged)
    slider, why = attention_records(shown)
    assert list(slider.epochs.numbers) == [2]
    assert "Epoch 1 is missing" in why.text


def test_forecasts_of_equal_targets_are_in_one_chart(three_groups):
    (chart,) = forecast_records(on_page(three_groups))
    assert isinstance(chart, Curves)
    assert [curve.label for curve in chart.curves] == [
        "target",
        "bahdanau",
        "pooling",
        "no attention",
    ]
    assert [curve.shown for curve in chart.curves] == [True, True, True, False]
    errors = np.subtract(chart.curves[1].y, chart.curves[0].y)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(0.94)  # its run of the median
    assert chart.names[0] == "1900, 100" and len(chart.x) == 40


def test_targets_without_order_are_drawn_against_the_forecasts(tmp_path):
    run = write_run(tmp_path, "none", 0, 1.0)
    table = run.read_predictions()
    order = np.random.default_rng(0).permutation(40)
    run.write_predictions({**table, "index": order, "time": order.astype(str)})
    (chart,) = forecast_records(on_page(tmp_path))
    assert [curve.form for curve in chart.curves] == ["dots", "line"]
    assert list(chart.x) == sorted(table["target"])


def test_several_steps_have_an_error_each(tmp_path):
    run = write_run(tmp_path, "none", 0, 1.0, metrics={"best_baseline": "persistence"})
    write_forecast(run, np.tile([3.0, 4.0], 20))
    table = run.read_predictions()
    steps = np.tile([1, 2], 20)
    persistence = table["target"] + 5
    run.write_predictions({**table, "step": steps, "persistence": persistence})
    forecast, errors = forecast_records(on_page(tmp_path))
    assert [curve.y for curve in errors.curves] == [[3.0, 4.0], [5.0, 5.0]]
    assert len(forecast.x) == 20 and "the first of 2 steps" in forecast.title


def test_maps_of_many_positions_are_means_of_neighbours():
    maps = np.arange(36.0).reshape(1, 6, 6)
    assert coarser(maps, 3)[0, 0].tolist() == [3.5, 5.5, 7.5]
    assert np.array_equal(coarser(maps, 6), maps)


@pytest.mark.parametrize(("heads", "queries", "expected"), [(1, 1, []), (2, 1, [1]), (2, 5, [2])])
def test_heads_and_queries_have_maps(heads, queries, expected):
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, heads, queries))
    learned = _Learned([1, 2], weights, np.ones((3, 5)), ["a", "b", "c"], None)
    frame = _frame(learned, weights[0], 10**6)
    maps = [record for record in frame if isinstance(record, Maps)]
    assert [len(each.names) for each in maps] == expected
    assert any(isinstance(record, Strips) for record in frame) == (queries == 1)
    for each in maps:
        assert each.weights.sum() == pytest.approx(heads * queries)


@pytest.mark.parametrize(
    ("ahead", "rows", "end"),
    [(None, ("5 before", "1"), "target"), (np.array([1, 4, 7, 10, 13]), ("1", "13"), "forecast")],
)
def test_queries_are_steps_of_the_history_or_of_the_forecast(ahead, rows, end):
    weights = np.full((2, 3, 1, 5, 5), 0.2)
    learned = _Learned([1, 2], weights, np.ones((3, 5)), ["a", "b", "c"], ahead)
    (maps,), over = _frame(learned, weights[0], 10**6), _over_epochs(learned)
    assert maps.y.ends == rows and maps.x.ends == ("5 before", "1")
    assert f"before the {end}" in maps.x.label and over.x.ends[0] == f"5 steps before the {end}"
