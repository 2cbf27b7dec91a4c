"""Sweeps by Ray: wrong settings, and jobs on a cluster of two nodes."""

from __future__ import annotations

import signal

import pytest
from command_line import ROOT, CommandLine, free_port
from same_runs import assert_same_runs
from sweep_examples import ENDLESS, SMALL, UNTRACKED, states, sweep_folder, table, wait_for

RAY = "hydra/launcher=ray"
FINITE = ("trainer.batch_size=1", "trainer.epochs=80", "trainer.checkpoint_every_seconds=0")


def test_an_address_that_does_not_answer_is_refused_at_once(here):
    pytest.importorskip("ray")
    address = f"127.0.0.1:{free_port()}"
    code, _, err = here("-m", *SMALL, "seed=0,1", RAY, f"hydra.launcher.address={address}")
    assert code == 2
    assert f"hydra.launcher.address={address}: no Ray cluster answers: " in err


@pytest.fixture(scope="module")
def cluster():
    """A head and a second node, a processor each, on this machine."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # else 15, which starves on a busy machine
        args = {"num_cpus": 1, "include_dashboard": False}
        nodes = Cluster(initialize_head=True, head_node_args=args)
        nodes.add_node(num_cpus=1)
        yield nodes
        nodes.shutdown()


@pytest.fixture
def on_cluster(cluster):
    return (RAY, f"hydra.launcher.address={cluster.address}", UNTRACKED)


def started(attnlab: CommandLine, epoch: int = 2) -> int:
    return len([*attnlab.runs.glob(f"*/*/*/weights/epoch_{epoch:03d}.weights.h5")])


@pytest.mark.slow
def test_a_job_larger_than_any_node_is_refused(attnlab, on_cluster):
    words = ("-m", *SMALL, "seed=0,1", *on_cluster, "hydra.launcher.num_cpus=2")
    code, _, err = attnlab(*words)
    assert code == 2
    assert "hydra.launcher.num_cpus=2 num_gpus=0: no node of the Ray cluster is so large" in err


@pytest.mark.slow
def test_ctrl_c_interrupts_the_jobs(attnlab, on_cluster):
    with attnlab.start("-m", *SMALL, *ENDLESS, "seed=0,1", *on_cluster) as process:
        wait_for(lambda: started(attnlab) == 2, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    wait_for(lambda: states(attnlab) == ["killed"] * 2, seconds=20)
    assert "0 of 2 jobs are done; the same command continues" in err


@pytest.mark.slow
def test_a_killed_command_continues_to_the_same_bits(attnlab, on_cluster, tmp_path_factory):
    command = ("-m", *SMALL, *FINITE, "seed=0,1", *on_cluster)
    with attnlab.start(*command) as process:
        wait_for(lambda: started(attnlab, 10) == 2, process)
        process.kill()
        process.communicate()
    whole = CommandLine(tmp_path_factory.mktemp("whole"))
    for line in (attnlab, whole):
        line.run(*command)
    assert_same_runs(attnlab, whole)


@pytest.mark.slow
def test_a_lost_node_costs_its_own_job_which_the_same_command_resumes(attnlab, cluster, on_cluster):
    command = ("-m", *SMALL, *FINITE, "seed=0,1", *on_cluster)
    with attnlab.start(*command) as process:
        wait_for(lambda: started(attnlab) == 2, process)
        (second,) = cluster.worker_nodes
        cluster.remove_node(second, allow_graceful=False)
        out, err = process.communicate(timeout=240)
    assert process.returncode == 1, err
    assert sorted(row["state"] for row in table(sweep_folder(attnlab))) == ["completed", "killed"]
    assert err.endswith("1 of 2 jobs are not done; the same command runs them\n")
    folders = attnlab.run_folders()
    attnlab.run(*command)
    assert attnlab.run_folders() == folders
    assert states(attnlab) == ["completed"] * 2
