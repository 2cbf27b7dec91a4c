"""Dropout, compared with its definition, for single and for stacked runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import attnlab
from attnlab.attention.dropout import Dropout
from attnlab.layers.recurrent import through_time
from attnlab.training.step import substitute_values


def test_all_code_uses_this_dropout_layer():
    # Another layer would draw numbers that depend on how a batch is divided.
    for path in Path(attnlab.__file__).parent.rglob("*.py"):
        assert "layers.Dropout(" not in path.read_text(), path


@pytest.mark.parametrize(("rate", "jit"), [(0.1, False), (0.5, True), (0.93, False)])
def test_dropout_drops_its_share_and_keeps_the_mean(rate, jit):
    layer = Dropout(rate, seed=11)
    drop = tf.function(lambda x: layer(x, training=True), jit_compile=jit)
    values = drop(tf.ones((301, 353))).numpy()
    survives = values != 0
    assert survives.mean() == pytest.approx(1 - rate, abs=0.005)
    np.testing.assert_allclose(values[survives], 1 / (1 - rate), rtol=1e-3)
    for axis in (0, 1):  # rows and columns are dropped no more often than at random
        assert np.abs(survives.mean(axis) - (1 - rate)).max() < 0.12


def test_neighbours_are_dropped_independently():
    survives = Dropout(0.5, seed=2)(tf.ones((1, 200_001)), training=True).numpy()[0] != 0
    for distance in (1, 2, 3, 4, 8):
        assert np.mean(survives[distance:] == survives[:-distance]) == pytest.approx(0.5, abs=0.006)


def test_each_stacked_run_draws_as_if_it_were_alone():
    layer, vectors = Dropout(0.5, noise_shape=(None, 1, 4)), tf.ones((2, 3, 5, 4))
    seeds = tf.constant([[1, 2], [7, 0]], tf.int64)
    with substitute_values([layer.seed_generator.state], [seeds]):
        together = layer(vectors, training=True)
    for run in range(2):
        with substitute_values([layer.seed_generator.state], [seeds[run]]):
            np.testing.assert_array_equal(together[run], layer(vectors[run], training=True))
    assert np.all(together == together[:, :, :1])  # as the shape of the noise has it
    assert set(np.unique(together)) == {0, 2}


def test_each_iteration_of_a_loop_over_time_draws_by_its_number():
    layer, seed = Dropout(0.5), np.array([7, 256])
    state = layer.seed_generator.state

    @tf.function
    def loop(vectors):
        step = lambda index, state, part: (state, (layer(part, training=True),))  # noqa: E731
        with substitute_values([state], [tf.constant(seed, state.dtype)]):
            return through_time(step, (), vectors, [5], "float32")[0]

    outputs = loop(tf.ones((3, 4, 5)))
    for number in range(4):
        with substitute_values([state], [tf.constant(seed + [0, number], state.dtype)]):
            expected = layer(tf.ones((3, 5)), training=True)
        np.testing.assert_array_equal(outputs[:, number], expected)


def test_dropout_changes_the_gradient_as_the_value():
    layer, ones = Dropout(0.3, seed=5), tf.ones((17, 13))
    with tf.GradientTape() as tape:
        tape.watch(ones)
        dropped = layer(ones, training=True)
    np.testing.assert_array_equal(tape.gradient(dropped, ones), dropped)


def test_dropout_is_nothing_without_training_or_rate_and_follows_from_its_seed():
    np.testing.assert_array_equal(Dropout(0.5)(tf.ones((3, 7))), np.ones((3, 7)))
    np.testing.assert_array_equal(Dropout(0.0)(tf.ones((3, 7)), training=True), np.ones((3, 7)))
    first, again = Dropout(0.5, seed=7), Dropout(0.5, seed=7)
    ones = tf.ones((11, 13))
    masks = [np.array(layer(ones, training=True)) for layer in (first, again, first)]
    np.testing.assert_array_equal(masks[0], masks[1])
    assert np.any(masks[0] != masks[2])
