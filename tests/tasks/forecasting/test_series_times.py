"""Times, decimals and gaps of CSV files as spreadsheets and other programs write them."""

import numpy as np
import pandas as pd
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_series import read_series
from attnlab.tasks.forecasting.data.reading.dates import read_times
from attnlab.tasks.forecasting.data.reading.numbers import decimal_mark, to_number
from attnlab.tasks.forecasting.data.reading.rows import Reading
from attnlab.tasks.forecasting.data.times import next_labels, season


@pytest.mark.parametrize(
    ("step", "steps"),
    [
        *[("1MS", 12), ("2MS", 6), ("3MS", 4), ("12MS", None), ("24MS", None), ("7D", 52)],
        *[("1D", 7), ("B", 5), ("2D", None), ("h", 24), ("6h", 4), ("15min", 96), ("7h", None)],
        *[("s", 86_400), ("500ms", 172_800)],
    ],
)
def test_the_season_of_a_step(step, steps):
    assert season(step) == steps


@pytest.fixture
def read(tmp_path):
    """Read rows of a time and other cells below a header; the column of times is found."""

    def read(rows, header="when,x", column="x", time_column="auto", **reading):
        path = tmp_path / "series.csv"
        path.write_text("\n".join([header, *rows]), encoding="utf-8")
        return read_series(path, column, time_column, Reading(**reading))

    return read


@pytest.mark.parametrize(
    ("labels", "known", "step"),
    [
        (["2020-01", "2020-02", "2020-03"], ["2020-01", "2020-02", "2020-03"], "1MS"),
        (["31.01.2020", "29.02.2020", "31.03.2020"], ["2020-01", "2020-02", "2020-03"], "1MS"),
        (["1801", "1802", "1803"], ["1801", "1802", "1803"], "12MS"),
        (["2020-07-01", "2021-07-01"], ["2020-07", "2021-07"], "12MS"),
        (["2020-Q3", "2020-Q4", "2021-Q1"], ["2020-Q3", "2020-Q4", "2021-Q1"], "3MS"),
        (["12/31/2020", "01/01/2021"], ["2020-12-31", "2021-01-01"], "1D"),
        (["2020-01-06", "2020-01-13"], ["2020-01-06", "2020-01-13"], "7D"),
        (["2020-01-01T23:00", "2020-01-02T00:00"], ["2020-01-01 23:00", "2020-01-02 00:00"], "h"),
        (
            ["2020-01-01T00:00:00.5", "2020-01-01T00:00:01"],
            ["2020-01-01 00:00:00.500000", "2020-01-01 00:00:01.000000"],
            "500ms",
        ),
        (["2020-01-06", "2020-02-05", "2020-03-06"], None, "30D"),
        (["2020-03-31", "2020-04-30", "2020-06-29", "2020-07-29"], None, "30D"),
        (["2020-06-30", "2020-09-30", "2020-12-31"], ["2020-06", "2020-09", "2020-12"], "3MS"),
        (["1/13/2020 11:45 PM", "1/14/2020 12:00 AM"], None, "15min"),
        (["2020-01-01T00:00+01:00", "2020-01-01T01:00+01:00"], None, "h"),
    ],
)
def test_common_forms_of_times_and_their_step(labels, known, step):
    times, found = read_times(labels).times.regular()
    assert found == step
    shown = times.labels(step)
    assert known is None or shown == known
    assert next_labels(shown[-2], step, 1) == shown[-1:]


def test_working_days_continue_after_the_weekend():
    days = [f"{day:%d.%m.%Y}" for day in pd.date_range("2020-01-01", periods=8, freq="B")]
    times, step = read_times(days).times.regular()
    around = next_labels("2020-01-13", step, 1, before=2)
    assert (step, around) == ("B", ["2020-01-10", "2020-01-13", "2020-01-14"])


