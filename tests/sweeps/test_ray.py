"""Sweeps by Ray: the settings, and jobs on a cluster of two nodes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import ROOT, CommandLine, assert_refused
from omegaconf import OmegaConf
from sweep_examples import ENDLESS, SMALL, UNTRACKED, states, sweep_folder, table, wait_for

from attnlab.errors import RequestError
from attnlab.sweeps import ray_launcher
from attnlab.sweeps.ray_launcher import Connection, RayConf, RayLauncher

RAY = "hydra/launcher=ray"


def settings(**changes):
    return OmegaConf.merge(OmegaConf.structured(RayConf), changes)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(ray_launcher, "find_spec", lambda name: name)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(ray_launcher, "find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"pip install 'attnlab\[ray\]'"):
        Connection(settings())


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"num_cpus": 0}, "hydra.launcher.num_cpus=0.0: must be above 0"),
        ({"num_gpus": -1}, "hydra.launcher.num_gpus=-1.0: must be at least 0"),
        ({"address": "ray://head:10001"}, "expected HOST:PORT, auto or local"),
    ],
)
def test_wrong_settings_are_refused(installed, changes, words):
    with pytest.raises(RequestError, match=words):
        Connection(settings(**changes))


def test_an_address_that_does_not_answer_is_refused_at_once(installed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(RequestError, match=f"{address}: no Ray cluster answers: .*refused"):
        Connection(settings(address=address)).open()
    with pytest.raises(RequestError, match="address=head: expected HOST:PORT, auto or local"):
        Connection(settings(address="head")).open()


def test_ray_runs_as_many_jobs_as_fit_onto_each_node(installed, monkeypatch):
    monkeypatch.setattr(ray_launcher, "_nodes", lambda: [(3.0, 0.0), (4.0, 2.0)])
    assert Connection(settings()).slots == 7
    assert Connection(settings(num_cpus=2)).slots == 3
    assert Connection(settings(num_cpus=0.5, num_gpus=1)).slots == 2
    assert Connection(settings(num_cpus=5)).slots == 0


def test_jobs_that_no_node_can_run_any_more_are_a_warning(monkeypatch, caplog):
    waits = iter([([], ["job"]), ([], ["job"]), (["job"], [])])
    ray = SimpleNamespace(
        put=lambda value: value,
        get=lambda reference: reference,
        remote=lambda **_: lambda _: SimpleNamespace(remote=lambda *_: "job"),
        cluster_resources=dict,
        wait=lambda *_, **__: next(waits),
        nodes=lambda: [{"Alive": True, "Resources": {"CPU": 1.0}}],
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray_launcher, "setup_globals", lambda: None)
    launcher = RayLauncher(num_cpus=2, num_gpus=0, max_calls=0)
    launcher.setup(hydra_context=None, task_function=None, config=None)
    assert launcher.launch([["seed=0"]], 0) == ["job"]
    (record,) = caplog.records
    assert "No node of the Ray cluster is large enough for the jobs any more" in record.message


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def interrupting(request):
    """A signal that interrupts this process."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_an_interrupt_while_ray_starts_or_ends_waits_for_it(installed, interrupting, monkeypatch):
    done: list[str] = []

    def init(**_):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Ray sets its own handler
        signal.raise_signal(interrupting)
        done.append("started")

    def shutdown():
        if "ended" in done:
            signal.raise_signal(interrupting)
        done.append("ended")

    node = {"Alive": True, "Resources": {"CPU": 1.0}}
    ray = SimpleNamespace(init=init, shutdown=shutdown, nodes=lambda: [node])
    monkeypatch.setitem(sys.modules, "ray", ray)
    connection = Connection(settings())
    with pytest.raises(KeyboardInterrupt):
        connection.open()
    assert done == ["started", "ended"]
    ray.init = lambda **_: None
    connection.open()
    folder = connection._folder
    with pytest.raises(KeyboardInterrupt):
        connection.close()
    assert done == ["started", "ended", "ended"] and not folder.exists()
    assert signal.getsignal(interrupting) is signal.default_int_handler


MAKE = (
    "import sys; from pathlib import Path; from attnlab.sweeps import ray_launcher as module; "
    "module._TEMPORARY = Path(sys.argv[1]); made = module._new_folder(); "
    "print(made[0], flush=True); sys.stdin.read()"
)


