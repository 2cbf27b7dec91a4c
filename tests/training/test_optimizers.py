"""Optimizers by name, and the two kinds of clipping."""

import keras
import numpy as np
import pytest

from attnlab.training.optimizers import make_optimizer


def step(name, gradients, **settings) -> list[np.ndarray]:
    """Variables that begin at 1, after one update."""
    variables = [keras.Variable(np.ones_like(gradient)) for gradient in gradients]
    make_optimizer(name, settings).apply([keras.ops.array(g) for g in gradients], variables)
    return [np.asarray(variable) for variable in variables]


GRADIENTS = [np.float32([3.0, 0.0]), np.float32([-4.0])]


def test_sgd_goes_down_the_gradient():
    first, second = step("sgd", GRADIENTS, learning_rate=0.5)
    np.testing.assert_allclose(first, [-0.5, 1.0])
    np.testing.assert_allclose(second, [3.0])


def test_clip_norm_cuts_the_norm_of_all_gradients_together():
    first, second = step("sgd", GRADIENTS, learning_rate=1.0, clip_norm=1.0)
    np.testing.assert_allclose(first, [1 - 3 / 5, 1.0], rtol=1e-6)
    np.testing.assert_allclose(second, [1 + 4 / 5], rtol=1e-6)


def test_clip_value_cuts_each_element():
    first, second = step("sgd", GRADIENTS, learning_rate=1.0, clip_value=3.5)
    np.testing.assert_allclose(first, [-2.0, 1.0])
    np.testing.assert_allclose(second, [4.5])


@pytest.mark.parametrize("name", ["adam", "adamw", "rmsprop"])
def test_an_adaptive_first_step_has_one_length_whatever_the_gradient(name):
    settings = {"weight_decay": 0.0} if name == "adamw" else {}
    first, second = step(name, GRADIENTS, learning_rate=0.01, **settings)
    assert first[0] < 1.0 == first[1]
    assert abs(first[0] - 1) == pytest.approx(abs(second[0] - 1), rel=1e-4)


def test_adamw_decays_weights_without_a_gradient():
    (decayed,) = step("adamw", [np.zeros(3, np.float32)], learning_rate=0.1, weight_decay=0.5)
    np.testing.assert_allclose(decayed, 1 - 0.1 * 0.5)
