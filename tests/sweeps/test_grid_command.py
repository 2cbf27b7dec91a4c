"""Sweeps by `attnlab -m`: completed, interrupted, killed, extended, and refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import CommandLine, CommandsHere, Outcome
from run_folders import mlflow_runs
from same_runs import assert_same_runs
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

from attnlab.records.mlflow import store_uri

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
    outcome = here.run(*GRID)
    return Swept(here, sweep_folder(here), outcome, here(*GRID))


def test_every_combination_runs_once(swept):
    assert states(swept.attnlab) == ["completed"] * 4
    rows = table(swept.folder)
    pairs = [(name, seed) for name in ("none", "pooling") for seed in (0, 1)]
    for row, pair in zip(rows, pairs, strict=True):
        metrics = json.loads(Path(row["folder"], "metrics.json").read_text())
        assert (metrics["attention"], metrics["seed"]) == pair
        assert (row["attention"], int(row["seed"])) == pair
        assert float(row["best"]) == metrics["best_value"]
        assert float(row["test"]) == metrics["test"]["rmse"]
    code, out, err = swept.again
    next_line = f"next: attnlab compare --sweep {swept.folder.name}"
    assert out.splitlines()[-1] == next_line
    assert (code, err) == (0, "attnlab: 4 jobs: 4 done before, 0 failed before, 0 to run\n")
    assert out == swept.first.out


@pytest.mark.filterwarnings("ignore")  # MLflow's own, when it reads back here
def test_a_sweep_that_is_logged_again_is_the_same_in_mlflow(swept, tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    done = swept.attnlab("runs", "sync", "--uri", store_uri(tmp_path))
    assert done.code == 0, done.err
    live, again = mlflow_runs(swept.attnlab.runs, "fib"), mlflow_runs(tmp_path, "fib")
    assert live.keys() == again.keys() and len(live) == 5
    for name, run in live.items():
        copy = again[name]
        assert (copy.data.params, copy.data.metrics) == (run.data.params, run.data.metrics)
        assert copy.info.status == run.info.status == "FINISHED"
        times = run.info.start_time, run.info.end_time
        assert (copy.info.start_time, copy.info.end_time) == times
    parent = live.pop(f"sweeps/{swept.folder.name}")
    parents = {job.data.tags["mlflow.parentRunId"] for job in live.values()}
    assert parents == {parent.info.run_id} and parent.data.params["varies"] == "attention, seed"
    assert parent.info.start_time < min(job.info.start_time for job in live.values())
    assert parent.info.end_time > max(job.info.end_time for job in live.values())


def test_changing_one_value_trains_only_new_runs(swept):
    attnlab = swept.attnlab
    before = attnlab.run_folders()
    changed = [*GRID[:-1], "seed=1,2"]
    code, out, err = attnlab(*changed, "sweep.dry_run=true")
    assert (code, err) == (0, "")
    assert out.count("not run") == 2 and "2 of 4 jobs would run." in out
    assert len([*(attnlab.runs / "sweeps").iterdir()]) == 1
    err = attnlab.run(*changed, UNTRACKED).err
    assert err.startswith("attnlab: 4 jobs: 2 done before, 0 failed before, 2 to run\n")
    new = set(attnlab.run_folders()) - set(before)
    seeds = [json.loads((folder / "metrics.json").read_text())["seed"] for folder in new]
    assert seeds == [2, 2]


def test_a_sweep_ends_with_what_comes_next_and_a_restart_says_which_jobs_continue(here):
    command = ("-m", *SMALL, "model.units=3,4", UNTRACKED)
    out = here.run(*command).out
    words = out.splitlines()[-1].removeprefix("next: attnlab ").split()
    assert words[:5] == ["compare", "--sweep", sweep_folder(here).name, "--by", "model.units"]
    compared = here(*words)
    assert compared.code == 0 and "too few seeds" in compared.out, compared.err
    path = Path(table(sweep_folder(here))[1]["folder"], "status.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": "killed", "epoch": 3}))
    (row,) = json.loads(here.run("runs", "--failed", "--json").out)
    err = here.run(*command).err
    continues = f"attnlab: model.units=4: was killed, continues after epoch {row['epoch']}\n"
    assert row["epoch"] == 2 and f"{continues}attnlab: tracing and compiling\n" in err


ONE_BY_ONE = "trainer.together=never"
FAILING = ("optimizer=sgd", "optimizer.learning_rate=1e30,0.01,1e31")


def test_failing_jobs_do_not_stop_the_others(here):
    # One step an epoch: the first epoch's loss is finite, and all after it are not.
    command = ("-m", *SMALL, *FAILING, UNTRACKED)
    code, out, err = here(*command)
    assert code == 1
    assert states(here) == ["failed", "completed", "failed"]
    *_, first, second, third, last = err.splitlines()
    failed = table(sweep_folder(here))[0]
    assert "learning_rate=1e+30: failed: epoch 2, step 1: the loss is " in first
    assert first.endswith(f"Log: {failed['folder']}/run.log")
    assert "2 of 3 jobs failed" in last
    assert here(*command).code == 1
    assert len(here.run_folders()) == 3
    assert here(*command, "sweep.retry_failed=true").code == 1
    assert states(here) == ["failed", "completed", *["failed"] * 3]


def test_a_saved_configuration_can_be_swept(swept, here):
    source = table(swept.folder)[0]["folder"]
    here.run(
        *("-m", "--config-path", source, f"paths.runs={here.runs}", "seed=7,8", UNTRACKED),
        "sweep.name=again",
    )
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
    words = ("trainer.epochs=20", "trainer.batch_size=8", "seed=0,1", "tracking.timeout=240")
    command = ("-m", *SMALL, *words, ONE_BY_ONE)
    weights = lambda: [*attnlab.runs.glob("*/*/*/weights/*.h5")]  # noqa: E731
    killed(attnlab, *command, when=lambda: len(weights()) >= 22)
    first = attnlab.run_folders()[0] / "status.json"
    before = json.loads(first.read_text())
    assert before["state"] == "completed"
    here.run(*command)
    assert states(attnlab) == ["completed"] * 2 and len(weights()) == 40
    # The process that copies a run adds only the id.
    assert json.loads(first.read_text())["updated"] == before["updated"]
    # If the kill came before the first job's copy was complete, `runs sync` completes it.
    here.run("runs", "sync")
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
    attnlab.run(*command)
    whole = CommandLine(tmp_path_factory.mktemp("whole"))
    assert whole(*command).code == 0
    assert states(attnlab) == ["completed"] * 3
    assert_same_runs(attnlab, whole)


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
    said = "interrupted: 0 of 2 jobs are done; the same command continues"
    assert err.endswith(f"{said}\n")
    assert "Traceback" not in err and f"{at_a_time} killed" in out
    rows = [row["state"] for row in table(sweep_folder(attnlab))]
    assert rows == ["killed", "killed" if launcher else "not run"]
    dry = CommandsHere(attnlab.folder)(*LONG, "sweep.dry_run=true")
    assert "2 of 2 jobs would run." in dry.out


@pytest.mark.slow
def test_sixteen_jobs_two_at_a_time_lose_nothing(attnlab):
    patience = "tracking.timeout=300"
    err = attnlab.run("-m", *SMALL, "trainer.epochs=3", "seed=range(16)", *JOBLIB, patience).err
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
    err = attnlab.run(*command).err
    assert states(attnlab) == ["completed"] * 2
    assert [line.partition("  ")[0] for line in ended_jobs(err)] == ["1/2", "2/2"]
    attnlab.run(*command[:-3], "seed=0,1,2", *command[-2:])
    assert states(attnlab) == ["completed"] * 3


@pytest.mark.slow
def test_a_launcher_that_fails_is_one_sentence(attnlab):
    slurm = ("hydra/launcher=submitit_slurm", "hydra.launcher.partition=short")
    code, out, err = attnlab("-m", *SMALL, "seed=0,1", UNTRACKED, *slurm)
    assert code == 1
    assert states(attnlab) == []
    assert "attnlab: the launcher submitit_slurm failed, and the same command continues" in err
    assert "Traceback" not in err