def test_labels_of_forecasts_keep_offsets_and_quarters():
    assert next_labels("2024-10-27 02:00+02:00[Europe/Berlin]", "h", 2) == [
        *("2024-10-27 02:00+01:00[Europe/Berlin]", "2024-10-27 03:00+01:00[Europe/Berlin]")
    ]
    assert next_labels("2024-01-01 23:30+05:30", "30min", 1) == ["2024-01-02 00:00+05:30"]
    assert next_labels("2020-Q4", "3MS", 1) == ["2021-Q1"]
    assert next_labels("60", "1", 2, before=2) == ["59", "60", "61", "62"]
    assert next_labels("0.9", "0.1", 1) == ["1"]


def test_midnights_of_a_place_in_utc_are_its_days_and_months(read):
    for zone, freq, first in [("Europe/Berlin", "MS", "2020-01"), ("Asia/Tokyo", "MS", "2020-01"),
                              ("America/New_York", "D", "2020-01-01")]:  # fmt: skip
        times = pd.date_range("2020-01-01", periods=100, freq=freq, tz=zone)
        seconds = [f"{int(time.timestamp())},{at}" for at, time in enumerate(times)]
        assert read(seconds).times[0] == first
        utc = [f"{time.tz_convert('UTC').isoformat()},{at}" for at, time in enumerate(times)]
        assert read(utc).times[0] == first


def test_an_hour_that_clocks_show_twice_is_in_order_with_the_newest_row_first(read):
    for zone in ("Europe/Berlin", "America/New_York"):
        times = pd.date_range("2024-10-26", periods=220, freq="h", tz=zone)
        rows = [f"{time:%Y-%m-%d %H:%M} {zone},{at}" for at, time in enumerate(times)]
        assert read(rows[::-1]).values.tolist() == [*range(220)]


def test_rows_are_sorted_with_a_note(read):
    rows = ["2020-03,3", "2020-02,2", "2020-01,1"]
    series = read(rows)
    assert series.values.tolist() == [1, 2, 3] and series.times[0] == "2020-01"
    assert "newest first, so they were sorted" in series.notes[0]
    assert "out of order" in read([rows[1], rows[0], rows[2]]).notes[0]
    assert read(rows[::-1]).notes == ()
    by_rows = read(rows, time_column=None)
    assert (by_rows.values.tolist(), by_rows.step, by_rows.notes) == ([3, 2, 1], None, ())


def test_a_first_column_of_years_is_a_time_unless_it_is_the_only_one(read):
    assert read(["1901,3", "1900,2"]).times == ["1900", "1901"]
    assert read(["1901", "1900"], header="x").values.tolist() == [1901, 1900]
    twice = read(["1901,3", "1901,2"], header="value,x", column=None)
    assert (twice.values.tolist(), twice.times) == ([3, 2], ["0", "1"])


MONTHS = [f"2020-{month:02d},{month}" for month in range(1, 13)]


@pytest.mark.parametrize(
    ("rows", "reading", "words"),
    [
        ([*MONTHS, "2020-04,9"], {}, "column 'when': .* rows 5 and 14 both have 2020-04"),
        (MONTHS[:3] + MONTHS[5:], {}, "row 5: expected 2020-04 after 2020-03, got 2020-06; task"),
        (MONTHS[:3] + MONTHS[5:7] + MONTHS[8:], {}, r"got 2020-06 \(2 such places\); task.missing"),
        ([*MONTHS, "soon,3"], {}, "row 14: .* like 2020-01, got 'soon'; set task.time_f"),
        (["2020-01-01,1", "2020-01-02,2", "2020-01-03,3", "2020-01-04 12:00,4"],
         {"missing": "interpolate"}, "row 5: expected a time of the step 1D after 2020-01-03"),
        (["2020-01-01 00:00,1", "2020-01-01 00:01,2", "2220-01-01 00:00,3"],
         {"missing": "interpolate"}, "row 4: expected 2020-01-01 00:02"),
        ([",1", *MONTHS], {"time_column": "when"}, "row 2: expected a time"),
        ([*MONTHS, "2021-01,"], {}, "row 14, .*got ''; task.missing=interpolate fills missing"),
        ([*MONTHS, "2021-01,"], {"missing": "interpolate"}, "first or the last row"),
        ([*MONTHS, "2021-01,closed"], {"missing": "interpolate"}, "row 14, .*'closed'; correct or"),
        (MONTHS, {"time_format": "%d/%m/%Y"}, "task.time_format=%d.*: no column of .* has times"),
        (MONTHS, {"time_format": "%Y", "time_column": "when"}, "row 2: expected a time in the"),
        (MONTHS, {"inputs": ["x"]}, "only once, but the settings use x, x, when"),
        (MONTHS, {"encoding": "klingon"}, "decoded by task.encoding: unknown encoding: klingon"),
    ],
)  # fmt: skip
def test_times_that_are_refused_are_named_with_their_row(read, rows, reading, words):
    with pytest.raises(RequestError, match=words):
        read(rows, **reading)


