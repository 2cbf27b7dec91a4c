"""The list of `attnlab runs`: its runs, their order and their columns."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime, timedelta, timezone

import pytest
from run_folders import add_epoch, make_run

from attnlab.cli import main
from attnlab.records.run_directory import RunDirectory


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    """Seven runs with different seeds, the last ones unfinished; tests only read them."""
    tmp_path = tmp_path_factory.mktemp("seven")
    make(tmp_path, 0, "fib", "none", 9, test={"rmse": 0.5}, skill=0.5, units=4)
    make(tmp_path, 1, "fib", "bahdanau", 5, test={"rmse": 0.25}, skill=0.75, units=8)
    make(tmp_path, 2, "sunspots", "bahdanau", 4, test={"rmse": 20.0}, skill=-0.5, sweep="grid")
    make(tmp_path, 3, "translate", "bahdanau", 3, test={"bleu": 31.25, "chrf": 50.0}, skill=0.25)
    make(tmp_path, 4, "fib", "none", 2, "failed", error="RunFailed: the loss is nan")
    make(tmp_path, 5, "fib", "none", 1, "killed", sweep="grid", pruned=True)
    make(tmp_path, 6, "fib", "none", 0, "killed", tracked=False)
    return tmp_path


@pytest.fixture
def made(seven, monkeypatch):
    """The same runs in the default runs folder."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(seven))


@pytest.fixture
def own(seven, tmp_path, monkeypatch):
    """A copy of these runs, which a test may change."""
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path / "runs"))
    return shutil.copytree(seven, tmp_path / "runs")


def make(
    runs,
    seed,
    task,
    attention,
    days,
    state="completed",
    test=(),
    skill=None,
    units=64,
    tracked=True,
    **more,
):
    config = {
        "task": {"name": task, "history": 20},
        "attention": {"name": attention},
        "model": {"name": "rnn", "units": units},
        "optimizer": {"learning_rate": 1e-3},
        "trainer": {"patience": None},
        "tracking": {"enabled": tracked},
        "seed": seed,
    }
    run = RunDirectory.create(runs, task, attention, seed, config)
    began = datetime.now(timezone.utc) - timedelta(days=days, minutes=1)
    run.status.write(state, started=began.isoformat(), **more)
    if test:
        (metric, *_) = test
        monitor = "val_loss" if metric == "rmse" else "val_bleu"
        results = {"best_value": 10.0 + seed, "monitor": monitor, "metric": metric, "test": test}
        run.write_json("metrics.json", {**results, "skill": skill, "seconds": 10.0 - seed})
    return run


def asked(capsys, *words):
    """Exit code, output and error of `attnlab runs ...`."""
    capsys.readouterr()
    code = main(["runs", *words])
    return code, *capsys.readouterr()


def seeds(capsys, *words):
    code, out, err = asked(capsys, *words, "--json")
    assert code == 0, err
    return [row["seed"] for row in json.loads(out)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5, 6]),
        ("--task fib", [0, 1, 4, 5, 6]),
        ("--attention bahdanau --task fib", [1]),
        ("--state completed", [0, 1, 2, 3]),
        ("--state pruned", [5]),
        ("--failed", [4, 6]),
        ("--failed --state pruned", [4, 5, 6]),
        ("--sweep grid", [2, 5]),
        ("--since 2d", [5, 6]),
        ("--where model.units=8", [1]),
        ("--where model.units=4,8", [0, 1]),
        ("--where attention=bahdanau --where task=fib,translate", [1, 3]),
        ("--where optimizer.learning_rate=1e-3 --where seed=0", [0]),
        ("--where trainer.patience=null --limit 2", [5, 6]),
        ("--where tracking.enabled=False", [6]),
        ("--sort skill", [1, 0, 3, 2, 4, 5, 6]),
        ("--sort test --task fib --task translate", [3, 1, 0, 4, 5, 6]),
        ("--sort best --limit 2", [3, 0]),
    ],
)
def test_filters_select_runs(made, capsys, words, expected):
    assert seeds(capsys, *words.split()) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--task fbi", "--task: none of the 7 runs has task fbi. Did you mean fib?"),
        ("--sweep gird", "--sweep: none of the 7 runs has sweep gird. Did you mean grid?"),
        ("--task sunspots --failed", "None of the 7 runs satisfies all filters."),
    ],
)
def test_no_matching_run_is_reported(made, capsys, words, sentence):
    assert asked(capsys, *words.split()) == (0, sentence + "\n", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "--where model.unit=8",
            "no run has the config key 'model.unit'. Did you mean model.units?",
        ),
        ("--where units", "--where: expected KEY=VALUE such as model.cell=gru, got 'units'."),
        (
            "--where seed=0 --where seed=1",
            "--where: seed is given twice. Separate several values by commas: seed=0,1.",
        ),
        (
            "--since soon",
            "--since=soon: must be an age such as 90m, 12h, 2d or 1w, or a date such as ",
        ),
        ("--state done", "'done' is not one of 'completed', 'running', 'failed', 'killed'"),
        ("--sort loss", "'loss' is not one of 'started', 'best', 'test', 'skill'"),
    ],
)
def test_wrong_requests_are_one_sentence(made, capsys, words, sentence):
    code, out, err = asked(capsys, *words.split())
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_the_test_column_has_the_metric_of_the_task(made, capsys):
    _, out, _ = asked(capsys)
    rows = {line.split()[4]: line.split() for line in out.splitlines()[1:8]}
    assert (rows["1"][7], rows["3"][7]) == ("0.250", "31.2")
    assert out.splitlines()[8] == "test is bleu or rmse, the task's main metric."
    _, out, _ = asked(capsys, "--task", "fib")
    assert "test is rmse, the task's main metric." in out.splitlines()
    _, out, _ = asked(capsys, "--json", "--task", "translate")
    assert (json.loads(out)[0]["metric"], json.loads(out)[0]["test"]) == ("bleu", 31.25)


