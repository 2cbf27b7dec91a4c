"""`attnlab compare` as its users have it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner
from compared_runs import BETTER, NONE, write_group, write_run

from attnlab.commands import command
from attnlab.errors import RequestError


@pytest.fixture
def runs(tmp_path):
    write_group(tmp_path, "none", NONE)
    write_group(tmp_path, "bahdanau", BETTER)
    return tmp_path


def invoke(runs, *arguments):
    words = ["--runs", str(runs), *map(str, arguments)]
    return CliRunner().invoke(command("compare"), words, catch_exceptions=False)


def streams(runs, capsys, *arguments):
    """What goes to standard output and what to standard error."""
    words = ["--runs", str(runs), *map(str, arguments)]
    command("compare").main(words, standalone_mode=False)
    return capsys.readouterr()


def test_a_table_says_which_is_better(runs):
    shown = invoke(runs)
    assert shown.exit_code == 0
    (line,) = [line for line in shown.output.splitlines() if "better  " in line]
    assert line.startswith("bahdanau   5  -0.102 [-0.118, -0.086]")


def test_options_reach_the_comparison(runs):
    write_group(runs, "bahdanau", BETTER, task="fib", status={"sweep": "mine"})
    shown = invoke(
        *(runs, "--task", "sunspots", "--by", "attention, model.cell", "--metric", "mae"),
        *("--where", "model.cell=gru", "--where", "seed=0,1", "--reference", "bahdanau, gru"),
        *("--geometric", "--format", "json"),
    )
    (task,) = json.loads(shown.output)["tasks"]
    assert (task["task"], task["metric"], task["geometric"]) == ("sunspots", "mae", True)
    assert (task["by"], task["reference"]) == (["attention", "model.cell"], "bahdanau / gru")
    assert [group["n"] for group in task["groups"]] == [2, 2]
    swept = json.loads(invoke(runs, "--sweep", "mine", "--format", "json").output)
    assert [each["task"] for each in swept["tasks"]] == ["fib"]


def test_csv_is_clean_and_warnings_go_to_standard_error(runs, capsys):
    write_run(runs, "none", 5, 1.0, config={"trainer.epochs": 7})
    write_run(runs, "none", 6, None, state="failed")
    out, err = streams(runs, capsys, "--format", "csv")
    assert len(out.splitlines()) == 3
    assert "trainer.epochs differs" in err
    assert "left out: not completed: 1 failed" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--where", "model.cell"], "--where: expected KEY=VALUE .* got 'model.cell'"),
        (["--where", "seed=0", "--where", "seed=1"], "--where: expected each key once, got seed"),
        (["--by", ","], "--by: expected config keys such as attention, got ','"),
        (["--plot", "x.gif"], r"--plot: expected a file of \.png, \.pdf, \.svg, got 'x\.gif'"),
        (["--runs", "nowhere"], "--runs: expected an existing folder, got 'nowhere'"),
    ],
    ids=str,
)
def test_a_wrong_request_is_one_sentence(runs, words, text):
    with pytest.raises(RequestError, match=text) as caught:
        invoke(runs, *words)
    assert "\n" not in str(caught.value)


def test_a_figure_that_cannot_be_written_is_named(runs):
    (runs / "file").write_text("")
    with pytest.raises(RequestError, match="--plot: expected a file that can be written, got"):
        invoke(runs, "--plot", runs / "file" / "x.png")


def test_the_figure_is_drawn_and_named(runs, tmp_path, capsys):
    path = tmp_path / "figure.svg"
    out, err = streams(runs, capsys, "--plot", path, "--format", "md")
    assert path.read_text().count("<svg") == 1
    assert str(path) in err
    assert str(path) not in out


def test_tensorflow_is_not_loaded(runs, tmp_path):
    code = (
        "import sys; from attnlab.cli import main\n"
        f"code = main(['compare', '--runs', {str(runs)!r}, '--format', 'csv'])\n"
        "heavy = ('tensorflow', 'keras', 'mlflow', 'matplotlib', 'hydra', 'scipy.stats')\n"
        "print(code, [name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"
    code = "import attnlab.compare.plots, attnlab.compare.bootstrap, sys;"
    code += "print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from attnlab.commands import command; command('compare');"
        "heavy = ('numpy', 'scipy', 'matplotlib', 'yaml', 'rich');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_comparison_is_logged(runs, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shown = invoke(runs, "--log")
    run_id = shown.output.split()[-1]
    with sqlite3.connect(runs / "mlflow.db") as store:
        (experiment,) = store.execute(
            "select e.name from experiments e join runs r using (experiment_id) "
            "where r.run_uuid = ?",
            [run_id],
        ).fetchone()
        metrics = dict(
            store.execute("select key, value from latest_metrics where run_uuid = ?", [run_id])
        )
    assert experiment == "compare"
    assert metrics["sunspots/bahdanau_rmse"] == pytest.approx(sum(BETTER) / 5)
    kept = {path.name for path in (runs / "artifacts").rglob("comparison.*")}
    assert kept == {f"comparison.{suffix}" for suffix in ("md", "csv", "json", "png")}
    # The new folder of artifacts is no run.
    assert invoke(runs).exit_code == 0
