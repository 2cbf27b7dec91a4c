"""Columns of times in a file: found, refused, and noted."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_series import Reading, read_series

MONTHS = pd.date_range("2018-01-01", periods=30, freq="MS")
DAYS = pd.date_range("2019-12-25", periods=30, freq="D")
HOURS = pd.date_range("2024-01-30", periods=50, freq="h")
WEEKS = pd.date_range("2019-11-04", periods=20, freq="7D")


@pytest.fixture
def read(tmp_path):
    """Read rows of some cells and the row's number, the newest first, below a header."""

    def read(header, cells, column="x", time_column="auto", newest_first=True, **reading):
        path = tmp_path / "f.csv"
        rows = [f"{each},{number}" for number, each in enumerate(cells)]
        path.write_text("\n".join([header, *rows[:: -1 if newest_first else 1]]))
        return read_series(path, column, time_column, Reading(**reading))

    return read


@pytest.mark.parametrize(
    ("header", "form", "times"),
    [
        ("year,month", "{d.year},{d.month}", MONTHS),
        ("month,year", "{d.month},{d.year}", MONTHS),
        ("Year,Month", "{d.year},{d:%B}", MONTHS),
        ("Jahr,Monat", "{d.year},{d:%b}", MONTHS),
        ("2-digit,Año,Mes", "0,{d.year}.0,{d.month}.0", MONTHS),
        ("year,month,day", "{d.year},{d.month},{d.day}", DAYS),
        ("No,year,month,day,hour", "1,{d.year},{d.month},{d.day},{d.hour}", HOURS),
        ("Jahr,Quartal", "{d.year},{quarter}", MONTHS[::3]),
        ("year,quarter", "{d.year},Q{quarter}", MONTHS[::3]),
        ("year,week", "{iso[0]},{iso[1]}", WEEKS),
        ("Date,Time", "{d:%d/%m/%Y},{d:%H:%M:%S}", HOURS),
        ("Date,Time", "{d:%m/%d/%Y},{d:%I:%M %p}", HOURS),
        ("Datum,Uhrzeit", "{d:%d.%m.%Y},{d:%H:%M}", HOURS),
        ("date,hhmm", "{d:%Y%m%d},{d:%H:%M}", HOURS),
        ("date,time", "{d:%Y-%m-%d},{d:%H%M}", HOURS),
        ("date,hour", "{d:%Y-%m-%d},{d.hour}", HOURS),
        ("date,hour,minute", "{d:%Y-%m-%d},{d.hour},{d.minute}", HOURS),
        ("y,m", "{d.year},{d.month:02d}", MONTHS),
        ("YEAR,MO,DY,HR", "{d.year},{d.month},{d.day},{d.hour}", HOURS),
        ("YY,MM,DD", "{d:%y},{d:%m},{d:%d}", DAYS),
        ("YEAR,DOY", "{d.year},{d.day_of_year}", DAYS),
        ("YEAR,DAY", "{d.year},{d.day_of_year}", DAYS),
        ("year,day_of_year", "{d.year},{d.day_of_year}", DAYS),
        ("Year,Q", "{d.year},{quarter}", MONTHS[::3]),
        ("Date,Hour Ending", "{d:%m/%d/%Y},{d.hour}", HOURS),
    ],
)
def test_times_in_several_columns(read, header, form, times):
    cells = [form.format(d=d, quarter=(d.month + 2) // 3, iso=d.isocalendar()) for d in times]
    series = read(f"{header},x", cells)
    assert series.values.tolist() == [*range(len(times))]
    assert series.times[0].startswith(str(times[0].year))
    assert series.notes[0].startswith("Times are read from the columns ")
    assert "newest first" in series.notes[-1]


def test_hours_from_1_to_24(read):
    cells = [f"{d:%Y-%m-%d},{d.hour + 1}" for d in HOURS]
    series = read("date,hour,x", cells)
    assert series.times[:1] + series.times[22:24] == [
        *("2024-01-30 01:00", "2024-01-30 23:00", "2024-01-31 00:00")
    ]


def test_columns_may_be_named_together(read):
    cells = [f"{d.month},{d.year}" for d in MONTHS]
    assert read("a,b,x", cells, time_column=["b", "a"]).times[-1] == "2020-06"
    assert read("a,b,x", cells, time_column=[2, 1]).step == "1MS"


@pytest.mark.parametrize(
    ("header", "cells", "labels", "step"),
    [
        ("ds,x", range(1, 31), ["1", "30"], "1"),
        ("t,x", range(0, 60, 2), ["0", "58"], "2"),
        ("t,x", range(1001, 1031), ["1001", "1030"], "1"),
        ("time,x", [f"{n / 10}" for n in range(30)], ["0", "2.9"], "0.1"),
        ("year,x", range(-3, 27), ["-3", "26"], "1"),
    ],
)
def test_numbers_may_count_the_time(read, header, cells, labels, step):
    series = read(header, cells)
    assert [series.times[0], series.times[-1], series.step] == [*labels, step]
    assert series.values.tolist() == [*range(30)]


def test_a_gap_in_a_count_is_a_gap_in_time(read):
    cells = [*range(1, 10), *range(12, 30)]
    with pytest.raises(RequestError, match="expected 10 after 9, got 12; task.missing=interp"):
        read("ds,x", cells)
    filled = read("ds,x", cells, missing="interpolate")
    assert filled.times[8:12] == ["9", "10", "11", "12"] and filled.filled.sum() == 2


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        (",x", range(30)),
        ("id,x", range(1, 31)),
        ("total,x", [n * n for n in range(30)]),
        ("name,x", [f"H{n}" for n in range(30)]),
        ("year of birth,x", [1950 + n % 7 for n in range(30)]),
        ("price,x", [2019.5 + n % 3 for n in range(30)]),
        ("no,x", ["yes", "no"] * 15),
        ("update,x", [f"{n % 4}" for n in range(30)]),
    ],
)
def test_without_a_time_column_a_note_says_so(read, header, cells):
    series = read(header, cells, newest_first=False)
    assert series.notes == ("No time column: rows are taken in file order.",)
    assert (series.times[-1], series.step) == ("29", None)
    assert read(header, cells, newest_first=False, time_column=None).notes == ()