def test_pruned_runs_are_not_shown_as_killed_and_failures_have_a_reason(made, capsys):
    _, out, _ = asked(capsys)
    assert [line.split()[1] for line in out.splitlines()[5:8]] == ["failed", "pruned", "killed"]
    assert "the loss is nan" not in out
    _, out, _ = asked(capsys, "--failed")
    assert out.splitlines()[-1].endswith("_s4: RunFailed: the loss is nan")


def test_hidden_runs_are_counted(made, capsys):
    _, out, _ = asked(capsys, "--limit", "5")
    assert out.splitlines()[-1] == "2 more runs are not shown; --limit shows more."


def test_a_half_deleted_folder_is_shown_as_damaged_with_the_reason(own, capsys):
    folder = next(own.glob("fib/bahdanau/*"))
    (folder / "status.json").unlink()
    folder.with_name("empty").mkdir()
    folder.with_name(".removing-x").mkdir()
    (folder.with_name(".removing-x") / "config.yaml").write_text("a: 1")
    code, out, _ = asked(capsys, "--state", "damaged")
    assert code == 0
    assert [line.split()[:5] for line in out.splitlines()[1:2]] == [
        [folder.name, "damaged", "fib", "bahdanau", "1"]
    ]
    assert "status.json: missing" in out.splitlines()[-1]
    assert len(seeds(capsys)) == 7


def test_a_run_with_a_damaged_config_matches_no_value(own, capsys):
    folder = next(own.glob("fib/bahdanau/*"))
    (folder / "config.yaml").write_text("{")
    assert seeds(capsys, "--where", "model.units=4,8") == [0]


def test_the_table_fits_100_columns_and_has_the_newest_last(own, capsys):
    make(own, 1000, "fib_random", "scaled_dot_product", -1, epoch=1000, mlflow_run_id="abc123")
    (folder,) = own.glob("fib_random/*/*")
    test = {"rmse": 0.0123456, "mae": 0.01}
    results = {"best_value": 123456.789, "metric": "rmse", "test": test, "skill": -0.123456}
    RunDirectory(folder).write_json("metrics.json", results)
    _, out, _ = asked(capsys)
    head, *lines = out.splitlines()
    assert head.split() == "run state task attention seed epoch best test skill age".split()
    assert all(len(line) <= 100 and "…" not in line for line in [head, *lines])
    shown = lines[-2].split()
    assert shown[0] == folder.name
    assert shown[2:9] == [
        *("fib_random", "scaled_dot_product", "1000", "1000"),
        *("123,457", "0.0123", "-0.123"),
    ]
    assert re.fullmatch(r"\d+[wdhms]", shown[9])
    row = json.loads(asked(capsys, "--json", "--limit", "1")[1])[0]
    assert (row["skill"], row["path"], row["mlflow_run_id"], row["metric"]) == (
        *(-0.123456, str(folder), "abc123", "rmse"),
    )


@pytest.mark.parametrize(
    ("task", "columns", "expected"),
    [
        ("fib", ("train_loss", "val_loss"), ("val_loss", 0.25)),
        ("fib", ("train_loss",), ("train_loss", 0.25)),
        ("translate", ("val_loss", "val_bleu"), ("val_bleu", 0.75)),
        ("unheard_of", ("train_loss", "val_loss", "val_x"), ("val_loss", 0.25)),
        ("fib", (), (None, None)),
    ],
)
def test_an_unfinished_run_shows_its_best_so_far(tmp_path, capsys, task, columns, expected):
    make(tmp_path, 0, task, "none", 0, "killed")
    run = RunDirectory(next(tmp_path.glob("*/*/*")))
    for epoch, value in enumerate((0.5, 0.25, 0.75, float("nan")), 1) if columns else ():
        run.history.append({"epoch": epoch, **dict.fromkeys(columns, value)})
    code, out, _ = asked(capsys, "--json", "--runs", str(tmp_path))
    row = json.loads(out)[0]
    assert (code, row["monitor"], row["best"]) == (0, *expected)


def test_a_run_that_failed_when_it_was_trained_longer_shows_no_earlier_result(tmp_path, capsys):
    make_run(tmp_path)
    run = RunDirectory(next(tmp_path.glob("*/*/*")))
    assert run.read_metrics()["epochs"] == 2
    add_epoch(run, 3)
    run.status.write("failed")
    row = json.loads(asked(capsys, "--json", "--runs", str(tmp_path))[1])[0]
    assert (row["epoch"], row["test"], row["best"]) == (3, None, pytest.approx(1 / 3))


def test_without_runs_the_list_shows_how_to_start_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTNLAB_RUNS", str(tmp_path / "nothing"))
    code, out, _ = asked(capsys)
    assert code == 0
    assert "Start one: attnlab task=fib" in out
    assert asked(capsys, "--json") == (0, "[]\n", "")
    code, _, err = asked(capsys, "--runs", str(tmp_path / "nothing"))
    assert (code, "--runs: expected an existing folder" in err) == (2, True)
