"""The embedded sunspot numbers."""

import csv
from pathlib import Path

import numpy as np
import pytest

import attnlab.tasks.forecasting.data as data
from attnlab.tasks.forecasting.sunspots import Sunspots

EMBEDDED = Path(data.__file__).with_name("sunspots.csv")


def test_every_month_from_1749_to_1983_occurs_once_in_order():
    (series,) = Sunspots()._read(None)[0].series
    months = [f"{1749 + month // 12}-{month % 12 + 1:02d}" for month in range(2820)]
    assert series.times == months
    assert (series.values[0], series.values[-1]) == (58.0, 33.4)
    assert (series.values.min(), series.values.max()) == (0.0, 253.8)


def test_the_file_names_its_source():
    head = EMBEDDED.read_text(encoding="utf-8")[:400]
    assert "datasets::sunspots" in head and "Andrews" in head and "scripts/sunspots.R" in head


@pytest.mark.realdata
def test_it_equals_the_file_that_the_book_downloads(realdata):
    (series,) = Sunspots()._read(None)[0].series
    with open(realdata / "sunspots" / "monthly-sunspots.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == series.times
    np.testing.assert_array_equal([float(row[1]) for row in rows], series.values)
