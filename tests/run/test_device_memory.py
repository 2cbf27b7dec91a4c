"""A device that is out of memory: the run names a batch that fits."""

from __future__ import annotations

import json

import pytest
import tensorflow as tf

from attnlab.tasks.in_memory import InMemoryLearner

RUN = ("task=fib", "attention=none", "task.count=200", "trainer.epochs=1", "tracking.enabled=false")


@pytest.fixture
def little_memory(monkeypatch):
    """A device with room for some rows at a time."""

    def limit(rows: int) -> None:
        def train(learner, chunk, rates, first_step):
            if chunk.indices.shape[-1] // learner._parts.number > rows:
                raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
            return whole(learner, chunk, rates, first_step)

        whole = InMemoryLearner.train
        monkeypatch.setattr(InMemoryLearner, "train", train)

    return limit


@pytest.mark.parametrize(
    ("rows", "given", "advice"),
    [
        (16, (64, 1), "trainer.batch_size=16 trainer.accumulate=4 fits"),
        (10, (36, 2), "trainer.batch_size=9 trainer.accumulate=8 fits"),
        (0, (8, 1), "No smaller batch fits: use a smaller model."),
    ],
)
def test_a_batch_that_fits_is_named(here, little_memory, rows, given, advice):
    little_memory(rows)
    size, accumulate = given
    words = (f"trainer.batch_size={size}", f"trainer.accumulate={accumulate}")
    code, out, err = here(*RUN, *words)
    assert (code, out) == (2, "")
    message = err.splitlines()[-1]
    assert message.startswith(f"attnlab: trainer.batch_size={size}: the device is out of memory.")
    assert advice in message
    (folder,) = here.run_folders()
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"
    if "fits, " in message:
        code, _, err = here(*RUN, *message.partition("memory. ")[2].split()[:2])
        assert code == 0, err
