"""Sweeps by submitit: processes of their own, and a Slurm of one machine."""

from __future__ import annotations

import json
import os
import signal

import pytest
import slurm
import yaml
from sweep_examples import (
    ENDLESS,
    SMALL,
    UNTRACKED,
    query,
    states,
    sweep_folder,
    table,
    wait_for,
)

LOCAL = "hydra/launcher=submitit_local"
SLURM = (
    *("hydra/launcher=submitit_slurm", "hydra.launcher.partition=short"),
    *("hydra.launcher.timeout_min=90", "hydra.launcher.cpus_per_task=4"),
    *(
        "hydra.launcher.mem_gb=8",
        "hydra.launcher.gres='gpu:1'",
        "hydra.launcher.array_parallelism=1",
    ),
    "hydra.launcher.setup=['module load cuda']",
)


@pytest.mark.slow
def test_jobs_run_in_separate_processes(attnlab):
    code, out, err = attnlab("-m", *SMALL, "seed=0,1", LOCAL)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 2
    names = [name for (name,) in query(attnlab, "select name from runs order by name")]
    assert names == ["fib-none-s0", "fib-none-s1", sweep_folder(attnlab).name]
    assert len([line for line in err.splitlines() if " running: " not in line]) == 2, err


@pytest.mark.slow
def test_a_job_killed_by_the_system_stops_no_other(attnlab):
    command = ("-m", *SMALL, *ENDLESS, "trainer.epochs=1,999", UNTRACKED, LOCAL)
    with attnlab.start(*command) as process:
        wait_for(lambda: [*attnlab.runs.glob("*/*/*/weights/epoch_002.weights.h5")], process)
        (path,) = attnlab.runs.glob("*/*/*/weights/epoch_002.weights.h5")
        status = json.loads((path.parents[1] / "status.json").read_text())
        os.kill(status["pid"], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert sorted(row["state"] for row in table(sweep_folder(attnlab))) == ["completed", "killed"]
    assert err.endswith("1 of 2 jobs were interrupted; the same command resumes them\n")


@pytest.mark.slow
def test_a_slurm_script_has_the_requested_resources(attnlab):
    script = slurm.install(attnlab.folder / "bin")
    attnlab.environment["PATH"] = f"{script.parent}:{attnlab.environment['PATH']}"
    code, out, err = attnlab("-m", *SMALL, "seed=0,1", UNTRACKED, *SLURM)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 2
    words = script.read_text()
    for line in (
        "#SBATCH --array=0-1%1",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --gres=gpu:1",
        "#SBATCH --mem=8GB",
        "#SBATCH --partition=short",
        "#SBATCH --time=90",
        "module load cuda",
    ):
        assert line in words.splitlines()
    # Its files are in the sweep's folder, which all nodes share.
    assert f"--output={sweep_folder(attnlab)}/.submitit/" in words
    # Runs name the job, so that another host can ask whether they still live.
    owners = [
        json.loads((f / "status.json").read_text())["slurm_job"] for f in attnlab.run_folders()
    ]
    assert sorted(owners) == ["500", "501"]


@pytest.mark.slow
def test_a_preempted_job_is_resumed(attnlab):
    script = slurm.install(attnlab.folder / "bin")
    attnlab.environment["PATH"] = f"{script.parent}:{attnlab.environment['PATH']}"
    command = ("-m", *SMALL, "trainer.epochs=3", "seed=0", UNTRACKED)
    assert attnlab(*command).code == 0
    # As a node leaves it that was taken away after the training.
    (folder,) = attnlab.run_folders()
    status = json.loads((folder / "status.json").read_text())
    lost = {**status, "state": "running", "host": "node7", "slurm_job": "77"}
    (folder / "status.json").write_text(json.dumps(lost))
    (folder / "lock.json").write_text(json.dumps({**lost, "since": "then"}))
    code, out, err = attnlab(*command, *SLURM)
    assert code == 0, err
    assert attnlab.run_folders() == [folder]
    assert states(attnlab) == ["completed"]
    assert yaml.safe_load((folder / "config.yaml").read_text())["seed"] == 0


def test_a_missing_cluster_is_reported(attnlab):
    code, out, err = attnlab("-m", *SMALL, "seed=0,1", UNTRACKED, *SLURM)
    assert code == 1
    assert states(attnlab) == []
    assert "attnlab: the launcher failed: " in err and "Traceback" not in err
