"""`attnlab compare` from the command line."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner
from compared_runs import BETTER, write_group, write_run

from attnlab.commands import command
from attnlab.errors import RequestError


def invoke(runs, *arguments):
    words = ["--runs", str(runs), *map(str, arguments)]
    return CliRunner().invoke(command("compare"), words, catch_exceptions=False)


def streams(runs, *arguments):
    """Run the command; return standard output and standard error."""
    done = invoke(runs, *arguments)
    return done.stdout, done.stderr


def test_options_reach_the_comparison(runs):
    write_group(runs, "bahdanau", BETTER, task="fib", status={"sweep": "mine"})
    shown = invoke(
        *(runs, "--task", "sunspots", "--by", "attention, model.cell", "--metric", "mae"),
        *("--where", "model.cell=gru", "--where", "seed=0,1", "--reference", "bahdanau, gru"),
        *("--attention", "none", "--attention", "bahdanau"),
        *("--geometric", "--format", "json"),
    )
    rows = json.loads(shown.output)
    assert [(row["attention"], row["model.cell"], row["n"]) for row in rows] == [
        *(("bahdanau", "gru", 2), ("none", "gru", 2))
    ]
    for row in rows:
        assert (row["task"], row["metric"], row["reference"]) == (
            *("sunspots", "mae", "bahdanau / gru"),
        )
        assert "ratio" in row
    (swept,) = json.loads(invoke(runs, "--sweep", "mine", "--format", "json").output)
    assert swept["task"] == "fib"


def test_csv_is_clean_and_warnings_go_to_standard_error(runs):
    write_run(runs, "none", 5, 1.0, config={"trainer.epochs": 7})
    write_run(runs, "none", 6, None, state="failed")
    out, err = streams(runs, "--format", "csv")
    table = list(csv.DictReader(out.splitlines()))
    assert [row["trainer.epochs"] for row in table].count("7") == 1 and len(table) == 4
    split = "runs with the same attention differ in trainer.epochs"
    assert split in err and all(split in row["warnings"] for row in table)
    assert "left out: not completed: 1 failed" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--where", "model.cell"], "--where: expected KEY=VALUE .* got 'model.cell'"),
        (["--by", ","], "--by: expected config keys such as attention, got ','"),
        (
            ["--plot", "x.gif"],
            r"--plot: expected a file that ends with \.png, \.pdf, \.svg, got x\.gif",
        ),
        (["--runs", "nowhere"], "--runs: expected an existing folder, got 'nowhere'"),
        (["--runs", "/dev"], "--runs: there are no runs in '/dev'. Train"),
        (["--task", "sunspot"], "None of the 15 runs satisfies all filters. .* tasks: sunspots"),
    ],
    ids=str,
)
def test_a_wrong_request_is_one_sentence(three_groups, words, text):
    with pytest.raises(RequestError, match=text) as caught:
        invoke(three_groups, *words)
    assert "\n" not in str(caught.value)


def test_the_figure_is_drawn_and_named(three_groups, tmp_path):
    path = tmp_path / "new" / "figure.png"
    out, err = streams(three_groups, "--plot", path, "--format", "md")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in err and str(path) not in out


def test_a_group_may_have_the_name_of_a_column(tmp_path):
    for keys in ("4", "16"):
        for attention in ("none", "bahdanau"):
            config = {"data.name": f"d{keys}", "data.keys": keys}
            write_run(tmp_path, attention, 0, 1.0, config=config)
    words = "--by", "data,attention", "--within", "data.keys", "--format", "json"
    rows = json.loads(invoke(tmp_path, *words).output)
    names = {(row["data"], row["data.name"]) for row in rows}
    assert sorted(names) == [
        ("keys=16", "d16"),
        ("keys=4", "d4"),
    ]
