"""Sweeps by `attnlab -m`: completed, interrupted, killed, extended, and refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import CommandLine, CommandsHere, Outcome, assert_refused
from same_runs import assert_same_run
from sweep_examples import (
    ENDLESS,
    SMALL,
    UNTRACKED,
    ended_jobs,
    query,
    states,
    sweep_folder,
    table,
    wait_for,
)

from attnlab.records.mlflow import connect, store_uri

pytestmark = pytest.mark.usefixtures("no_figures")
# A busy machine takes long for the copy to MLflow.
GRID = ("-m", *SMALL, "tracking.timeout=240", "attention=none,pooling", "seed=0,1")


class Swept(NamedTuple):
    """A sweep with MLflow, and the same command once more."""

    attnlab: CommandLine
    folder: Path
    first: Outcome
    again: Outcome


@pytest.fixture(scope="module")
def swept(tmp_path_factory, empty_store, no_figures) -> Swept:
    here = CommandsHere(tmp_path_factory.mktemp("swept"), empty_store)
    outcome = here(*GRID)
    assert outcome.code == 0, outcome.err
    return Swept(here, sweep_folder(here), outcome, here(*GRID))


def test_every_combination_runs_once(swept):
    assert states(swept.attnlab) == ["completed"] * 4
    rows = table(swept.folder)
    assert [(row["attention"], row["seed"]) for row in rows] == [
        ("none", "0"),
        ("none", "1"),
        ("pooling", "0"),
        ("pooling", "1"),
    ]
    for row in rows:
        metrics = json.loads(Path(row["folder"], "metrics.json").read_text())
        assert (metrics["attention"], metrics["seed"]) == (row["attention"], int(row["seed"]))
        assert float(row["best"]) == metrics["best_value"]
        assert float(row["test"]) == metrics["test"]["rmse"]


def test_the_same_command_again_runs_nothing(swept):
    code, out, err = swept.again
    assert (code, err) == (0, "attnlab: 4 jobs: 4 done before, 0 failed before, 0 to run\n")
    assert out.replace(" (4 of them earlier)", "") == swept.first.out
    assert len(swept.attnlab.run_folders()) == 4


def all_of_mlflow(runs: Path) -> dict[str, dict]:
    """Everything a store has of each run by its name, except ids."""
    client = connect(store_uri(runs), runs)
    (experiment,) = client.search_experiments(filter_string="name = 'fib'")
    runs_by_name = {}
    for run in client.search_runs([experiment.experiment_id]):
        measured = {
            key: [(point.step, point.value, point.timestamp) for point in points]
            for key in run.data.metrics
            if (points := client.get_metric_history(run.info.run_id, key))
        }
        tags, info = dict(run.data.tags), run.info
        if "mlflow.parentRunId" in tags:
            tags["mlflow.parentRunId"] = client.get_run(tags["mlflow.parentRunId"]).info.run_name
        files = {entry.path for entry in client.list_artifacts(info.run_id)}
        data = {"tags": tags, "params": run.data.params, "metrics": measured, "files": files}
        times = {"start": info.start_time, "end": info.end_time}
        runs_by_name[info.run_name] = {**data, **times, "status": info.status}
    return runs_by_name


@pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here
def test_a_sweep_that_is_logged_again_is_the_same_in_mlflow(swept, tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    done = swept.attnlab("runs", "sync", "--uri", store_uri(tmp_path))
    assert done.code == 0, done.err
    live, again = all_of_mlflow(swept.attnlab.runs), all_of_mlflow(tmp_path)
    assert live.keys() == again.keys() and len(live) == 5
    for name, data in live.items():
        assert again[name] == data
    parent = live.pop(swept.folder.name)
    assert {job["tags"]["mlflow.parentRunId"] for job in live.values()} == {swept.folder.name}
    assert parent["tags"]["attnlab.command"].startswith("attnlab -m task=fib ")
    assert parent["params"]["varies"] == "attention, seed" and parent["status"] == "FINISHED"
    assert parent["start"] < min(job["start"] for job in live.values())
    assert parent["end"] > max(job["end"] for job in live.values())


def test_changing_one_value_trains_only_new_runs(swept):
    attnlab = swept.attnlab
    before = attnlab.run_folders()
    changed = [*GRID[:-1], "seed=1,2"]
    code, out, err = attnlab(*changed, "sweep.dry_run=true")
    assert (code, err) == (0, "")
    assert out.count("not run") == 2 and "2 of 4 jobs would run." in out
    assert len([*(attnlab.runs / "sweeps").iterdir()]) == 1
    code, out, err = attnlab(*changed, UNTRACKED)
    assert code == 0, err
    assert err.startswith("attnlab: 4 jobs: 2 done before, 0 failed before, 2 to run\n")
    new = set(attnlab.run_folders()) - set(before)
    seeds = [json.loads((folder / "metrics.json").read_text())["seed"] for folder in new]
    assert seeds == [2, 2]


ONE_BY_ONE = "trainer.together=never"
FAILING = ("optimizer=sgd", "optimizer.learning_rate=1e30,0.01,1e31", ONE_BY_ONE)


def test_failing_jobs_do_not_stop_the_others(here):
    # One step an epoch: the first epoch's loss is finite, and all after it are not.
    command = ("-m", *SMALL, *FAILING, UNTRACKED)
    code, out, err = here(*command)
    assert code == 1
    assert states(here) == ["failed", "completed", "failed"]
    first, second, third, last = err.splitlines()
    failed = table(sweep_folder(here))[0]
    assert "learning_rate=1e+30: failed: epoch 2, step 1: the loss is " in first
    assert first.endswith(f"Log: {failed['folder']}/run.log")
    assert "2 of 3 jobs failed" in last
    assert here(*command).code == 1
    assert len(here.run_folders()) == 3
    assert here(*command, "sweep.retry_failed=true").code == 1
    assert states(here) == ["failed", "completed", *["failed"] * 3]


def test_a_job_whose_settings_do_not_fit_its_data_fails_alone(here):
    command = ("-m", *SMALL, "task.history=60,5", UNTRACKED, ONE_BY_ONE)
    code, out, err = here(*command)
    assert code == 1
    # A refused job is a failed run, so the same command doesn't retry it.
    assert states(here) == ["failed", "completed"]
    assert "failed: task.history: expected" in err
    assert here(*command).code == 1
    assert len(here.run_folders()) == 2


REFUSED = [  # the last word is wrong
    "seed=0,1 trainer.epoch=3",
    "seed=0,1 attention=bahdanau,luong_loca",
    "attention=luong_local,none attention.window=3",
    "model.units=4,0",
    "attention=none,multi_head model=transformer",
    "seed=range(0,0)",
    "attention=glob(x*)",
    "seed=range(",
    "optimizer.learning_rate=interval(0,1)",
    "paths.runs=a,b",
    "hydra.launcher.n_jobs=1,2",
    "hydra/launcher=jobli",
    "sweep.nam=x",
    "sweep.name=a/b",
    "sweep.retry_failed=maybe",
    "search=nothing",
    "search.trials=5 seed=0,1",
]


@pytest.mark.parametrize("words", REFUSED)
def test_a_wrong_request_trains_nothing(here, words):
    assert_refused(here("-m", *words.split()), words.split()[-1].partition("=")[0])
    assert list(here.folder.iterdir()) == []


@pytest.mark.parametrize("word", ["sweep.name=x", "sweep.retry_failed=true", "search.trials=5"])
def test_settings_of_sweeps_need_one(here, word):
    assert_refused(here("task=fib", word), word, "Add -m.")


def test_a_saved_configuration_can_be_swept(swept, here):
    source = table(swept.folder)[0]["folder"]
    code, out, err = here(
        *("-m", "--config-path", source, f"paths.runs={here.runs}", "seed=7,8", UNTRACKED),
        "sweep.name=again",
    )
    assert code == 0, err
    assert states(here) == ["completed"] * 2 and sweep_folder(here).name == "again"


def begun(attnlab, epochs: int = 1):
    return lambda: [*attnlab.runs.glob(f"*/*/*/weights/epoch_{epochs:03d}.weights.h5")]


LONG = ("-m", *SMALL, *ENDLESS, "seed=0,1", UNTRACKED, ONE_BY_ONE)


@pytest.mark.slow
def test_a_second_command_waits_for_the_first_and_takes_over_when_it_dies(attnlab):
    command = ("-m", *SMALL, "trainer.epochs=300", "trainer.batch_size=4", "seed=0,1", UNTRACKED)
    with attnlab.start(*command) as first:
        wait_for(begun(attnlab), first)
        with attnlab.start(*command) as second:
            line = second.stderr.readline()
            assert line.startswith("attnlab: another process is running the sweep ")
            first.kill()
            _, err = second.communicate(timeout=240)
    assert second.returncode == 0, err
    assert states(attnlab) == ["completed"] * 2


def killed(attnlab, *command, when) -> None:
    with attnlab.start(*command) as process:
        wait_for(when, process)
        process.kill()
        process.wait(timeout=120)


@pytest.mark.slow
def test_a_killed_sweep_trains_only_missing_runs(attnlab, empty_store):
    here = CommandsHere(attnlab.folder, empty_store)
    command = ("-m", *SMALL, "trainer.epochs=20", "trainer.batch_size=8", "seed=0,1", ONE_BY_ONE)
    weights = lambda: [*attnlab.runs.glob("*/*/*/weights/*.h5")]  # noqa: E731
    killed(attnlab, *command, when=lambda: len(weights()) >= 22)
    first = attnlab.run_folders()[0] / "status.json"
    before = json.loads(first.read_text())
    assert before["state"] == "completed"
    code, out, err = here(*command)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 2 and len(weights()) == 40
    # The process that copies a run adds only the id.
    assert json.loads(first.read_text())["updated"] == before["updated"]
    # If the kill came before the first job's copy was complete, `runs sync` completes it.
    code, out, err = here("runs", "sync")
    assert code == 0, err
    # One MLflow run for each job, and one for the sweep.
    names = query(attnlab, "select name, status from runs order by name")
    expected = ("fib-none-s0", "fib-none-s1", sweep_folder(attnlab).name)
    assert names == [(name, "FINISHED") for name in expected]
    points = query(attnlab, "select count(*) from metrics where key = 'val_loss'")
    assert points == [(40,)]


JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


@pytest.mark.slow
def test_a_killed_parallel_sweep_continues_to_the_same_bits(attnlab, tmp_path_factory):
    words = ("trainer.epochs=12", "trainer.batch_size=4", "seed=0,1,2", UNTRACKED)
    command = ("-m", *SMALL, *words, "trainer.checkpoint_every_seconds=0", *JOBLIB)
    killed(attnlab, *command, when=lambda: len(begun(attnlab)()) == 2)
    # Jobs that still run in a process of the killed command are waited for.
    code, out, err = attnlab(*command)
    assert code == 0, err
    whole = CommandLine(tmp_path_factory.mktemp("whole"))
    assert whole(*command).code == 0
    assert states(attnlab) == ["completed"] * 3
    by_seed = [sorted(a.run_folders(), key=lambda f: f.name[-3:]) for a in (attnlab, whole)]
    for folder, expected in zip(*by_seed, strict=True):
        assert_same_run(folder, expected)


@pytest.mark.slow
def test_a_dead_process_ends_a_parallel_sweep_with_one_sentence(attnlab):
    command = (*LONG, *JOBLIB)
    with attnlab.start(*command) as process:
        wait_for(lambda: len(begun(attnlab)()) == 2, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        trains = [c for c in children if b"loky" in Path(f"/proc/{c}/cmdline").read_bytes()]
        os.kill(int(trains[-1]), signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert "a process has died, and the same command continues" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [(), JOBLIB], ids=["here", "joblib"])
def test_an_interrupted_sweep_says_what_is_left(attnlab, launcher):
    at_a_time = 2 if launcher else 1
    with attnlab.start(*LONG, *launcher) as process:
        wait_for(lambda: len(begun(attnlab)()) == at_a_time, process)
        process.send_signal(signal.SIGTERM if launcher else signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert err.endswith("interrupted: 0 of 2 jobs are done; the same command runs the others\n")
    assert "Traceback" not in err and f"{at_a_time} interrupted" in out
    rows = [row["state"] for row in table(sweep_folder(attnlab))]
    assert rows == ["killed", "killed" if launcher else "not run"]
    dry = CommandsHere(attnlab.folder)(*LONG, "sweep.dry_run=true")
    assert "2 of 2 jobs would run." in dry.out


@pytest.mark.slow
def test_sixteen_jobs_two_at_a_time_lose_nothing(attnlab):
    patience = "tracking.timeout=300"
    code, out, err = attnlab("-m", *SMALL, "trainer.epochs=3", "seed=range(16)", *JOBLIB, patience)
    assert code == 0, err
    assert "MLflow" not in err
    assert states(attnlab) == ["completed"] * 16
    assert len(query(attnlab, "select * from experiments where name = 'fib'")) == 1
    runs = query(attnlab, "select run_uuid, status from runs where name like 'fib-none-s%'")
    assert [status for _, status in runs] == ["FINISHED"] * 16
    for run, _ in runs:
        logged = query(attnlab, f"select key, step from metrics where run_uuid = '{run}'")
        assert sorted(step for key, step in logged if key == "val_loss") == [1, 2, 3]
        assert {"test_rmse", "parameters"} <= {key for key, _ in logged}


@pytest.mark.slow
def test_another_launcher_of_hydra_runs_each_job_in_its_own_process(attnlab):
    command = ("-m", *SMALL, "seed=0,1", "hydra/launcher=submitit_local", UNTRACKED)
    code, out, err = attnlab(*command)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 2
    assert [line.partition("  ")[0] for line in ended_jobs(err)] == ["1/2", "2/2"]
    code, out, err = attnlab(*command[:-3], "seed=0,1,2", *command[-2:])
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 3


@pytest.mark.slow
def test_a_launcher_that_fails_is_one_sentence(attnlab):
    slurm = ("hydra/launcher=submitit_slurm", "hydra.launcher.partition=short")
    code, out, err = attnlab("-m", *SMALL, "seed=0,1", UNTRACKED, *slurm)
    assert code == 1
    assert states(attnlab) == []
    assert "attnlab: the launcher submitit_slurm failed, and the same command continues" in err
    assert "Traceback" not in err