def test_only_the_folder_of_a_killed_process_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_launcher, "_TEMPORARY", tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", MAKE, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        folder = Path(process.stdout.readline().strip())
        (folder / "session").mkdir()
        unlocked = tmp_path / "attnlab-ray-of-an-earlier-version"
        unlocked.mkdir()
        ray_launcher._remove_abandoned()
        assert folder.exists()
        process.kill()
    ray_launcher._remove_abandoned()
    assert folder.exists()  # Ray's last processes may still write to it
    monkeypatch.setattr(ray_launcher, "_SECONDS_WITHOUT_CHANGE", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
        ray_launcher._remove_abandoned()
        assert folder.exists()
    (tmp_path / "attnlab-ray-link").symlink_to(folder)
    own, lock = ray_launcher._new_folder()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {own.name, unlocked.name, "attnlab-ray-link"} and lock.is_locked


def test_settings_of_ray_are_composed(attnlab):
    words = (RAY, "hydra.launcher.num_gpus=half")
    assert_refused(attnlab("-m", *SMALL, "seed=0,1", *words), "hydra.launcher.num_gpus")


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
        found = Cluster(initialize_head=True, head_node_args=args)
        found.add_node(num_cpus=1)
        yield found
        found.shutdown()


@pytest.fixture
def on_cluster(cluster):
    return (RAY, f"hydra.launcher.address={cluster.address}", UNTRACKED)


def pids(attnlab: CommandLine) -> list[int]:
    """The processes of the running jobs."""
    statuses = [json.loads((f / "status.json").read_text()) for f in attnlab.run_folders()]
    return [status["pid"] for status in statuses if status["state"] == "running"]


def started(attnlab: CommandLine, epoch: int = 2) -> int:
    return len([*attnlab.runs.glob(f"*/*/*/weights/epoch_{epoch:03d}.weights.h5")])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, directly or by way of others."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            for child in map(int, path.read_text().split()):
                found += [child, *descendants(child)]
    return found


def is_agent(pid: int) -> bool:
    """Whether a process is an agent of a Ray node."""
    with suppress(OSError):
        return b"Agent" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def folders() -> set[Path]:
    return {*Path("/tmp").glob("attnlab-ray-*")}


@pytest.mark.slow
def test_a_job_larger_than_any_node_is_refused(attnlab, on_cluster):
    words = ("-m", *SMALL, "seed=0,1", *on_cluster, "hydra.launcher.num_cpus=2")
    assert_refused(attnlab(*words), "num_cpus=2", "large enough", "1 CPUs and 0 GPUs")


@pytest.mark.slow
def test_ctrl_c_interrupts_the_jobs_and_a_second_launch_is_refused(attnlab, on_cluster):
    command = ("-m", *SMALL, *ENDLESS, "seed=0,1", *on_cluster)
    with attnlab.start(*command) as process:
        wait_for(lambda: started(attnlab) == 2, process)
        workers = pids(attnlab)
        code, _, err = attnlab(*command)
        assert code == 2 and f"process {process.pid}" in err
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert states(attnlab) == ["killed"] * 2
    assert "0 of 2 jobs are done; the same command runs the others" in err
    wait_for(lambda: not any(map(is_alive, workers)), seconds=20)


@pytest.mark.slow
def test_workers_of_a_search_share_its_storage(attnlab, on_cluster):
    space = "search.space={optimizer.learning_rate: {choice: [0.1, 0.2, 0.3, 0.4]}}"
    search = (space, "search.sampler=grid", "search.trials=4")
    code, out, err = attnlab("-m", *SMALL, "trainer.epochs=1", *search, *on_cluster)
    assert code == 0, err
    assert states(attnlab) == ["completed"] * 4
    rows = table(sweep_folder(attnlab))
    rates = sorted(float(row["optimizer.learning_rate"]) for row in rows)
    assert rates == [0.1, 0.2, 0.3, 0.4]


@pytest.mark.slow
def test_a_lost_node_costs_its_own_job_which_the_same_command_resumes(attnlab, cluster, on_cluster):
    command = ("-m", *SMALL, "trainer.batch_size=1", "trainer.epochs=80", "seed=0,1", *on_cluster)
    with attnlab.start(*command) as process:
        wait_for(lambda: started(attnlab) == 2, process)
        (second,) = cluster.worker_nodes
        cluster.remove_node(second, allow_graceful=False)
        out, err = process.communicate(timeout=240)
    assert process.returncode == 1, err
    assert sorted(row["state"] for row in table(sweep_folder(attnlab))) == ["completed", "killed"]
    assert err.endswith("1 of 2 jobs were interrupted; the same command resumes them\n")
    folders = attnlab.run_folders()
    code, out, err = attnlab(*command)
    assert code == 0, err
    assert attnlab.run_folders() == folders
    assert states(attnlab) == ["completed"] * 2


LOCAL = (*ENDLESS, "seed=0,1", UNTRACKED, RAY, "hydra.launcher.num_cpus=0.5")


@pytest.mark.slow
def test_a_local_cluster_ends_with_the_command(attnlab):
    pytest.importorskip("ray")
    before = folders()
    attnlab.environment["RAY_worker_niceness"] = "0"
    with attnlab.start("-m", *SMALL, *LOCAL) as process:
        wait_for(lambda: started(attnlab) == 2, process)
        children = descendants(process.pid)
        assert len(children) > 3
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert states(attnlab) == ["killed"] * 2
    wait_for(lambda: not any(map(is_alive, children)), seconds=20)
    assert folders() <= before


@pytest.mark.slow
def test_a_local_cluster_that_is_starting_ends_with_the_command(attnlab):
    pytest.importorskip("ray")
    before = folders()
    with attnlab.start("-m", *SMALL, *LOCAL) as process:
        wait_for(lambda: any(map(is_agent, descendants(process.pid))), process)
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    wait_for(lambda: not any(map(is_alive, children)), seconds=20)
    assert folders() <= before


@pytest.mark.slow
def test_the_folder_of_a_killed_local_cluster_is_removed(attnlab, monkeypatch):
    pytest.importorskip("ray")
    before = folders()
    with attnlab.start("-m", *SMALL, *LOCAL) as process:
        wait_for(lambda: started(attnlab) == 2, process)
        monkeypatch.setattr(ray_launcher, "_SECONDS_WITHOUT_CHANGE", 0.0)
        ray_launcher._remove_abandoned()
        (new,) = folders() - before
        agents = [pid for pid in descendants(process.pid) if is_agent(pid)]
        process.kill()
        process.communicate()
    for pid in agents:  # they would end after a minute
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(map(is_alive, agents)), seconds=20)
    ray_launcher._remove_abandoned()
    assert not new.exists()