@pytest.mark.parametrize(
    ("header", "cells", "words"),
    [
        ("Datum,x", ["soon", "later", "never"], "column 'Datum', row 2: expected a time in a"),
        ("foo,x", [f"WJ {n}/19" for n in range(1990, 1999)], "column 'foo', row 2: expected a"),
        ("id,x", range(30), "column 'id' falls from row to row, so the newest row may be the "
         "first: set task.time_column=id to sort by it, or task.time_column=null to take the rows"),
        ("month,x", [n % 12 + 1 for n in range(30)], "each time once, .*; task.time_column=null"),
        ("Uhrzeit,x", [f"{n % 24}:00" for n in range(30)], "row 2: expected a time in a"),
        ("date,x", [*range(20200101, 20200130), 20200132], "row 2: .* like 20200129, got"),
        ("date,x", ["2020-01-01", "02.01.2020", "2020-01-03"], "row 3: .* time like 2020-01"),
        ("date,x", ["2020-01-01T00:00Z", "2020-01-01T01:00"], "row 2: .* time like .*Z, got"),
        ("nr,Datum,x", [f"{n},Woche {n}" for n in range(9)], "column 'Datum', row 2: expected a t"),
        ("date,ds,x", [f"soon,{n}" for n in range(9)], "column 'date', row 2: expected a time in"),
        ("year,x", [f"{n} BC" for n in range(44, 4, -1)], "row 2: .* in a known format, got"),
    ],
)  # fmt: skip
def test_apparent_time_columns_are_read_or_refused(read, header, cells, words):
    with pytest.raises(RequestError, match=words) as refused:
        read(header, cells)
    assert "task.time_column=null" in str(refused.value)
    assert len(read(header, cells, time_column=None).values) == len(cells)


def test_a_column_named_like_a_time_has_priority(read):
    cells = [f"{n},{d:%Y-%m-%d},{d:%d.%m.%Y}" for n, d in enumerate(DAYS)]
    assert (
        read("count,note,Datum,x", cells)
        .notes[0]
        .endswith("column 'Datum': the rows are newest first, so they were sorted.")
    )
    dates = [f"{'2019-07-01' if n == 3 else ''},{d:%Y-%m-%d}" for n, d in enumerate(DAYS)]
    assert read("closed_date,when,x", dates).times[0] == "2019-12-25"


def test_a_name_of_several_columns_needs_a_number(read):
    cells = [f"{d:%Y-%m-%d},{n % 5}" for n, d in enumerate(DAYS)]
    for column in (None, "x"):
        with pytest.raises(RequestError, match=r"are named 'x' \(columns 2, 3\): choose one by"):
            read("date,x,x", cells, column=column)
    assert read("date,x,x", cells, column=2).values[:6].tolist() == [0, 1, 2, 3, 4, 0]
    assert read("date,n,x,n", [f"{c},1" for c in cells], column="x", newest_first=False).name == "x"
    with pytest.raises(RequestError, match="2 columns of .* are named 'date'"):
        read("date,date,x", [f"{d:%Y-%m-%d},{d:%Y-%m-%d}" for d in DAYS])


