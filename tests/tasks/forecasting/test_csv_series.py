"""A CSV file is read in its declared form; anything else is refused in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.csv_series import Form, read_panel
from attnlab.tasks.forecasting.steps import find_step, season

NUMBERS = np.round(50 + 9 * np.sin(np.arange(40)), 2)


@pytest.fixture
def write(tmp_path):
    """Write a text to a file; returns the file."""

    def write(text: str, encoding: str = "utf-8"):
        path = tmp_path / "rows.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def table(times, numbers=NUMBERS, header="time,value", row="{},{}"):
    pairs = zip(times, numbers, strict=False)
    return "\n".join([header, *(row.format(*pair) for pair in pairs), ""])


def days(count=40, form="%Y-%m-%d", freq="D", start="2024-01-01"):
    return pd.date_range(start, periods=count, freq=freq).strftime(form).tolist()


def one(path, **form):
    """The only series of a file."""
    (series,) = read_panel(path, Form(**form)).series
    return series


ISO = {  # format -> freq, first label, next label
    "%Y": ("YS", "2024", "2064"),
    "%Y-%m": ("MS", "2024-01", "2027-05"),
    "%Y-%m-%d": ("QS", "2024-01", "2034-01"),
    "%Y%m%d": ("B", "2024-01-01", "2024-02-26"),
    "%Y-%m-%d %H:%M": ("15min", "2024-01-01T00:00", "2024-01-01T10:00"),
    "%Y-%m-%dT%H:%M:%S": ("h", "2024-01-01T00:00", "2024-01-02T16:00"),
    "%Y-%m-%d %H:%M:%S.%f": ("250ms", "2024-01-01T00:00:00.000000", "2024-01-01T00:00:10.000000"),
}


def test_times_in_iso_8601_are_read_and_continued(write):
    for form in ISO:
        freq, first, following = ISO[form]
        series = one(write(table(days(form=form, freq=freq))))
        assert series.values.tolist() == NUMBERS.tolist()
        assert series.times[0] == first and series.labels(1) == [following]
        assert series.step == pd.tseries.frequencies.to_offset(series.step).freqstr


def test_steps_that_pandas_names_are_continued(write):
    for freq in ["W-MON", "W-SUN", "ME", "BME", "2MS", "QE-DEC", "7min", "3D"]:
        times = pd.date_range("2024-01-01", periods=44, freq=freq)
        series = one(write(table(times[:40])))
        assert pd.DatetimeIndex(series.labels(4)).equals(times[40:])
        earlier = series.labels(0, before=40)
        assert pd.DatetimeIndex(earlier).equals(times[:40])


def test_a_declared_format_is_read(write):
    for time_format, freq in [("%d.%m.%Y", "D"), ("%m/%d/%Y %I:%M:%S %p", "h"), ("%b %Y", "MS")]:
        times = days(form=time_format, freq=freq)
        expected = one(write(table(days(freq=freq, form="%Y-%m-%d %H:%M")))).times
        assert one(write(table(times)), time_format=time_format).times == expected
        with pytest.raises(RequestError, match=rf"line 2: task\.time_column.* got '{times[0]}'"):
            one(write(table(times)))


def test_a_format_that_leaves_something_open_is_refused(write):
    for time_format in ["mixed", "%d.%m.%y", "%d %b", "%Y-%m-%d%z", "%Y-W%V"]:
        with pytest.raises(RequestError, match=r"task\.time_format: "):
            one(write(table(days())), time_format=time_format)


NO_TIMES = ["202401", "2024-1", "2024-02-30", "2024-W05", "2024-01-05 24:00", "1.5.2024", ""]
NO_TIMES += ["Jan 2024", "1704067200", "2024-05-01T00:00Z"]


def test_a_time_of_another_form_is_refused_with_line_and_cell(write):
    for time in NO_TIMES:
        times = days()
        times[20] = time
        path = write(table(times))
        with pytest.raises(RequestError, match="line 22: task.time_column: expected a") as error:
            one(path)
        assert f"{time!r}; task.time_format" in str(error.value)


def test_rows_are_sorted_and_a_note_says_so(write):
    at = np.random.default_rng(1).permutation(40)
    panel = read_panel(write(table(np.array(days())[at], NUMBERS[at])), Form())
    assert panel.series[0].values.tolist() == NUMBERS.tolist()
    assert "not in order of time, so they were sorted" in panel.notes[0]
    assert read_panel(write(table(days())), Form()).notes == []


def test_a_time_that_occurs_twice_is_refused(write):
    times = days()
    times[9] = times[3]
    with pytest.raises(RequestError, match=r"line 11: .*got 2024-01-04 .* line 5; .*id_column"):
        one(write(table(times)))


def test_missing_rows_and_times_between_two_steps_are_refused(write):
    for freq in ["D", "MS", "h", "W-MON"]:
        times = days(form="%Y-%m-%d %H:%M", freq=freq)
        path, gap = write(table([*times[:6], *times[10:]])), f"{times[5]}:00 to {times[10]}"
        with pytest.raises(RequestError, match=f"line 8: .* gap is from {gap}"):
            one(path)
        times[20] = times[20][:-1] + "7"
        with pytest.raises(RequestError, match="expected equally spaced times"):
            one(write(table(times)))


def test_a_cell_that_is_no_number_is_refused_with_line_cell_and_setting(write):
    for decimal, cell in [
        *(("point", cell) for cell in ("1,5", "12%", "1 000", "inf", "0x1F", "1e999", "", "١")),
        *(("comma", cell) for cell in ("1.5", "1.234,5", "1,2,3")),
    ]:
        mark = "," if decimal == "comma" else "."
        numbers = [str(number).replace(".", mark) for number in NUMBERS]
        form = {"decimal": decimal, "separator": "semicolon"}
        text = {"header": "time;value", "row": "{};{}"}
        values = one(write(table(days(), numbers, **text)), **form).values
        assert values.tolist() == NUMBERS.tolist()
        numbers[30] = cell
        with pytest.raises(RequestError, match=r"line 32: expected a number") as error:
            one(write(table(days(), numbers, **text)), **form)
        assert repr(cell) in str(error.value) and f"task.decimal={decimal}" in str(error.value)


def test_a_file_of_another_form_is_refused(write):
    for text, words in [
        ("time;value\n2024-01-01;1,5\n", r"line 2: expected 1 cells .*task\.separator=comma"),
        ("time;value\n2024-01-01;1\n", "expected a number .* got '2024-01-01;1'"),
        ("time,value,value\n2024-01-01,1,2\n", r"task\.column: expected one column"),
        ('time,value\n2024-01-01,"1\n2024-01-02,2\n', "line 3: not CSV: unexpected end"),
        ('time,value,x\n2024-01-01,1,"a\n2024-01-02,2,b"\n', "line 2: .* line break in a cell"),
        ("time,value\n2024-01-01,1\n\n2024-01-02,2\n", "line 3: expected a row, got an empty line"),
        ("time,value\n2024-01-01,1\n2024-01-02\n", "line 3: expected 2 cells"),
        ("2024-01-01,1\n2024-01-02,2\n", "line 1: task.time_column: expected the names"),
        ("time,0\n2024-01-01,1\n", "line 1: task.column: .* columns, got 0"),
        ("time,value,more\n2024-01-01,1,2\n", r"task\.column: .* 1 'time', 2 'value', 3 'more'"),
        ("", "expected rows, got an empty file"),
    ]:
        with pytest.raises(RequestError, match=words):
            one(write(text))


def test_columns_are_chosen_by_name_first_or_by_position(write):
    path = write(table(days(), header="time,2,1", row="{0},{1},7"))
    assert one(path, column=2).values[0] == NUMBERS[0]  # the name 2
    assert one(path, column="1", inputs=[2]).columns[0].tolist() == [7, NUMBERS[0]]
    assert one(path, column="1", time_column="time").values[0] == 7
    for form in ({"column": "x"}, {"column": 4}, {"column": 2, "inputs": ["-1"]}):
        with pytest.raises(RequestError, match="by position and name: 1 'time', 2 '2'"):
            one(path, **form)
    with pytest.raises(RequestError, match=r"task\.id_column: expected one column that no other"):
        one(path, column=2, id_column="time")


def test_files_in_order_of_time_are_read_as_they_are_with_a_note(write):
    alone, dated = "value\n" + "\n".join(map(str, NUMBERS)), table(days())
    for text, form in ((alone, {}), (dated, {"time_column": None, "column": 2})):
        panel = read_panel(write(text), Form(**form))
        assert panel.series[0].times[:2] == ["0", "1"] and panel.series[0].labels(2) == ["+1", "+2"]
        assert "the order of the rows is taken as that of time" in panel.notes[0]


def test_the_season_of_a_step():
    for freq, steps in [
        *(("MS", 12), ("ME", 12), ("2MS", 6), ("QS-JAN", 4), ("QE-DEC", 4), ("W-MON", 52)),
        *(("D", 7), ("B", 5), ("h", 24), ("15min", 96), ("2D", None), ("YS-JAN", None)),
        *(("7h", None), ("2W-SUN", None), ("5MS", None)),
    ]:
        assert season(freq) == steps
        assert find_step(pd.date_range("2024-01-01", periods=30, freq=freq)) == freq
