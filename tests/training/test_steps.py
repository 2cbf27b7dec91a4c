"""Random draws as a function of seed and step."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.training.steps import RandomStates


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
    steps = [drawn(model, states, step, draws, tf.constant(draws)) for step in (0, 1, 2)]
    assert len(set().union(*steps)) == 3 * draws
    seed = int(states.seeds(7)[0])
    # The seeds of steps with few draws must not change, or old runs could not be resumed.
    assert ((seed, 512) in steps[2]) == (first is not None)
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
