"""The table of a sweep: complete in table.csv, narrow on the terminal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from attnlab.sweeps.progress import Progress
from attnlab.sweeps.table import TableRow, csv_text, print_table, result_words

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


def printed(rows, *args) -> list[str]:
    file = io.StringIO()
    print_table(rows, *args, file=file)
    return [line.rstrip() for line in file.getvalue().splitlines() if line.strip()]


def test_the_table_shows_varied_settings_and_results():
    failed = row(2, {}, state="failed", error="the loss is inf", path=Path("/runs/x"))
    lines = printed([row(1), failed], [1])
    assert lines[0].split() == [
        *("#", "attention", "learning_rate", "state"),
        *("best", "val_loss", "test", "rmse", "seconds"),
    ]
    assert lines[2].split() == ["1", "none", "0.1", "completed", "0.1250", "2.500", "3.0"]
    assert lines[3].split() == ["2", "none", "0.2", "failed", "-", "-", "-"]


def test_metrics_that_differ_are_named_in_each_row():
    lines = printed([row(1), row(2, TRANSLATION, task="translate")], [1])
    assert lines[0].split()[-3:] == ["best", "test", "seconds"]
    assert "val_loss 0.1250" in lines[2] and "bleu 11" in lines[3]


def test_long_values_and_many_keys_fit_a_hundred_columns():
    keys = ["model.units", "model.cell", "attention", "task", "data", "schedule", "optimizer.beta"]
    wide = row(1, varying={key: f"{key}_with_a_very_long_value_indeed" for key in keys})
    assert max(map(len, printed([wide], [1]))) <= 100


def test_keys_with_equal_last_names_are_distinguished():
    both = row(1, varying={"model.units": "4", "attention.units": "8"})
    assert printed([both], [])[0].split()[1:3] == ["model.units", "attention.units"]


def test_a_long_table_is_cut_and_names_the_full_file(tmp_path):
    rows = [row(number) for number in range(100)]
    lines = printed(rows, [], tmp_path / "table.csv")
    assert lines[-1] == f"40 more rows: {tmp_path / 'table.csv'}"
    assert len(printed(rows, [])) == 102
    shown = printed(rows, [77], tmp_path / "table.csv")
    assert shown[-2].split()[0] == "77" and shown[-1].startswith("39 more rows: ")


def test_jobs_that_were_not_run_have_no_rows():
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


@pytest.mark.parametrize("count", [2, 9])
def test_running_runs_have_a_bar_each_or_one_if_they_are_many(tmp_path, count):
    rows = []
    for number in range(count):
        path = tmp_path / str(number)
        path.mkdir()
        values = [] if number == 1 else ["1,nan", "2,0.5", f"3,0.{number + 1}"]
        (path / "history.csv").write_text("\n".join(["epoch,val_loss", *values, ""]))
        epoch = len(values)
        rows.append(row(number, {}, state="running", path=path, epoch=epoch, epochs=4))
    shown = Progress("mine", 20, 0, lambda noted: [])
    shown._show_running(rows)
    _, *bars = shown._bars.tasks
    found = [(b.description, b.completed, b.total, b.fields["unit"]) for b in bars]
    if count == 2:
        whole = "  run 0", 3, 4, "epochs, val_loss 0.1"
        assert found == [whole, ("  run 1", 0, 4, "epochs")]
    else:
        assert found == [("  9 running", 24, 36, "epochs, val_loss 0.1 to 0.9")]
    shown._show_running([])
    assert len(shown._bars.tasks) == 1


def test_without_bars_a_line_counts_running_runs(monkeypatch, capsys):
    monkeypatch.setattr("attnlab.sweeps.progress._SECONDS_BETWEEN_LINES", 0.0)
    rows = [row(1, {}, state="running", epoch=1, epochs=2), row(2, {}, state="not run")]
    shown = Progress("mine", 3, 1, lambda noted: rows)
    shown._take_in()
    rows[1] = row(2, {}, state="running", epochs=5, task="sunspots")
    shown._take_in()
    rows.clear()
    shown._take_in()
    assert capsys.readouterr().err.splitlines() == [
        "attnlab: run 1: 1/2 epochs",
        "attnlab: 2 running: 1/7 epochs",
    ]


def test_ended_runs_are_reported_once_and_a_failed_look_is_ignored(capsys):
    tables = [
        [row(1, {}, state="killed"), row(2, {}, state="not run")],
        OSError("no storage"),
        [row(1, {}, state="killed"), row(2, {}, state="running", epoch=1, epochs=2)],
        [row(1, {}, state="failed", error="no"), row(2, {}, state="pruned", error="hopeless")],
        [row(1, {}, state="failed", error="no"), row(2, {}, state="pruned", error="hopeless")],
    ]

    def look(noted):
        found = tables.pop(0)
        if isinstance(found, OSError):
            raise found
        return found

    shown = Progress("mine", 3, 1, look)
    with shown:
        for _ in range(3):
            shown._take_in()
    assert capsys.readouterr().err.splitlines() == [
        "attnlab: 2/3  run 1: failed: no.",
        "attnlab: 3/3  run 2: hopeless",
    ]
