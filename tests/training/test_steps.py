"""Random draws as a function of seed and step, and the choice of the compiler."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.training import steps
from attnlab.training.steps import Border, RandomStates, is_faster_with_xla, trains_with_xla


@pytest.fixture(scope="module")
def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)])


def drawn(model, states, step: int, draws: int, most) -> set[tuple[int, int]]:
    """The seeds that a step's draws get."""
    states.set(states.seeds(7), tf.constant(step, tf.int64), most)
    generator = model.layers[0].seed_generator
    return {tuple(np.array(generator.next())) for _ in range(draws)}


@pytest.mark.parametrize(("draws", "first"), [(256, (0, 512)), (300, None)])
def test_no_two_steps_draw_the_same_numbers(model, draws, first):
    states = RandomStates(model)
    numbers = [drawn(model, states, step, draws, tf.constant(draws)) for step in (0, 1, 2)]
    assert len(set().union(*numbers)) == 3 * draws
    seed = int(states.seeds(7)[0])
    # The seeds of steps with few draws must not change, or old runs could not be resumed.
    assert ((seed, 512) in numbers[2]) == (first is not None)
    assert drawn(model, states, 2, 3, 1) == {(seed, 512), (seed, 513), (seed, 514)}


def test_many_draws_follow_from_seed_and_step_in_a_compiled_program(model):
    states = RandomStates(model)
    place = tf.function(
        lambda step, draws: states.set(states.seeds(7), step, draws), jit_compile=True
    )
    place(tf.constant(5, tf.int64), tf.constant(300))
    compiled = np.array(states.states[0].value)
    states.set(states.seeds(7), tf.constant(5, tf.int64), tf.constant(300))
    np.testing.assert_array_equal(compiled, states.states[0].value)


# The compiler

WIDE, NARROW = "flags\t\t: fpu avx2 avx512f avx512_vnni", "flags\t\t: fpu avx avx2 fma"


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """Replace the processor's description; None: it has none."""

    def say(flags):
        path = tmp_path / "cpuinfo"
        if flags is not None:
            path.write_text(f"processor\t: 0\n{flags}\nbugs\t\t: avx512f\n")
        monkeypatch.setattr(steps, "_CPUINFO", path)
        steps.has_avx512.cache_clear()

    yield say
    steps.has_avx512.cache_clear()


@pytest.mark.parametrize(("flags", "wide"), [(WIDE, True), (NARROW, False), (None, False)])
def test_the_vectors_of_the_processor_decide(processor, flags, wide):
    processor(flags)
    assert steps.has_avx512() is wide
    assert is_faster_with_xla(256, Border.RECURRENT_TRANSLATOR) is wide
    assert not is_faster_with_xla(257, Border.RECURRENT_TRANSLATOR)


@pytest.mark.parametrize("faster", [True, False])
def test_the_setting_decides_and_auto_takes_the_faster_one(monkeypatch, faster):
    monkeypatch.setattr(steps, "has_gpu", lambda: False)
    assert trains_with_xla(True, faster) and not trains_with_xla(False, faster)
    assert trains_with_xla("auto", faster) is faster
    monkeypatch.setattr(steps, "has_gpu", lambda: True)
    assert trains_with_xla("auto", faster) and not trains_with_xla(False, faster)
