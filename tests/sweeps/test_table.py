"""The table of a sweep: complete in table.csv, narrow on the terminal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from attnlab.sweeps.progress import duration
from attnlab.sweeps.table import TableRow, csv_text, print_table, result_words

RESULTS = {"monitor": "val_loss", "best": 0.125, "metric": "rmse", "test": 2.5, "seconds": 3.0}
TRANSLATION = {"monitor": "val_bleu", "best": 12.0, "metric": "bleu", "test": 11.0, "seconds": 60.0}


def row(number: int, results=RESULTS, **changes) -> TableRow:
    values = {
        "task": "fib",
        "varying": {"attention": "none", "optimizer.learning_rate": f"0.{number}"},
        "state": "completed",
    }
    return TableRow(number, results=results, **{**values, **changes})


def printed(rows, *args) -> list[str]:
    file = io.StringIO()
    print_table(rows, *args, file=file)
    return [line.rstrip() for line in file.getvalue().splitlines() if line.strip()]


def test_what_varies_and_what_came_out():
    failed = row(2, {}, state="failed", error="the loss is inf", path=Path("/runs/x"))
    lines = printed([row(1), failed], [1])
    assert lines[0].split() == [
        *("#", "attention", "learning_rate", "state"),
        *("best", "val_loss", "test", "rmse", "seconds"),
    ]
    assert lines[2].split() == ["1", "none", "0.1", "completed", "0.125", "2.5", "3.0"]
    assert lines[3].split() == ["2", "none", "0.2", "failed", "-", "-", "-"]


def test_metrics_that_differ_are_named_in_each_row():
    lines = printed([row(1), row(2, TRANSLATION, task="translate")], [1])
    assert lines[0].split()[-3:] == ["best", "test", "seconds"]
    assert "val_loss 0.125" in lines[2] and "bleu 11" in lines[3]


def test_long_values_and_many_keys_fit_a_hundred_columns():
    keys = ["model.units", "model.cell", "attention", "task", "data", "schedule", "optimizer.beta"]
    wide = row(1, varying={key: f"{key}_with_a_very_long_value_indeed" for key in keys})
    assert max(map(len, printed([wide], [1]))) <= 100


def test_keys_of_one_name_are_told_apart():
    both = row(1, varying={"model.units": "4", "attention.units": "8"})
    assert printed([both], [])[0].split()[1:3] == ["model.units", "attention.units"]


def test_a_long_table_is_cut_and_says_where_the_rest_is(tmp_path):
    rows = [row(number) for number in range(100)]
    lines = printed(rows, [], tmp_path / "table.csv")
    assert lines[-1] == f"40 more rows: {tmp_path / 'table.csv'}"
    assert len(printed(rows, [])) == 102
    shown = printed(rows, [77], tmp_path / "table.csv")
    assert shown[-2].split()[0] == "77" and shown[-1].startswith("39 more rows: ")


def test_jobs_that_were_not_run_take_no_room():
    assert len(printed([row(1), row(2, {}, state="not run")], [])) == 3
    assert printed([row(1, {}, state="not run")], []) == []


def test_table_csv_has_everything():
    failed = row(2, {}, state="failed", error="the loss,\nis inf", path=Path("/runs/x"))
    first, second = csv.DictReader(io.StringIO(csv_text([row(1), failed])))
    assert first == {
        "number": "1",
        "attention": "none",
        "optimizer.learning_rate": "0.1",
        "state": "completed",
        "monitor": "val_loss",
        "best": "0.125",
        "metric": "rmse",
        "test": "2.5",
        "seconds": "3.0",
        "error": "",
        "folder": "",
    }
    assert (second["error"], second["folder"]) == ("the loss,\nis inf", "/runs/x")


def test_a_result_in_a_line():
    assert result_words(RESULTS) == "val_loss 0.125, test rmse 2.5, 3.0 s"
    assert result_words({"best": None, "metric": "rmse", "test": 0.25}) == "test rmse 0.25"


def test_durations():
    assert [duration(seconds) for seconds in (0.4, 59, 61, 601, 3700)] == [
        "0 s",
        "59 s",
        "1 min 1 s",
        "10 min",
        "1 h 1 min",
    ]
