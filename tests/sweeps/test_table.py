"""The table of a sweep: complete in table.csv, narrow on the terminal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from attnlab.sweeps.table import TableRow, csv_text, print_table

RESULTS = {"monitor": "val_loss", "best": 0.125, "metric": "rmse", "test": 2.5, "seconds": 3.0}
TRANSLATION = {"monitor": "val_bleu", "best": 12.0, "metric": "bleu", "test": 11.0, "seconds": 60.0}


def row(number: int, results=RESULTS, **changes) -> TableRow:
    values = {
        "task": "fib",
        "varying": {"attention": "none", "optimizer.learning_rate": f"0.{number}"},
        "label": f"run {number}",
        "state": "completed",
    }
    return TableRow(number, results=results, **{**values, **changes})


@pytest.fixture
def printed(capsys):
    def printed(rows, *args) -> list[str]:
        print_table(rows, *args)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]

    return printed


def test_the_table_shows_varied_settings_and_results(printed):
    failed = row(2, {}, state="failed", error="the loss is inf", path=Path("/runs/x"))
    lines = printed([row(1), failed], [1])
    assert lines[0].split() == [
        *("#", "attention", "learning_rate", "state"),
        *("best", "val_loss", "test", "rmse", "seconds"),
    ]
    assert lines[2].split() == ["1", "none", "0.1", "completed", "0.1250", "2.500", "3.0"]
    assert lines[3].split() == ["2", "none", "0.2", "failed", "-", "-", "-"]


def test_metrics_that_differ_are_named(printed):
    lines = printed([row(1), row(2, TRANSLATION, task="translate")], [1])
    assert " best val_bleu or val_loss  test bleu or rmse  seconds" in lines[0]
    assert lines[2].split()[-3:] == ["0.1250", "2.500", "3.0"]


def test_long_values_and_many_keys_fit_a_hundred_columns(printed):
    keys = ["model.units", "model.cell", "attention", "task", "data", "schedule", "optimizer.beta"]
    wide = row(1, varying={key: f"{key}_with_a_very_long_value_indeed" for key in keys})
    assert max(map(len, printed([wide], [1]))) <= 100


def test_keys_with_equal_last_names_are_distinguished(printed):
    both = row(1, varying={"model.units": "4", "attention.units": "8"})
    assert printed([both], [])[0].split()[1:3] == ["model.units", "attention.units"]


def test_a_long_table_is_cut_and_names_the_full_file(tmp_path, printed):
    rows = [row(number) for number in range(100)]
    lines = printed(rows, [], tmp_path / "table.csv")
    assert lines[-1] == f"40 more rows: {tmp_path / 'table.csv'}"
    shown = printed(rows, [77], tmp_path / "table.csv")
    assert shown[-2].split()[0] == "77" and shown[-1].startswith("39 more rows: ")


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


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (row(1), "run 1: val_loss 0.125, test rmse 2.5, 3.0 s"),
        (row(2, {"best": None, "metric": "rmse", "test": 0.25}), "run 2: test rmse 0.25"),
        (row(3, {}, state="failed", error="the loss is inf"), "run 3: failed: the loss is inf."),
        (row(4, {}, state="pruned", error="given up"), "run 4: given up"),
        (row(5, {}, state="killed"), "run 5: killed"),
    ],
)
def test_an_outcome_is_one_line(entry, text):
    assert entry.outcome == text
