"""A step in parts equals the step of the whole batch, random draws included."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from trained import RUNS, SGD, SMALL, difference, trained

from attnlab.attention.draws import Part, drawn, part_of_batch
from attnlab.attention.dropout import Dropout
from attnlab.training.devices import Parts
from attnlab.training.keras_internals import replaced_dropout


def accumulated(compose, kind: str, *words: str) -> float:
    """The difference between batches of 3 times 8 rows and of 24."""
    given = *SMALL, *RUNS[kind], *words
    parts = trained(compose(*given, "trainer.accumulate=3"))
    return difference(parts, trained(compose(*given, "trainer.batch_size=24")))


@pytest.mark.parametrize("shape", [(6, 5), (6, 3, 7), (6, 1, 8)])
@pytest.mark.parametrize("kind", [Dropout, keras.layers.Dropout])
@pytest.mark.parametrize("jit", [False, True])
def test_a_part_drops_what_the_whole_batch_drops_in_its_rows(kind, shape, jit):
    layer, state = kind(0.4, seed=5), tf.constant([3, 11], tf.uint32)

    @tf.function(jit_compile=jit, autograph=False)
    def dropped(index, number):
        layer.seed_generator.state.assign(tf.cast(state, layer.seed_generator.state.dtype))
        with part_of_batch(Part(index, number)), replaced_dropout(drawn):
            return layer(tf.ones((shape[0] // number, *shape[1:])), training=True)

    whole = dropped(tf.constant(0), 1)
    for number in (2, 3):
        parts = [dropped(tf.constant(index), number) for index in range(number)]
        assert np.array_equal(tf.concat(parts, 0), whole)
    assert 0 < np.mean(whole == 0) < 1


def test_parts_pad_batches_to_equal_sizes():
    rows = np.arange(14).reshape(2, 7)
    filled = Parts(on_device=2, devices=2).filled(rows, -1)
    assert filled.tolist() == [[*range(7), -1], [*range(7, 14), -1]]
    assert Parts(on_device=7).filled(rows, -1) is rows


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
