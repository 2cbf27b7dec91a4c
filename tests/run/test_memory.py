"""A run that doesn't fit into memory is refused before anything is created."""

from __future__ import annotations

import re

import pytest

from attnlab.cli import main
from attnlab.errors import RequestError
from attnlab.run import memory
from attnlab.run.building import make_model, make_task


def refuse(config):
    task = make_task(config)
    memory.refuse_what_does_not_fit(config, task, task.load(0))


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
    monkeypatch.setattr(memory, "memory", lambda: 100 << 20)
    with pytest.raises(
        RequestError, match=f"{key}: .* this machine has 0.1 GiB.* would fit"
    ) as error:
        refuse(compose(*words))
    size = int(re.search(rf"{key}=(\d+) would fit", str(error.value))[1])
    refuse(compose(*words, f"{key}={size}"))
    with pytest.raises(RequestError):
        refuse(compose(*words, f"{key}={2 * size}"))


LANGUAGE = ("task=language", "data.sentences=200", "trainer.batch_size=1")
DIGITS = ("task=digits", "data.limit=100", "model.units=8", "model.layers=1")


# 4 x 2048 x 2048 of the attention + 2 x 2048 x 8192, times 4 arrays and 4 bytes, in each layer.
DEEP = ("model.units=2048", "model.feed_forward=8192", "model.layers=60")


@pytest.mark.parametrize(
    ("words", "gib"),
    [
        (("task=fib_random", "model=transformer", "attention=multi_head", *DEEP), 45),
        # 10,000 x 10,000 x 4 bytes for each of 4 heads of 2 layers
        ((*LANGUAGE, "task.context=10000", "attention=multi_head", "model.layers=2"), 2.98),
    ],
)
def test_products_of_usual_sizes_are_refused(compose, monkeypatch, words, gib):
    """Fixed: only single sizes above 2,048 were counted, and the weights of attention never."""
    monkeypatch.setattr(memory, "memory", lambda: int(gib * 2**30))
    with pytest.raises(RequestError, match="needs at least .* would fit") as error:
        refuse(compose(*words))
    assert gib < float(re.search(r"least ([\d.]+) GiB", str(error.value))[1]) < 1.2 * gib


def needs(config):
    task = make_task(config)
    return memory._needs(config, task, task.load(0))


def test_a_window_limits_the_weights_of_attention(compose):
    wide, narrow = (
        needs(compose(*LANGUAGE, "task.context=64", "attention=multi_head", *more)).batch
        for more in ((), ("attention.window=8",))
    )
    config = compose(*LANGUAGE, "attention=multi_head")
    heads, layers = config.attention.settings["heads"], config.model.settings["layers"]
    assert wide - narrow == layers * heads * 64 * (64 - 8) * 4


def test_an_image_has_a_step_for_each_patch(compose):
    """Fixed: it had one for each pixel."""
    large, small = (needs(compose(*DIGITS, f"model.patch={side}")).batch for side in (2, 4))
    assert 4 * small < large < 7 * small  # a patch of 2 has more weights of attention


def test_matrices_that_are_applied_once_dont_count_for_each_step(compose):
    """Fixed: scores by location, (units, history), were counted for each step of the history."""
    usual = "task=fib_random", "task.history=400", "attention=luong_global", "model.units=8"
    dot, location = (compose(*usual, f"attention.score={score}") for score in ("dot", "location"))
    more = needs(location).batch - needs(dot).batch
    assert more == 400 * 8 * dot.trainer.batch_size * 4


def test_a_batch_is_on_the_gpu(compose, monkeypatch):
    whole = needs(compose(*DIGITS))
    monkeypatch.setattr("attnlab.run.memory.has_gpu", lambda: True)
    assert needs(compose(*DIGITS)) == (whole.weights, 0)


def test_a_model_without_units_is_named(compose, monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 1)
    config = compose(*DIGITS)
    monkeypatch.setattr(memory, "lookup", lambda *_: None)
    with pytest.raises(RequestError, match=r"^model: .* Use a smaller one\.$"):
        refuse(config)


def test_half_precision_halves_a_batch(compose):
    whole, half = (
        needs(compose(*DIGITS, f"trainer.precision={name}"))
        for name in ("float32", "mixed_float16")
    )
    assert (half.weights, 2 * half.batch) == (whole.weights, whole.batch)


def test_weights_are_counted_as_they_are(compose):
    config = compose("task=fib_random", "model.units=7", "trainer.batch_size=1")
    task = make_task(config)
    data = task.load(0)
    parameters = make_model(config, task).count_params()
    assert memory._needs(config, task, data).weights == 4 * 4 * parameters  # Adam has two moments


def test_usual_models_are_not_refused(compose):
    refuse(compose("task=fib_random", "model.units=2049"))
    assert memory.memory() > 1 << 28


def test_without_a_known_size_of_memory_nothing_is_refused(compose, monkeypatch):
    monkeypatch.delattr("os.sysconf")  # as on Windows
    assert memory.memory() is None
    large = compose("task=fib_random", "model.units=2049")
    refuse(large)
