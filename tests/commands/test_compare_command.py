"""`attnlab compare` and `attnlab plan` from the command line."""

from __future__ import annotations

import csv
import json

from click.testing import CliRunner
from compared_runs import BETTER, write_group
from run_folders import write_run

from attnlab.cli import main
from attnlab.commands import command


def invoke(runs, *words):
    return CliRunner().invoke(command("compare"), ["--runs", runs, *words], catch_exceptions=False)


def json_rows(runs, *words):
    return json.loads(invoke(runs, *words, "--format", "json").output)


def test_options_reach_the_comparison(runs):
    write_group(runs, "bahdanau", BETTER, task="fib", status={"sweep": "mine"})
    rows = json_rows(
        *(runs, "--task", "sunspots", "--by", "attention, model.cell", "--metric", "mae"),
        *("--where", "model.cell=gru", "--where", "seed=0,1", "--reference", "bahdanau, gru"),
        *("--attention", "none", "--attention", "bahdanau", "--geometric"),
    )
    assert [(row["attention"], row["model.cell"], row["n"]) for row in rows] == [
        *(("bahdanau", "gru", 2), ("none", "gru", 2))
    ]
    assert {(row["task"], row["metric"], row["reference"], "ratio" in row) for row in rows} == {
        ("sunspots", "mae", "bahdanau / gru", True)
    }
    (swept,) = json_rows(runs, "--sweep", "mine")
    assert swept["task"] == "fib"


def test_csv_is_clean_and_warnings_and_the_figure_go_to_standard_error(runs, tmp_path):
    write_run(runs, "none", 5, 1.0, config={"trainer.epochs": 7})
    write_run(runs, "none", 6, None, state="failed")
    figure = tmp_path / "new" / "figure.png"
    done = invoke(runs, "--format", "csv", "--plot", figure)
    table = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["trainer.epochs"] for row in table].count("7") == 1 and len(table) == 4
    split = "runs with the same attention differ in trainer.epochs"
    assert split in done.stderr and all(split in row["warnings"] for row in table)
    assert "left out: not completed: 1 failed" in done.stderr
    assert figure.read_bytes().startswith(b"\x89PNG") and str(figure) in done.stderr


def test_a_group_may_have_the_name_of_a_column(tmp_path):
    for keys in ("4", "16"):
        for attention in ("none", "bahdanau"):
            config = {"data.name": f"d{keys}", "data.keys": keys}
            write_run(tmp_path, attention, 0, 1.0, config=config)
    rows = json_rows(tmp_path, "--by", "data,attention", "--within", "data.keys")
    names = {(row["data"], row["data.name"]) for row in rows}
    assert names == {("keys=16", "d16"), ("keys=4", "d4")}


def test_the_table_of_plan_shows_the_number_of_seeds_needed(three_groups, capsys):
    assert main(["plan", "--runs", str(three_groups), "--difference", "2%"]) == 0
    out = capsys.readouterr().out
    assert "to find a difference of 2%" in out
    (row,) = [line.split() for line in out.splitlines() if "  bahdanau  " in line]
    assert row[:4] == ["sunspots", "bahdanau", "0.0212", "5"]
    assert "to find: a difference to no attention" in " ".join(out.split())
