"""The list of `attnlab runs`: its runs, their order and their columns."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone

import pytest
from run_folders import add_epoch, write_run

from attnlab.records.run_directory import RunDirectory


@pytest.fixture
def runs(here):
    """Seven runs with different seeds in the default folder of runs, the last ones unfinished."""
    folder = here.runs
    make(folder, 0, "fib", "none", 9, metrics={"test": {"rmse": 0.5}})
    make(folder, 1, "fib", "bahdanau", 5, units=8, metrics={"test": {"rmse": 0.25}, "skill": 0.75})
    sunspots, bleu = {"test": {"rmse": 20.0}, "skill": -0.5}, {"test": {"bleu": 31.25}}
    make(folder, 2, "sunspots", "bahdanau", 4, units=64, sweep="grid", metrics=sunspots)
    bleu |= {"metric": "bleu", "monitor": "val_bleu", "skill": 0.25}
    make(folder, 3, "translate", "bahdanau", 3, units=64, metrics=bleu)
    make(folder, 4, "fib", "none", 2, "failed", units=64, error="RunFailed: the loss is nan")
    make(folder, 5, "fib", "none", 1, "killed", units=64, sweep="grid", pruned=True)
    make(folder, 6, "fib", "none", 0, "killed", units=64, tracked=False)
    return here


def make(
    runs, seed, task, attention, days, state="completed", units=4, tracked=True, metrics=(), **more
):
    """Write a run that started some days ago."""
    config = {"model.units": units, "optimizer.learning_rate": 1e-3, "tracking.enabled": tracked}
    metrics = {"best_value": 10.0 + seed, "seconds": 10.0 - seed, **dict(metrics)}
    began = datetime.now(timezone.utc) - timedelta(days=days, minutes=1)
    entries = {"started": began.isoformat(), **more}
    options = {"task": task, "state": state, "config": config, "metrics": metrics}
    return write_run(runs, attention, seed, 1.0, status=entries, **options)


def rows(here, *words):
    outcome = here.run("runs", *words, "--json")
    return json.loads(outcome.out)


def test_filters_select_runs(runs):
    for words, expected in (
        ("", [0, 1, 2, 3, 4, 5, 6]),
        ("--task fib", [0, 1, 4, 5, 6]),
        ("--attention bahdanau --task fib", [1]),
        ("--state completed", [0, 1, 2, 3]),
        ("--state pruned", [5]),
        ("--failed", [4, 6]),
        ("--failed --state pruned", [4, 5, 6]),
        ("--sweep grid", [2, 5]),
        ("--where model.units=4,8", [0, 1]),
        ("--where attention=bahdanau --where task=fib,translate", [1, 3]),
        ("--where optimizer.learning_rate=1e-3 --where seed=0", [0]),
        ("--where trainer.patience=null --limit 2", [5, 6]),
        ("--where tracking.enabled=False", [6]),
        ("--sort skill", [1, 0, 3, 2, 4, 5, 6]),
        ("--sort test --task fib --task translate", [3, 1, 0, 4, 5, 6]),
        ("--sort best --limit 2", [3, 4]),
    ):
        assert [row["seed"] for row in rows(runs, *words.split())] == expected, words


def test_the_table_has_results_states_and_reasons(runs):
    none = runs("runs", "--task", "sunspots", "--failed")
    assert none.out.startswith("None of the 7 runs satisfies all filters.")
    _, out, _ = runs("runs")
    lines = {line.split()[4]: line.split() for line in out.splitlines()[2:9]}
    assert (lines["1"][7], lines["3"][7]) == ("0.250", "31.2")
    assert [lines[seed][1] for seed in "456"] == ["failed", "pruned", "killed"]
    assert out.splitlines()[-1] == "test is bleu or rmse, the task's main metric."
    assert runs("runs", "--failed")[1].splitlines()[-1].endswith("_s4: RunFailed: the loss is nan")
    _, out, _ = runs("runs", "--limit", "5")
    assert out.splitlines()[-1] == "2 more runs are not shown; --limit shows more."


def test_damaged_runs_are_shown_with_the_reason(runs):
    (folder,) = runs.runs.glob("fib/bahdanau/*")
    (folder / "config.yaml").write_text("{")
    assert [row["seed"] for row in rows(runs, "--where", "model.units=4,8")] == [0]
    (folder / "status.json").unlink()
    folder.with_name("empty").mkdir()
    _, out, _ = runs("runs", "--state", "damaged")
    assert out.splitlines()[2].split()[:5] == [folder.name, "damaged", "fib", "bahdanau", "1"]
    assert "status.json: missing" in out.splitlines()[-1]
    assert len(rows(runs)) == 7


def test_the_table_fits_100_columns_and_has_the_newest_last(runs):
    metrics = {"best_value": 123456.789, "test": {"rmse": 0.0123456}, "skill": -0.123456}
    metrics["epochs"] = 1000
    run = make(runs.runs, 20, "fib_random", "scaled_dot_product", -1, epoch=1000, metrics=metrics)
    over, head, *lines = runs("runs")[1].splitlines()
    assert over.split() == ["beats"]
    assert head.split() == "run state task attention seed epoch best test baseline age".split()
    assert all(len(line) <= 100 and "…" not in line for line in [head, *lines])
    *shown, age = lines[-2].split()
    assert shown == [
        *(run.path.name, "completed", "fib_random", "scaled_dot_product", "20", "1000"),
        *("123,457", "0.0123", "-12.3", "%"),
    ]
    assert re.fullmatch(r"\d+[wdhms]", age)


def test_an_unfinished_run_shows_its_best_so_far(here):
    expected = {"sunspots": ("val_loss", 0.25), "translate": ("val_bleu", 0.75)}
    for task, (column, _) in expected.items():
        run = RunDirectory.create(here.runs, task, "none", 0, {})
        for epoch, value in enumerate((0.5, 0.25, 0.75, float("nan")), 1):
            run.history.append({"epoch": epoch, "val_loss": value, column: value})
    trained_longer = write_run(here.runs, task="fib")
    add_epoch(trained_longer, 4)
    trained_longer.status.write("failed")
    shown = {row["task"]: (row["monitor"], row["best"]) for row in rows(here)}
    assert shown == {**expected, "fib": ("val_loss", pytest.approx(1 / 4))}


def test_without_runs_the_list_shows_how_to_start_one(here):
    assert "Start one: attnlab task=fib" in here("runs").out
    assert here("runs", "--json") == (0, "[]\n", "")
