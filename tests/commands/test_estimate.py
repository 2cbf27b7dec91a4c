"""`attnlab estimate`: what a run takes, from a few measured steps."""

import json

import numpy as np
import pytest
import tensorflow as tf

from attnlab.run.estimating import _measured, _validation
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.terminal import duration

FORECASTER = ("task=fib", "task.count=60", "model.units=3", "trainer.epochs=4")
OTHERS = {
    "translate": ("task=translate", "data.pairs=300", "model.units=8"),
    "classify": ("task=digits", "data.limit=200", "model.units=8", "model.layers=1"),
    "language": ("task=language", "data.sentences=100", "model.units=8", "attention.heads=2"),
}


def estimated(here, *words):
    """Return the numbers of `attnlab estimate`, and check that it stores no run."""
    outcome = here("estimate", *words, "--json", "--seconds", "0.5")
    assert outcome.code == 0, outcome.err
    assert not here.runs.exists()
    return json.loads(outcome.out)


def test_numbers_are_those_of_the_run(here, no_figures):
    found = estimated(here, *FORECASTER)
    assert found["epochs"] == 4 and found["measured_steps"] >= 2
    epoch = found["steps_per_epoch"] * found["step"] + found["validation"]
    assert found["seconds"] == pytest.approx(found["preparing"] + 4 * epoch)
    assert 0.1 < found["memory"] / 2**30 < found["memory_there"] / 2**30
    assert here("-v", *FORECASTER, "tracking.enabled=false").code == 0
    (folder,) = here.runs.glob("fib/*/*")
    assert json.loads((folder / "metrics.json").read_text())["parameters"] == found["parameters"]
    assert "batch plan: 6 steps an epoch" in (folder / "run.log").read_text()
    assert found["steps_per_epoch"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHERS)
def test_other_kinds_are_measured(here, kind):
    found = estimated(here, *OTHERS[kind])
    assert found["step"] > 0 and found["validation"] > 0


class Steps(int):
    """A chunk of this many steps."""

    @property
    def steps(self):
        return int(self)

    def first(self, steps):
        return Steps(min(steps, self))


@pytest.mark.parametrize(
    ("step", "limit", "measured", "expected"),
    [
        (0.001, 100.0, 3000, 0.001002),  # 2 steps took 0.004 s, so 2 s are 1,000 steps
        (0.1, 4.0, 3 * 2, 0.101),  # there is no time to measure more steps at once
        (60.0, 20.0, 2, 60.001),
    ],
)
def test_a_step_is_measured_without_compiling(monkeypatch, step, limit, measured, expected):
    now, compiled = 0.0, set()

    class Learner:
        def train(self, chunk, rates, first_step):
            nonlocal now
            assert not np.any(rates)
            now += 0.002 + chunk.steps * step + (0.0 if chunk.steps in compiled else 9.0)
            compiled.add(chunk.steps)

    monkeypatch.setattr("attnlab.run.estimating.time.perf_counter", lambda: now)
    found = _measured(Learner(), Steps(1000), limit)
    assert found.compiling == pytest.approx(9.0)
    assert found.count == measured and found.seconds == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("epochs", "scored"), [(20, 5), (21, 6), (1, 1)])
def test_only_some_validations_have_scores(compose, monkeypatch, epochs, scored):
    """Fixed: the first epoch was measured, which `task.score_every` leaves out."""
    now, compiled = 0.0, False

    class Learner:
        def validate(self, epoch):
            nonlocal now, compiled
            now += 1.0 + (8.0 if epoch % 4 == 0 or epoch == epochs else 0) + 3.0 * (not compiled)
            compiled = True

    monkeypatch.setattr("attnlab.run.estimating.time.perf_counter", lambda: now)
    config = compose("task=translate", "task.score_every=4", f"trainer.epochs={epochs}")
    found = _validation(Learner(), config, enough=60)
    assert found.seconds * epochs == pytest.approx(epochs + 8.0 * scored)
    assert found.compiling == pytest.approx(3.0)


def test_a_device_out_of_memory_is_one_sentence(here, monkeypatch):
    def train(*_):
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")

    monkeypatch.setattr(InMemoryLearner, "train", train)
    outcome = here("estimate", *FORECASTER)
    assert outcome.code == 2
    assert outcome.err.startswith("attnlab: trainer.batch_size=4: the device is out of memory.")


def test_the_table_has_units_and_says_what_it_leaves_out(here):
    outcome = here("estimate", *FORECASTER, "--seconds", "0.1")
    rows = dict(line.split(maxsplit=1) for line in outcome.out.splitlines() if line[:1] != "b")
    assert rows["parameters"].strip().isdigit() and "4 epochs of 6" in rows["steps"]
    assert "without scoring the test part" in outcome.out and "this machine has" in outcome.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("task=fbi",), "fib"),
        (("task=fib", "trainer.epochs=0"), "trainer.epochs"),
        (("task=fib", "model.units=100000"), "would fit"),
        (("-m", "task=fib"), "-m"),
    ],
)
def test_wrong_words_are_refused_as_those_of_a_run(here, words, expected):
    outcome = here("estimate", *words)
    assert outcome.code == 2 and expected in outcome.err
    (line,) = outcome.err.splitlines()  # Hydra adds none
    assert line.startswith("attnlab: ")


def test_times_have_units():
    assert [duration(each) for each in (0.0008, 12, 300, None)] == [
        "0.0008 s",
        "12 s",
        "5 min",
        "-",
    ]
