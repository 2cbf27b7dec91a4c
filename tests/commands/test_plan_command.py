"""`attnlab plan` from the command line."""

from __future__ import annotations

import csv
import json

import pytest
from compared_runs import write_run

from attnlab.cli import main


def plan(runs, capsys, *words):
    """Exit code, standard output and standard error."""
    code = main(["plan", "--runs", str(runs), *words])
    return code, *capsys.readouterr()


def test_the_table_shows_the_number_of_seeds_needed(three_groups, capsys):
    code, out, err = plan(three_groups, capsys, "--difference", "2%", "--by", "attention")
    assert (code, err) == (0, "")
    assert "to find a difference of 0.0212 (2%) to no attention" in out
    assert "alpha 0.05 / 2 (the first step of Holm" in " ".join(out.split())


def test_options_reach_the_plan(three_groups, capsys):
    words = ["--where", "seed=0,1,2", "--metric", "mae", "--reference", "pooling", "--geometric"]
    words += ["--difference", "5%", "--power", "0.9", "--alpha", "0.01", "--format", "json"]
    (task,) = json.loads(plan(three_groups, capsys, *words)[1])["tasks"]
    assert (task["metric"], task["reference"], task["geometric"]) == ("mae", "pooling", True)
    assert (task["power"], task["alpha"], task["level"]) == (0.9, 0.01, 0.005)
    assert [each["shared_seeds"] for each in task["groups"]] == [3, 3]


@pytest.mark.parametrize("form", ["md", "latex", "csv"])
def test_every_format_has_every_group(three_groups, capsys, form):
    code, out, err = plan(three_groups, capsys, "--difference", "0.02", "--format", form)
    assert (code, err) == (0, "")
    assert len([line for line in out.splitlines() if "bahdanau" in line]) == 1


def test_csv_is_clean_and_warnings_go_to_standard_error(runs, capsys):
    write_run(runs, "none", 5, 1.0, config={"trainer.epochs": 7})
    code, out, err = plan(runs, capsys, "--difference", "0.02", "--format", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0 and {row["trainer.epochs"] for row in rows} == {"30", "7"}
    assert "attnlab: runs with the same attention differ in trainer.epochs" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Missing option '--difference'"),
        (["--difference", "0"], "--difference=0: must be a number above 0"),
        (["--difference", "1", "--power", "2"], "--power=2: must be between --alpha"),
        (["--difference", "1", "--power", "much"], "'much' is not a valid float"),
        (["--difference", "1", "--metric", "rms"], "Did you mean rmse?"),
        (
            ["--difference", "1", "--where", "seed=0"],
            "two seeds. sunspots: seeds shared with no attention",
        ),
        (["--difference", "1", "--task", "fib"], "--task: none of the 15 runs has task fib"),
    ],
    ids=str,
)
def test_a_wrong_request_is_one_sentence_and_exit_code_2(three_groups, capsys, words, text):
    code, out, err = plan(three_groups, capsys, *words)
    assert (code, out) == (2, "")
    assert text in err and err.count("\n") == 1
