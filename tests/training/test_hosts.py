"""Runs on several hosts: who they are, the numbers of one device, and lost hosts."""

from __future__ import annotations

import dataclasses
import json
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import trained
import two_hosts
from same_runs import assert_same_run, weights

from attnlab.config.sections import TrainerConfig
from attnlab.errors import HostLost, RequestError
from attnlab.run import several_hosts
from attnlab.run.building import make_learner, make_task
from attnlab.training import devices
from attnlab.training.devices import check_devices
from attnlab.training.hosts import Hosts, hosts_of_this_run, lost_hosts_explained

KINDS = ("forecaster", "recurrent_translator", "transformer_translator", "classifier", "language")
WORKERS = {"worker": ["a:1", "b:2"]}
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "2",
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_NODELIST": "n[09-10]",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
}
RUN = (
    *("task=fib", "attention=bahdanau", "model.units=5", "trainer.devices=2", "model.dropout=0.2"),
    *("trainer.batch_size=8", "trainer.checkpoint_every_seconds=0", "trainer.epochs=12"),
    "tracking.enabled=false",
)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    for name in ("TF_CONFIG", *SLURM):
        monkeypatch.delenv(name, raising=False)


def named(monkeypatch, cluster, **task):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))


def test_hosts_of_tf_config(monkeypatch):
    named(monkeypatch, WORKERS, type="worker", index=1)
    assert hosts_of_this_run() == Hosts(("a:1", "b:2"), 1)


def test_the_chief_of_tf_config_is_the_first_host(monkeypatch):
    named(monkeypatch, {"chief": ["c:3"], **WORKERS}, type="worker", index=0)
    assert hosts_of_this_run() == Hosts(("c:3", "a:1", "b:2"), 1)


def test_one_host_is_none(monkeypatch):
    named(monkeypatch, {"worker": ["a:1"]}, type="worker", index=0)
    assert hosts_of_this_run() is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{}", "names no hosts: add cluster.worker, or unset TF_CONFIG"),
        ('{"cluster": {"worker": []}}', "names no hosts"),
        ("{", "expected JSON such as"),
        ("[]", "expected JSON such as"),
        ('{"cluster": {"worker": 3}}', "expected JSON such as"),
        ('{"cluster": {"ps": ["c:3"], "worker": ["a:1"]}}', "chief or worker, got ps"),
        ('{"cluster": {"worker": ["a:1", "b"]}}', "expected addresses HOST:PORT, got b"),
        ('{"cluster": {"worker": ["a:1", "b:99999"]}}', "expected addresses HOST:PORT, got b"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"index": 1}}', "task worker 1 is not in"),
    ],
)
def test_wrong_tf_config(monkeypatch, config, message):
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(RequestError, match=message) as error:
        check_devices(TrainerConfig(devices=2))
    assert "\n" not in str(error.value)


def test_one_device_needs_no_hosts(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    check_devices(TrainerConfig())


def test_hosts_of_slurm(monkeypatch):
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    found = hosts_of_this_run()
    assert found is not None and found.index == 2
    names, ports = zip(*(each.split(":") for each in found.addresses), strict=True)
    assert names == ("n09", "n09", "n10")
    assert int(ports[1]) == int(ports[0]) + 1 and ports[2] == ports[0]


def test_slurm_must_fill_host_after_host(monkeypatch):
    for name, value in (SLURM | {"SLURM_LOCALID": "1"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RequestError, match="srun --distribution=block"):
        hosts_of_this_run()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"devices": 4}, "2 hosts without a GPU have 2 devices in all: use 2 or auto"),
        ({"devices": "auto", "batch_size": 31}, "trainer.batch_size=31: 2 devices take equal"),
    ],
)
def test_wrong_devices_of_hosts(monkeypatch, settings, message):
    named(monkeypatch, WORKERS, type="worker", index=0)
    monkeypatch.setattr(devices, "_may_span_hosts", False)
    with pytest.raises(RequestError, match=message):
        devices.hosts_for(TrainerConfig(**settings))