def test_gaps_and_empty_cells_are_interpolated_with_a_note(read):
    rows = ["2020-01,1,5", "2020-02,2,n/a", "2020-05,5,", "2020-06,6,10"]
    series = read(rows, header="when,x,y", inputs=["y"], missing="interpolate")
    assert series.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert series.inputs[:, 0].tolist() == [5, 6, 7, 8, 9, 10]
    assert series.filled.tolist() == [False, True, True, True, True, False]
    assert series.times[2] == "2020-03" and "4 of 6 rows are interpolated" in series.notes[0]
    assert read(rows[:2], header="when,x,y").filled is None


@pytest.mark.parametrize(
    ("cells", "separator", "mark"),
    [
        (["1.234,5", "7"], ";", ","),
        (["1,234.5"], ",", "."),
        (["3,5"], ",", ","),
        (["1.234.567"], ";", ","),
        (["1.234", "5,5"], ";", ","),
        (["0.123", "1.234"], ";", "."),
        (["1.234", "12.345"], ";", None),
        (["1,234", "12,345"], ",", None),
        (["1.234", "12.345"], ",", "."),
        (["1.5e-3", "12"], ";", "."),
        (["1 234,567", "2 234,567"], ";", ","),
        (["1\u202f234,56"], ";", ","),
        (["7"], ";", "."),
    ],
)
def test_the_decimal_mark_is_found_or_must_be_set(cells, separator, mark):
    assert decimal_mark(cells, separator) == mark


@pytest.mark.parametrize(
    ("cell", "mark", "number"),
    [
        ("1.234.567,8", ",", 1234567.8),
        ("1,234.5", ".", 1234.5),
        ("1 234,5", ",", 1234.5),
        ("1\u202f234", ".", 1234),
        ("1'234.5", ".", 1234.5),
        ("-1.234,5", ",", -1234.5),
        ("1.5", ",", np.nan),
        ("12,34.5", ".", np.nan),
        ("1.2.3", ".", np.nan),
        ("1 234,567", ".", np.nan),
        ("1 234,567", ",", 1234.567),
        ("1234,567", ".", np.nan),
        ("1 2", ".", np.nan),
    ],
)
def test_groups_of_three_digits_may_be_separated(cell, mark, number):
    np.testing.assert_equal(to_number(cell, mark), number)


def test_a_german_spreadsheet_is_read_or_its_ambiguity_named(read):
    rows = ["01.01.2020;1.234,5;1.000", "01.02.2020;999,5;2.000"]
    header = "Datum;Umsatz;Käufer"
    assert read(rows, header=header, column="Umsatz").values.tolist() == [1234.5, 999.5]
    with pytest.raises(
        RequestError, match="task.decimal=null: the decimal separator of .*'Käufer'"
    ):
        read(rows, header=header, column=3)
    for given in ({"thousands": "point"}, {"decimal": "comma"}):
        assert read(rows, header=header, column=3, **given).values.tolist() == [1000, 2000]
    assert read(rows, header=header, column=3, decimal="point").values.tolist() == [1, 2]
