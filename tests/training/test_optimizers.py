"""Optimizers by name, and the two kinds of clipping."""

from inspect import signature

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.training.optimizers import make_optimizer


def step(name, gradients, **settings) -> list[np.ndarray]:
    """Variables that start at 1, after one update."""
    variables = [keras.Variable(np.ones_like(gradient)) for gradient in gradients]
    make_optimizer(name, settings).apply([keras.ops.array(g) for g in gradients], variables)
    return [np.asarray(variable) for variable in variables]


GRADIENTS = [np.float32([3.0, 0.0]), np.float32([-4.0])]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"learning_rate": 0.5}, ([-0.5, 1.0], [3.0])),
        ({"learning_rate": 1, "clip_norm": 1.0}, ([1 - 3 / 5, 1.0], [1 + 4 / 5])),
        ({"learning_rate": 1.0, "clip_value": 3.5}, ([-2.0, 1.0], [4.5])),
    ],
)
def test_sgd_goes_down_the_clipped_gradient(settings, expected):
    for variable, values in zip(step("sgd", GRADIENTS, **settings), expected, strict=True):
        np.testing.assert_allclose(variable, values, rtol=1e-6)


PEERS = {"adam": keras.optimizers.Adam, "adamw": keras.optimizers.AdamW}
SETTINGS = {"beta_1": 0.8, "beta_2": 0.98, "epsilon": 1e-3}
CLIPPED = {"clip_norm": 0.7}, {"global_clipnorm": 0.7}


def many_steps(optimizer, jit) -> list[np.ndarray]:
    """Weights and state after 29 steps, one of two gradients coming from a few rows."""
    draw = np.random.default_rng(5)
    variables = [keras.Variable(draw.normal(size=s).astype(np.float32)) for s in [(7, 3), (5,)]]
    optimizer.build(variables)

    @tf.function(jit_compile=jit, autograph=False)
    def update(rows, dense, rate):
        optimizer.learning_rate = rate
        sparse = tf.IndexedSlices(rows, tf.constant([2, 5, 6, 0]), tf.constant([7, 3]))
        optimizer.apply([sparse, dense], variables)

    for number in range(29):
        rows, dense = draw.normal(size=(4, 3)), draw.normal(size=5) * 10.0 ** (number % 5 - 2)
        update(*(tf.constant(x, tf.float32) for x in (rows, dense, 0.1 / (1 + number))))
    return [np.array(variable.numpy()) for variable in [*variables, *optimizer.variables]]


@pytest.mark.parametrize(
    ("name", "clipping", "jit"),
    [
        *[("adam", ({}, {}), False), ("adam", CLIPPED, True), ("adamw", CLIPPED, False)],
        ("adam", ({"amsgrad": True}, {"amsgrad": True}), False),
    ],
)
def test_adam_is_keras_adam_and_so_is_its_state(name, clipping, jit):
    ours, keras_own = clipping
    actual = many_steps(make_optimizer(name, {**SETTINGS, **ours}), jit)
    expected = many_steps(PEERS[name](**SETTINGS, **keras_own), jit)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def matrices_after(optimizer, count=7) -> list[np.ndarray]:
    """A wide matrix, a tall one and a vector after some steps."""
    draw = np.random.default_rng(5)
    shapes = [(3, 8), (9, 4), (5,)]
    variables = [keras.Variable(draw.normal(size=s).astype(np.float32)) for s in shapes]
    for _ in range(count):
        optimizer.apply(
            [keras.ops.array(draw.normal(size=s), "float32") for s in shapes], variables
        )
    return [np.asarray(variable) for variable in variables]


MUON = {"learning_rate": 0.03, "weight_decay": 0.1}


@pytest.mark.skipif(
    "rms_rate" not in signature(keras.optimizers.Muon).parameters, reason="Keras has another scale"
)
def test_muon_is_keras_muon():
    adam = {"adam_weight_decay": 0.1, "adam_lr_ratio": 1, "ns_steps": 5, "rms_rate": 0.2}
    expected = matrices_after(keras.optimizers.Muon(**MUON, **adam))
    for one, other in zip(matrices_after(make_optimizer("muon", MUON)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_muon_steps_along_the_nearest_orthogonal_matrix():
    gradient = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    (moved,) = step("muon", [gradient], learning_rate=1.0, weight_decay=0.0)
    update = (np.ones_like(gradient) - moved) / (0.2 * 6**0.5)
    left, _, right = np.linalg.svd(gradient)
    singular = left.T @ update @ right.T  # diagonal, and near 1
    assert np.abs(singular - np.diag(np.diag(singular))).max() < 1e-3
    assert 0.65 < np.diag(singular).min() < np.diag(singular).max() < 1.25


@pytest.mark.parametrize(
    "name",
    [
        *("embedding/embeddings", "model/vocabulary/kernel", "m/head/k", "m/output/kernel"),
        *("m/follows/kernel", "m/position/positions", "m/encoder/gru_0/gru_cell/bias"),
    ],
)
def test_muon_is_adamw_at_the_borders_of_a_model(name):
    gradient = keras.ops.array([[1.0, -2.0], [3.0, 4.0]])
    ours, peer = (keras.Variable(np.ones((2, 2), np.float32)) for _ in range(2))
    ours._path = name
    make_optimizer("muon", MUON).apply([gradient], [ours])
    make_optimizer("adamw", MUON).apply([gradient], [peer])
    np.testing.assert_allclose(ours, peer, rtol=1e-6)


def test_gradients_of_one_row_are_summed_before_they_are_squared():
    ours, peer = (keras.Variable(np.ones((3, 1), np.float32)) for _ in range(2))
    twice = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([1, 1]), tf.constant([3, 1]))
    settings = {"learning_rate": 0.1, "epsilon": 1.0}
    make_optimizer("adam", settings).apply([twice], [ours])
    keras.optimizers.Adam(**settings).apply([tf.constant([[0.0], [3.0], [0.0]])], [peer])
    np.testing.assert_allclose(ours, peer, rtol=1e-6)