def test_a_port_in_use(monkeypatch):
    with socket.create_server(("", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(RequestError, match="of this host can't be used"):
            Hosts((address, "127.0.0.1:1"), 0).connect(gpus=0)


def test_only_a_run_of_its_own_has_several_hosts(monkeypatch):
    named(monkeypatch, WORKERS, type="worker", index=1)
    with pytest.raises(RequestError, match="only `attnlab` with one run and `attnlab resume`"):
        check_devices(TrainerConfig(devices=2))


def test_a_lost_host_is_named():
    with pytest.raises(HostLost, match="the first host, a:1, has ended"):
        with lost_hosts_explained(Hosts(("a:1", "b:2"), 1)):
            raise tf.errors.UnavailableError(None, None, "Socket closed")


@pytest.mark.slow
def test_two_hosts_train_to_the_weights_of_one_device():
    command = [sys.executable, "-W", "ignore", trained.__file__, *KINDS]
    hosts = [
        subprocess.Popen(
            ["env", f"TF_CONFIG={config}", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for config in two_hosts.tf_configs()
    ]
    for outcome in two_hosts.ended(hosts):
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        assert found.keys() == {*KINDS} and max(found.values()) < 1e-5, found


def until_epoch(runs: Path, epoch: int) -> None:
    """Wait until a run has trained an epoch."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for path in runs.glob("*/*/*/status.json"):
            if json.loads(path.read_text()).get("epoch", 0) >= epoch:
                return
        time.sleep(0.02)
    raise AssertionError("no run has got so far")


@pytest.mark.slow
def test_a_run_goes_on_after_the_loss_of_any_host(attnlab):
    for outcome in two_hosts.run(attnlab, *RUN):
        assert outcome.code == 0, outcome
    assert outcome.out == outcome.err == ""  # of the second host
    (whole,) = attnlab.run_folders()
    expected = whole.rename(attnlab.folder / "whole")

    chief, worker = two_hosts.start(attnlab, *RUN)
    until_epoch(attnlab.runs, 2)
    worker.kill()
    lost, _ = two_hosts.ended([chief, worker])
    assert lost.code == 1
    assert lost.err.splitlines()[-1] == (
        "attnlab: the run failed: another host has ended or can't be reached. attnlab resume "
        "latest continues it."
    )
    (run,) = attnlab.run_folders()
    alone = attnlab.folder / "alone" / run.relative_to(attnlab.runs)
    shutil.copytree(run, alone)

    chief, worker = two_hosts.start(attnlab, "resume", run)
    until_epoch(attnlab.runs, 6)
    chief.kill()
    _, lost = two_hosts.ended([chief, worker])
    assert lost.code == 1 and "the first host, 127.0.0.1:" in lost.err
    assert len(lost.err.splitlines()) == 1

    assert [each.code for each in two_hosts.run(attnlab, "resume", run)] == [0, 0]
    assert_same_run(run, expected)

    code, _, err = attnlab("resume", alone, "trainer.devices=1")
    assert code == 0, err
    name = Path("weights", "epoch_012.weights.h5")
    found, whole_run = weights(alone / name), weights(expected / name)
    for key, array in whole_run.items():
        np.testing.assert_allclose(found[key], array, atol=1e-5)


def test_wrong_variables_of_slurm(monkeypatch):
    for name, value in (SLURM | {"SLURM_PROCID": "3"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RequestError, match="expected the variables that srun sets"):
        hosts_of_this_run()


class Heard:
    """In place of `Messages`: stores what this host tells the others."""

    flags: tuple[bool, ...] = ()

    def failed(self, here):
        self.flags = (*self.flags, here)


@pytest.mark.parametrize(("digest", "failed"), [("other", True), (None, False)])
def test_a_worker_needs_the_same_data(compose, digest, failed):
    config, messages = compose("task=fib", "attention=none"), Heard()
    digest = digest or make_task(config).load(config.seed).digest
    refused = pytest.raises(RequestError, match="other data than the first")
    with refused if failed else nullcontext():
        several_hosts._loaded(messages, dataclasses.asdict(config), digest)
    assert messages.flags == (failed,)


@pytest.mark.parametrize("gpu", [True, False])
def test_hosts_with_gpus_make_the_batches_of_one_gpu(monkeypatch, compose, gpu):
    """A translator pads and groups sentences for XLA, which one GPU always uses."""
    monkeypatch.setattr("attnlab.training.steps.has_gpu", lambda: gpu)
    monkeypatch.setattr("attnlab.tasks.translation.learner.has_gpu", lambda: gpu)
    config = compose("task=translate", "data.pairs=300", "model.units=4", "trainer.batch_size=200")
    task = make_task(config)
    task.load(config.seed)
    of_hosts = config.with_values({"trainer.jit": several_hosts.Workers(Heard()).compiler})
    alone, hosts = (make_learner(each, task).chunks(1) for each in (config, of_hosts))
    assert all(np.array_equal(*rows) for rows in zip(sum(alone, []), sum(hosts, []), strict=True))


@pytest.mark.slow
def test_a_wrong_setting_ends_both_hosts(attnlab):
    words = ("task=fib", "task.count=40", "task.history=39", "trainer.devices=2")
    chief, worker = two_hosts.run(attnlab, *words)
    assert chief.code == 2 and "task.history" in chief.err
    assert (worker.code, worker.out, worker.err) == (0, "", "")


FAILING = """
import tensorflow as tf
from attnlab.tasks.in_memory import InMemoryLearner
def train(*_):
    raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating")
InMemoryLearner.train = train
from attnlab.cli import run
run()
"""


@pytest.mark.slow
def test_an_error_of_the_chief_in_a_step_ends_both_hosts(attnlab):
    """The worker waits in the step, where it would not hear that it should end."""
    configs = two_hosts.tf_configs()
    programs = ("-c", FAILING), ("-m", "attnlab")
    hosts = [
        subprocess.Popen(
            [sys.executable, *program, *RUN],
            env={**attnlab.environment, "TF_CONFIG": config},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for program, config in zip(programs, configs, strict=True)
    ]
    chief, worker = two_hosts.ended(hosts)
    assert chief.code == 2
    assert "the device is out of memory. Use a smaller batch" in chief.err.splitlines()[-1]
    assert worker.code == 1 and "the first host, 127.0.0.1:" in worker.err


def greeting(port: int, index: int) -> socket.socket:
    """A worker that has greeted the chief."""
    end = time.monotonic() + 10
    while True:
        try:
            worker = socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.02)
        else:
            worker.sendall(str(index).encode())
            return worker


def test_a_worker_that_ends_before_all_are_here_is_waited_for_again():
    address = json.loads(two_hosts.tf_configs()[0])["cluster"]["worker"][0]
    port = int(address.rpartition(":")[2])
    with ThreadPoolExecutor(1) as pool:
        meeting = pool.submit(Hosts((address, "b:1", "c:1"), 0)._meet)
        greeting(port, 1).close()
        with greeting(port, 2) as second:
            time.sleep(0.3)
            assert not meeting.done()
            with greeting(port, 1) as first:
                assert first.recv(9) == second.recv(9) == b"all"
        meeting.result(10)


@pytest.mark.slow
def test_hosts_that_do_not_start(attnlab):
    patience = "from attnlab.training import hosts; hosts.PATIENCE = 3.0; "
    config = two_hosts.tf_configs()[0]
    done = subprocess.run(
        [sys.executable, "-c", f"{patience}from attnlab.cli import run; run()", *RUN],
        env={**attnlab.environment, "TF_CONFIG": config},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "start the same command on each host" in done.stderr.splitlines()[-1]
    assert not attnlab.run_folders()
