"""A run that doesn't fit into memory is refused before anything is created."""

from __future__ import annotations

import re

import pytest

from attnlab.cli import main
from attnlab.errors import RequestError
from attnlab.run import building
from attnlab.run.building import make_model, make_task


def refuse(config):
    task = make_task(config)
    building.refuse_what_does_not_fit(config, task, task.load(0))


def test_a_model_too_large_for_any_machine_is_refused(capsys, tmp_path):
    """Fixed: the system killed the process."""
    words = ["task=fib", "model.units=1000000000", f"paths.runs={tmp_path}"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("attnlab: model.units: the run needs at least ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["model.units=2048", "attention=luong_global"], "model.units"),
        (["model.units=2048", "attention=multi_head", "model=transformer"], "model.units"),
        (["model.units=64", "trainer.batch_size=8192"], "trainer.batch_size"),
    ],
)
def test_the_suggested_value_fits_and_twice_as_much_doesnt(compose, monkeypatch, words, key):
    words = ["task=fib_random", "task.train_windows=20000", *words]
    monkeypatch.setattr(building, "memory", lambda: 100 << 20)
    monkeypatch.setattr(building, "_ALWAYS_FITS", 1)
    with pytest.raises(
        RequestError, match=f"{key}: .* this machine has 0.1 GiB.* would fit"
    ) as error:
        refuse(compose(*words))
    size = int(re.search(rf"{key}=(\d+) would fit", str(error.value))[1])
    refuse(compose(*words, f"{key}={size}"))
    with pytest.raises(RequestError):
        refuse(compose(*words, f"{key}={2 * size}"))


def test_weights_are_counted_as_they_are(compose):
    config = compose("task=fib_random", "model.units=7", "trainer.batch_size=1")
    task = make_task(config)
    data = task.load(0)
    parameters = make_model(config, task).count_params()
    assert building._needs(config, task, data).weights == 4 * 4 * parameters  # Adam has two moments


def test_usual_models_are_not_refused(compose):
    refuse(compose("task=fib_random", "model.units=2049"))
    assert building.memory() > 1 << 28


def test_without_a_known_size_of_memory_nothing_is_refused(compose, monkeypatch):
    monkeypatch.delattr("os.sysconf")  # as on Windows
    assert building.memory() is None
    large = compose("task=fib_random", "model.units=2049")
    refuse(large)
    assert building.most_that_fit(large, 32) == 32


def test_stacked_runs_need_at_most_half_of_the_memory(compose, monkeypatch):
    small, large = compose("task=fib_random"), compose("task=fib_random", "model.units=300")
    task = make_task(large)
    needs = sum(building._needs(large, task, task.load(0)))
    for runs, fitting in ((40, 32), (12, 8), (2, 2), (0.5, 1)):
        monkeypatch.setattr(building, "memory", lambda runs=runs: int(2 * runs * needs) + 1)
        assert building.most_that_fit(large, 32) == fitting
        assert building.most_that_fit(small, 32) == 32
    missing = compose("task=series", "task.path=no.csv", "task.column=x", "model.units=300")
    assert building.most_that_fit(missing, 32) == 32