@pytest.mark.parametrize(
    "mark", [".", "?", "-", "--", "None", "#N/A", "N/A", "NA", "NaN", "null", "#VALUE!", "#NV", ""]
)
def test_marks_of_missing_numbers(read, mark):
    cells = [f"{d:%Y-%m-%d},{mark if n in (0, 3) else n / 2}" for n, d in enumerate(DAYS)]
    with pytest.raises(RequestError, match="first or the last row has a gap; task.missing"):
        read("date,y,x", cells, column="y", missing="interpolate")
    series = read("date,y,x", cells[1:], column="y", missing="interpolate")
    assert series.values[:4].tolist() == [0.5, 1, 1.5, 2] and series.filled.sum() == 1
    with pytest.raises(RequestError, match=r"row 28, .* task.missing=interpolate fills missing"):
        read("date,y,x", cells[1:], column="y")


def test_a_blank_row_may_be_a_missing_one_where_no_times_show_it(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("a,b\n1,2\n,\n3,4\n")
    with pytest.raises(RequestError, match="row 3 is blank, and no column of times shows"):
        read_series(path, "b", "auto")


def zoned(start, freq, periods=60, zone="Europe/Berlin"):
    return pd.date_range(start, periods=periods, freq=freq, tz=zone)


@pytest.mark.parametrize(
    ("times", "form", "step", "ends"),
    [
        (zoned("2018-01-31", "ME"), "%Y-%m-%dT%H:%M%z", "1MS", ["2018-01", "2022-12"]),
        (zoned("2024-03-01", "D"), "%Y-%m-%d %H:%M:%S%z", "1D", ["2024-03-01", "2024-04-29"]),
        (zoned("2024-01-01", "B", zone="Asia/Tokyo"), "%Y-%m-%d %H:%M%z", "B",
         ["2024-01-01", "2024-03-22"]),
        (zoned("2024-10-25", "h", 72), "%Y-%m-%d %H:%M %Z", "h",
         ["2024-10-25 00:00+02:00", "2024-10-27 22:00+01:00"]),
        (zoned("2024-03-30", "h"), "%Y-%m-%dT%H:%M%z", "h",
         ["2024-03-30 00:00+01:00", "2024-04-01 12:00+02:00"]),
        (zoned("2024-10-25", "h", 72), "%Y-%m-%d %H:%M Europe/Berlin", "h",
         ["2024-10-25 00:00+02:00[Europe/Berlin]", "2024-10-27 22:00+01:00[Europe/Berlin]"]),
        (zoned("2024-01-01", "h", zone="Asia/Kolkata"), "%Y-%m-%dT%H:%M%z", "h",
         ["2024-01-01 00:00+05:30", "2024-01-03 11:00+05:30"]),
        (zoned("2024-03-01", "D").tz_convert("UTC"), "%Y-%m-%dT%H:%MZ", "1D",
         ["2024-03-01", "2024-04-29"]),
        (zoned("2018-01-01", "MS").tz_convert("UTC"), "%Y-%m-%dT%H:%MZ", "1MS",
         ["2018-01", "2022-12"]),
    ],
)  # fmt: skip
def test_the_calendar_is_that_of_the_place(read, times, form, step, ends):
    newest_first = "Europe" not in form
    series = read("time,x", times.strftime(form), newest_first=newest_first)
    assert series.values.tolist() == [*range(len(times))]
    assert [series.step, series.times[0], series.times[-1]] == [step, *ends]


def test_clocks_that_were_put_back_double_times_without_an_offset_only(read):
    times = zoned("2024-10-26", "h", 50).strftime("%Y-%m-%d %H:%M")
    with pytest.raises(RequestError, match="both have 2024-10-27 02:00"):
        read("time,x", times)


@pytest.mark.parametrize(
    ("header", "cell"),
    [("q,x", "{n}.5"), ("mm,x", "{n}"), ("code,x", "{code}"), ("dd,x", "7")],
)
def test_short_names_and_row_numbers_are_not_times(read, header, cell):
    cells = [cell.format(n=n, code=200101 + n) for n in range(40)]
    assert read(header, cells, newest_first=False).notes[0].startswith("No time column")


def test_a_year_and_week_in_one_number_are_a_week(read):
    cells = [f"{d.isocalendar()[0]}{d.isocalendar()[1]:02d}" for d in WEEKS]
    assert (read("yearweek,x", cells).times[0], read("week,x", cells).step) == ("2019-11-04", "7D")
