"""Mechanisms with a constant state: chunks, weights and steps give the same."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from random_layers import B, H, W, own_past, with_random_weights

from attnlab.attention import DeltaAttention, GatedDeltaAttention, LinearAttention
from attnlab.attention.contract import normal
from attnlab.attention.state import CHUNK

MAKERS = {
    "delta": lambda **settings: DeltaAttention(heads=H, **settings),
    "gated_delta": lambda **settings: GatedDeltaAttention(heads=H, **settings),
    "elu": lambda **settings: LinearAttention(heads=H, **settings),
    "taylor": lambda **settings: LinearAttention(heads=H, feature_map="taylor", **settings),
}
LONG = 2 * CHUNK + 3


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.mark.parametrize(("steps", "masked"), [(5, True), (CHUNK, False), (LONG, True)])
def test_chunks_give_what_the_weights_give(make, steps, masked):
    layer, vectors = with_random_weights(make()), normal(B, steps, W, seed=3)
    mask = np.random.default_rng(5).random((B, steps)) < 0.8
    mask[0, :2] = False  # these queries see nothing
    mask = mask if masked else None
    admitted = {"mask": np.ones((1, 1, 1), bool)}  # leaves only the way by weights
    by_chunks = own_past(layer, vectors, memory_mask=mask)
    by_weights = own_past(layer, vectors, memory_mask=mask, **admitted)
    if masked:
        np.testing.assert_array_equal(by_chunks[0] == 0, by_weights[0] == 0)
    assert_agree(by_chunks, by_weights)


def assert_agree(one, other):
    np.testing.assert_allclose(one[0], other[0], rtol=0, atol=1e-5 * np.abs(other[0]).max())
    for name, value in other[1].items():
        most = 3e-5 * np.abs(value).max()
        np.testing.assert_allclose(one[1][name], value, rtol=0, atol=most, err_msg=name)


# `gated_delta` and `taylor` have all operations of the other two.
@pytest.mark.parametrize(
    ("name", "jit"),
    [("gated_delta", False), ("gated_delta", True), ("taylor", False), ("elu", True)],
)
def test_chunks_compile(name, jit):
    """As a graph of unknown length, and by XLA."""
    layer, vectors = with_random_weights(MAKERS[name]()), normal(B, LONG, W, seed=3)
    unknown = None if jit else [tf.TensorSpec((None, None, W))]
    compiled = tf.function(
        lambda x: own_past(layer, x), input_signature=unknown, jit_compile=jit, autograph=False
    )
    assert_agree(compiled(vectors), own_past(layer, vectors))


def test_a_compiled_program_has_no_weights_that_nobody_uses(make):
    """The largest tensor of a graph is far smaller than T x T."""
    layer, steps = with_random_weights(make()), 32 * CHUNK
    function = tf.function(lambda x: own_past(layer, x)[1]["vectors"], autograph=False)
    used = ancestors(function.get_concrete_function(tf.TensorSpec((1, steps, W))).outputs)
    sizes = [tensor.shape.num_elements() or 0 for op in used for tensor in op.outputs]
    assert max(sizes) < steps**2 / 2


def ancestors(tensors):
    """Return the operations on which tensors depend."""
    operations, todo = {}, [tensor.op for tensor in tensors]
    while todo:
        op = todo.pop()
        if op.name not in operations:
            operations[op.name] = op
            todo += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
    return operations.values()


def test_steps_across_chunks_give_what_the_whole_gives(make):
    layer = with_random_weights(make(short_convolution=3))
    vectors = normal(B, LONG, W, seed=3)
    whole = layer(vectors, vectors, causal=True).context
    cache, at = layer.empty_cache(tf.constant(B), None, W), 0
    shapes = [part.shape for part in tf.nest.flatten(cache)]
    for steps in (CHUNK + 1, 1, 1, LONG - CHUNK - 3):
        part = vectors[:, at : at + steps]
        output, cache = layer.attend_to_past(part, cache, start_index=tf.constant(at))
        np.testing.assert_allclose(output.context, whole[:, at : at + steps], atol=2e-5)
        assert output.weights.shape == (B, H, steps, steps) and not np.any(output.weights)
        assert [part.shape for part in tf.nest.flatten(cache)] == shapes
        at += steps


def test_a_state_has_the_batch_in_front_and_is_wide_in_half_precision(make):
    layer = with_random_weights(make(dtype=keras.DTypePolicy("mixed_bfloat16")))
    vectors = normal(B, 5, W, seed=3)
    _, cache = layer.attend_to_past(vectors, layer.empty_cache(B, 5, W), start_index=0)
    assert cache.shape[0] == B and cache.dtype == tf.float32
    step = normal(B, 1, W, seed=4)
    output, _ = layer.attend_to_past(step, cache, start_index=5)
    other, _ = layer.attend_to_past(step[::-1], tf.gather(cache, [1, 0]), start_index=5)
    np.testing.assert_array_equal(output.context, other.context[::-1])
