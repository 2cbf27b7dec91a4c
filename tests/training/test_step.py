"""Random draws as a function of seed and step; steps in parts equal those of whole batches."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from trained import RUNS, SGD, SMALL, difference, trained

from attnlab.attention.dropout import Dropout, Part, part_of_batch
from attnlab.encoders.presets import PartialDropout
from attnlab.training.step import Parts, RandomStates, substitute_values


@pytest.fixture(scope="module")
def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)])


def drawn(model, states, step: int, draws: int, most) -> set[tuple[int, int]]:
    """The seeds that a step's draws get."""
    values = states.at(states.seeds(7), tf.constant(step, tf.int64), most)
    with substitute_values(states.variables, values):
        return {tuple(np.array(model.layers[0].seed_generator.next())) for _ in range(draws)}


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
    at = lambda step, draws: states.at(states.seeds(7), step, draws)  # noqa: E731
    arguments = tf.constant(5, tf.int64), tf.constant(300)
    (compiled,), (expected,) = tf.function(at, jit_compile=True)(*arguments), at(*arguments)
    np.testing.assert_array_equal(compiled, expected)


# Parts


def accumulated(compose, kind: str, *words: str) -> float:
    """The difference between batches of 3 times 8 rows and of 24."""
    overrides = *SMALL, *RUNS[kind], *words
    parts = trained(compose(*overrides, "trainer.accumulate=3"))
    return difference(parts, trained(compose(*overrides, "trainer.batch_size=24")))


@pytest.mark.parametrize("shape", [(6, 5), (6, 3, 7), (6, 1, 8)])
@pytest.mark.parametrize("kind", [Dropout, PartialDropout])
@pytest.mark.parametrize("jit", [False, True])
def test_a_part_drops_what_the_whole_batch_drops_in_its_rows(kind, shape, jit):
    layer, state = kind(0.4, seed=5), tf.constant([3, 11], tf.uint32)

    @tf.function(jit_compile=jit, autograph=False)
    def dropped(index, number):
        layer.seed_generator.state.assign(tf.cast(state, layer.seed_generator.state.dtype))
        with part_of_batch(Part(index, number)):
            return layer(tf.ones((shape[0] // number, *shape[1:])), training=True)

    whole = dropped(tf.constant(0), 1)
    for number in (2, 3):
        parts = [dropped(tf.constant(index), number) for index in range(number)]
        assert np.array_equal(tf.concat(parts, 0), whole)
    assert 0 < np.mean(whole == 0) < 1


def test_parts_pad_batches_to_equal_sizes():
    rows = np.arange(14).reshape(2, 7)
    padded = Parts(on_device=2, devices=2).pad(rows, -1)
    assert padded.tolist() == [[*range(7), -1], [*range(7, 14), -1]]
    assert Parts(on_device=7).pad(rows, -1) is rows


@pytest.mark.parametrize("jit", ["false", "true"])
def test_accumulated_batches_of_a_forecaster_equal_a_larger_one(compose, jit):
    assert accumulated(compose, "forecaster", f"trainer.jit={jit}") < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["rmsprop", "adadelta"])
def test_the_gradients_of_an_embedding_are_summed_before_they_are_squared(compose, optimizer):
    words = (*SMALL, *RUNS["recurrent_translator"][len(SGD) :], f"optimizer={optimizer}")
    words += ("optimizer.clip_norm=null", "optimizer.epsilon=0.01")
    parts = trained(compose(*words, "trainer.accumulate=3"))
    assert difference(parts, trained(compose(*words, "trainer.batch_size=24"))) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(RUNS.keys() - {"forecaster"}))
def test_accumulated_batches_equal_a_larger_one(compose, kind):
    assert accumulated(compose, kind) < 1e-6
