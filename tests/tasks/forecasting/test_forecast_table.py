"""Forecasts written like the run's own file: separator, marks, names, dates; and as a workbook."""

from __future__ import annotations

import io
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest
from click.testing import CliRunner
from openpyxl import load_workbook

from attnlab.commands import command
from attnlab.errors import RequestError
from attnlab.tasks.forecasting import predictor
from attnlab.tasks.forecasting.data.csv_series import read_panel, read_series
from attnlab.tasks.forecasting.data.origin import Origin
from attnlab.tasks.forecasting.data.reading.rows import Reading
from attnlab.tasks.forecasting.data.times import time_of
from attnlab.tasks.forecasting.data.writing.layout import Layout
from attnlab.tasks.forecasting.data.writing.spelling import Spelling
from attnlab.tasks.forecasting.data.writing.table import Ahead, csv_of, lines
from attnlab.tasks.forecasting.data.writing.workbook import workbook

DAYS = [datetime(2019, 12, 5) + timedelta(days=day) for day in range(60)]
MONTHS = [datetime(2018 + month // 12, month % 12 + 1, 1) for month in range(30)]
GERMAN = "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez".split()


@pytest.mark.parametrize(
    "form", ["%d.%m.%Y", "%Y%m%d", "%m/%d/%y", "%a, %d %b %Y", "%Y-%m-%dT00:00:00Z", "%G-W%V-%u"]
)
def test_days_are_written_as_the_file_writes_them(form):
    found = Spelling.learn(DAYS, [day.strftime(form) for day in DAYS])
    later = datetime(2021, 1, 2)
    assert Spelling.from_json(found.to_json()).write(later) == later.strftime(form)


@pytest.mark.parametrize(
    ("written", "later"),
    [
        (lambda t: f"{GERMAN[t.month - 1]} {t.year}", "Mär 2024"),
        (lambda t: f"{t.year}M{t.month:02d}", "2024M03"),
        (lambda t: f"{t.month}/1/{t.year}", "3/1/2024"),
        (lambda t: f"15.{t.month:02d}.{t.year}", "15.03.2024"),
        (lambda t: f"{(t + timedelta(31)).replace(day=1) - timedelta(1):%Y-%m-%d}", "2024-03-31"),
    ],
)
def test_months_are_written_as_the_file_writes_them(written, later):
    found = Spelling.learn(MONTHS, [*map(written, MONTHS)])
    assert found.write(datetime(2024, 3, 1)) == later


def test_words_missing_in_the_file_are_not_invented():
    few = MONTHS[:3]
    assert Spelling.learn(few, [GERMAN[t.month - 1] for t in few]).write(MONTHS[5]) is None


@pytest.mark.parametrize(
    ("label", "time"),
    [
        ("2020", datetime(2020, 1, 1)),
        ("2020-Q3", datetime(2020, 7, 1)),
        ("2020-07-31 14:00+02:00[Europe/Berlin]", datetime(2020, 7, 31, 14)),
        ("61", None),
        ("+1", None),
    ],
)
def test_labels_of_series_are_times(label, time):
    assert time_of(label) == time


def ahead(last="2020-02-02", step="1D", ids=(), start=1234.5):
    values = start + np.arange(3.0)
    origin = Origin(np.zeros((4, 1)), (), ids, last, step)
    columns = {"forecast": values, "low": values - 1.5, "high": np.array([*values[:2] + 2, np.nan])}
    return Ahead(origin, origin.labels(3), columns)


def test_the_table_for_a_german_spreadsheet_has_its_format(tmp_path):
    path = tmp_path / "kasse.csv"
    days = [f"{day:%d.%m.%Y};{1000 + at},{at % 10}" for at, day in enumerate(DAYS)]
    path.write_text("\n".join(["Tag;Umsatz", *days[::-1]]), encoding="cp1252")
    series = read_series(path, None, "auto")
    text = csv_of([ahead(series.times[-1], series.step)], series.layout)
    assert text.splitlines() == [
        "Tag;Umsatz;low;high",
        "03.02.2020;1234,50;1233,00;1236,50",
        "04.02.2020;1235,50;1234,00;1237,50",
        "05.02.2020;1236,50;1235,00;",
    ]
    (tmp_path / "next.csv").write_text(text)
    again = read_series(tmp_path / "next.csv", "Umsatz", "auto")
    assert again.values.tolist() == [1234.5, 1235.5, 1236.5] and again.times[0] == "2020-02-03"


@pytest.mark.parametrize(
    ("encoding", "given"),
    [("shift_jis", "shift_jis"), ("utf-16", None), ("utf-8-sig", None), ("utf-8", None)],
)
def test_forecasts_have_the_encoding_that_the_file_was_read_in(tmp_path, encoding, given):
    path = tmp_path / "sales.csv"
    path.write_text("日付,売上\n2020-01,1\n2020-02,2\n2020-03,3\n", encoding=encoding)
    layout = read_series(path, None, "auto", Reading(encoding=given)).layout
    assert (layout.encoding, layout.value) == (encoding, "売上")


def test_columns_of_ids_and_of_parts_of_times_are_those_of_the_file(tmp_path):
    path = tmp_path / "shops.csv"
    rows = [f"{s}\t{i}\t{t.year}\t{t.month}\t7.5" for s in "xy" for i in (1, 2) for t in MONTHS]
    path.write_text("\n".join(["shop\titem\tyear\tmonth\tlow", *rows]))
    found = read_panel(path, "low", ["year", "month"], Reading(ids=["shop", "item"]))
    shown = [ahead(each.times[-1], each.step, each.ids) for each in found[::3]]
    header, first, *_, last = csv_of(shown, found[0].layout).splitlines()
    assert header == "shop\titem\tyear\tmonth\tlow\tlow low\thigh"
    assert first.split("\t") == ["x", "1", "2020", "7", "1234.50", "1233.00", "1236.50"]
    assert last.split("\t")[:4] == ["y", "2", "2020", "9"]


def test_lines_for_people_have_the_id_first():
    assert [*lines([ahead(ids=("b", "7"))])][0] == "b/7\t2020-02-03\t1234.5\t1233\t1236.5"


def test_a_workbook_has_real_dates_and_numbers():
    content = workbook([ahead(ids=("b",)), ahead(ids=("c",))], Layout("sales", ids=("shop",)))
    sheet = load_workbook(io.BytesIO(content)).active
    assert [cell.value for cell in sheet[1]] == ["shop", "time", "sales", "low", "high"]
    assert [cell.value for cell in sheet[2]] == ["b", datetime(2020, 2, 3), 1234.5, 1233, 1236.5]
    assert sheet[4][4].value is None and sheet.max_row == 7
    assert sheet[2][1].is_date and sheet[2][2].number_format == "0.00"


@pytest.mark.parametrize("name", ["next.xls", "next.ods", "next.json"])
def test_files_of_other_programs_are_refused(name):
    with pytest.raises(RequestError, match=r"--csv: expected a file that ends with .csv or .xlsx"):
        predictor._check_table(name)


def test_without_openpyxl_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(RequestError, match=r"pip install 'attnlab\[excel\]'"):
        predictor._check_table("next.xlsx")


def test_help_has_the_option():
    assert "--id NAME" in CliRunner().invoke(command("forecast"), ["--help"]).output
