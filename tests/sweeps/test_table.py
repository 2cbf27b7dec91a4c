"""The table of a sweep: complete in table.csv, narrow on the terminal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from attnlab.sweeps.table import Progress, TableRow, csv_text, print_table

RESULTS = {"monitor": "val_loss", "best": 0.125, "metric": "rmse", "test": 2.5, "seconds": 3.0}


def row(number: int, results=RESULTS, **changes) -> TableRow:
    values = {
        "task": "fib",
        "varying": {"attention": "none", "optimizer.learning_rate": f"0.{number}"},
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


def test_a_long_table_is_cut_and_names_the_full_file(tmp_path, printed):
    rows = [row(number, state="killed" if number == 70 else "completed") for number in range(100)]
    shown = printed(rows, [77], tmp_path / "table.csv")
    assert [line.split()[0] for line in shown[-3:-1]] == ["70", "77"]
    assert shown[-1] == f"38 more rows: {tmp_path / 'table.csv'}"


def test_table_csv_has_everything():
    failed = row(2, {}, state="failed", error="the loss,\nis inf", path=Path("/runs/x"))
    first, second = csv.DictReader(io.StringIO(csv_text([row(1), failed])))
    assert first == {
        **{"number": "1", "attention": "none", "optimizer.learning_rate": "0.1"},
        **{"state": "completed", "error": "", "folder": ""},
        **{name: str(value) for name, value in RESULTS.items()},
    }
    assert (second["error"], second["folder"]) == ("the loss,\nis inf", "/runs/x")


def test_without_a_terminal_epochs_have_a_line_at_most_every_ten_seconds(capfd):
    with Progress("mine", total=2, done=1) as progress:
        for epoch in (1, 2, 1, 3):
            progress.on_epoch({"epoch": epoch})
        progress.ended(row(1))
    first, last = capfd.readouterr().err.splitlines()
    assert first == "attnlab: 1/2  epoch 1" and last.startswith("attnlab: 2/2  attention=none")
