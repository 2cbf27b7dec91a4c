"""The sunspots task: known scores of baselines, and the book's protocol."""

import csv

import numpy as np
import pytest

from attnlab.tasks.forecasting.sunspots import Sunspots


def nrmse(task, part="test"):
    report = task.report(np.zeros_like(task.splits.parts[part].target), part)
    scores = {name: round(scores["nrmse"], 4) for name, scores in report.baselines.items()}
    # Its window of 24 is the autoregression's, minus what subtracting a value costs.
    assert scores.pop("nlinear") - scores["linear_ar24"] == pytest.approx(0, abs=0.009)
    return scores


def test_the_default_splits_by_time_with_564_test_targets():
    task = Sunspots()
    splits = task.load(0)
    assert task.range == (0.0, 1.0)  # forecasts are far outside of the train part, not of the test
    assert splits.describe()["train"] == 1833 - 24
    assert (len(splits.parts["validation"]), len(splits.parts["test"])) == (423, 564)
    assert (
        splits.parts["test"].times[0] == "1937-01" and splits.parts["test"].times[-1] == "1983-12"
    )
    assert splits.parts["validation"].times[0] == "1901-10"


@pytest.mark.parametrize(
    ("settings", "fitted"),
    [
        ({"validation": 0}, {"train_mean": 0.2527, "linear_ar24": 0.0717}),
        ({}, {"train_mean": 0.2499, "linear_ar24": 0.0716}),
    ],
    ids=["first 80 percent", "train part"],
)
def test_baselines_have_the_known_scores(settings, fitted):
    task = Sunspots(**settings)
    task.load(0)
    assert nrmse(task) == {"persistence": 0.0792, "seasonal_naive": 0.1790, **fitted}


def test_the_books_protocol_has_its_windows_and_its_scores():
    task = Sunspots(protocol="book", history=12)
    splits = task.load(0)
    assert splits.counts() == {"train": 187, "test": 46}
    notes = " ".join(task.report(splits.parts["test"].target).notes)
    assert "the scaler knows" in notes and "46 test targets" in notes
    assert {time[-2:] for time in splits.parts["test"].times[:, 0]} == {"01"}
    assert nrmse(task) == {
        "persistence": 0.0796,
        "seasonal_naive": 0.1690,
        "train_mean": 0.2427,
        "linear_ar24": 0.0741,
    }


def test_the_books_arrays_are_those_of_its_listing():
    task = Sunspots(protocol="book", history=12)
    splits = task.load(0)
    scaled = (task.members[0].values / 253.8).astype(np.float32)
    train, test = scaled[:2256], scaled[2256:]
    np.testing.assert_array_equal(
        splits.parts["train"].history[:, :, 0], train[:2244].reshape(187, 12)
    )
    np.testing.assert_array_equal(splits.parts["train"].target[:, 0], train[12::12])
    np.testing.assert_array_equal(splits.parts["test"].history[:, :, 0], test[:552].reshape(46, 12))
    np.testing.assert_array_equal(splits.parts["test"].target[:, 0], test[12::12])


def test_every_month_from_1749_to_1983_occurs_once_in_order():
    (series,) = Sunspots().read_series(None)[0].series
    months = [f"{1749 + month // 12}-{month % 12 + 1:02d}" for month in range(2820)]
    assert series.times == months
    assert (series.values[0], series.values[-1]) == (58.0, 33.4)
    assert (series.values.min(), series.values.max()) == (0.0, 253.8)


@pytest.mark.realdata
def test_it_equals_the_file_that_the_book_downloads(realdata):
    (series,) = Sunspots().read_series(None)[0].series
    with open(realdata / "sunspots" / "monthly-sunspots.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == series.times
    np.testing.assert_array_equal([float(row[1]) for row in rows], series.values)
