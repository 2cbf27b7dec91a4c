"""Runs on several devices: the numbers of one device, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import trained
from same_runs import weights

from attnlab.config.sections import TrainerConfig
from attnlab.errors import RequestError
from attnlab.runner.train import prepare
from attnlab.training import step
from attnlab.training.step import strategy_for

KINDS = ("forecaster", "recurrent_translator", "transformer_translator", "classifier", "language")
SMALL = (
    *("task=fib", "task.count=61", "task.history=5", "model.units=3", "trainer.batch_size=8"),
    *("attention=bahdanau", "model.dropout=0.3", "tracking.enabled=false"),
    # The rates of a longer run differ with other schedules.
    *("schedule=constant", "optimizer=sgd", "optimizer.clip_norm=1"),
)


@pytest.fixture
def processors(monkeypatch):
    monkeypatch.setattr(step, "processors", lambda: 4)


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"devices": 5}, "trainer.devices=5: this machine has no GPU, and 4 processors."),
        ({"devices": 3}, "trainer.batch_size=32: 3 devices take equal shares of a batch"),
    ],
)
def test_refused_devices(settings, message):
    with pytest.raises(RequestError, match=message):
        strategy_for(TrainerConfig(**settings))


def test_xla_on_several_devices_is_refused(compose):
    with pytest.raises(RequestError, match="XLA computes on one device: leave trainer.jit=true"):
        prepare(compose("trainer.devices=auto", "trainer.jit=true"), None)


@pytest.mark.usefixtures("processors")
def test_a_process_that_computes_on_one_device_refuses_two():
    tf.constant(0)
    with pytest.raises(RequestError, match="start the run in a new process"):
        strategy_for(TrainerConfig(devices=2))


def test_auto_is_one_device_without_a_gpu():
    assert strategy_for(TrainerConfig(devices="auto")) is None


def test_devices_decide_nothing_and_accumulation_does(compose):
    one, two = compose(), compose("trainer.devices=2")
    assert one.digest == two.digest != compose("trainer.accumulate=2").digest
    assert two.trainer.together == "never"


@pytest.mark.slow
def test_two_devices_train_to_the_weights_of_one():
    command = [sys.executable, "-W", "ignore", trained.__file__, *KINDS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    differences = json.loads(done.stdout)
    assert differences.keys() == {*KINDS} and max(differences.values()) < 1e-5, differences


@pytest.mark.slow
@pytest.mark.parametrize(("first", "then"), [(2, 1), (1, 2)])
def test_a_run_resumes_on_another_number_of_devices(attnlab, first, then):
    attnlab.run(*SMALL, "trainer.epochs=3")
    (whole,) = attnlab.run_folders()
    begun = ["trainer.epochs=2", f"trainer.devices={first}"] + ["trainer.jit=true"] * (first == 1)
    attnlab.run(*SMALL, *begun)
    (resumed,) = {*attnlab.run_folders()} - {whole}
    attnlab.run("resume", resumed, "trainer.epochs=3", f"trainer.devices={then}")
    for epoch in (2, 3):
        name = Path("weights", f"epoch_{epoch:03d}.weights.h5")
        resumed_weights, whole_weights = weights(resumed / name), weights(whole / name)
        for key, array in whole_weights.items():
            np.testing.assert_allclose(resumed_weights[key], array, atol=1e-5)
