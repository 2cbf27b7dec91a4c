"""The loss of tokens, compared with its formula, PyTorch, and numeric gradients."""

import numpy as np
import pytest
import tensorflow as tf

from attnlab.tasks.translation.program import token_losses

N, V = 7, 11


def logits(scale=1.0, seed=0):
    return (scale * np.random.default_rng(seed).normal(size=(N, V))).astype(np.float32)


LABELS = np.array([3, 0, 10, 5, 5, 7, 1], np.int32)
UPSTREAM = np.linspace(-1, 2, N).astype(np.float32)


def formula(logits, labels, smoothing):
    x = logits.astype(np.float64)
    shifted = x - x.max(axis=1, keepdims=True)
    log_shares = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    target = np.full(x.shape, smoothing / V)
    target[np.arange(len(labels)), labels] += 1 - smoothing
    gradient = (np.exp(log_shares) - target) * UPSTREAM[:, None]
    return -(target * log_shares).sum(axis=1), gradient


def ours(logits, smoothing, jit=False):
    @tf.function(jit_compile=jit, autograph=False)
    def both(logits, labels):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = token_losses(labels, logits, smoothing)
        return losses, tape.gradient(losses, logits, UPSTREAM)

    return both(tf.constant(logits), tf.constant(LABELS))


@pytest.mark.parametrize(
    "scale, smoothing, jit",
    [(1.0, 0.0, True), (300.0, 0.0, False), (1.0, 0.1, False), (300.0, 0.7, True)],
)
def test_loss_and_gradient_are_the_formula(scale, smoothing, jit):
    values = logits(scale)
    expected = formula(values, LABELS, smoothing)
    for one, other in zip(ours(values, smoothing, jit), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_even_logits_cost_the_logarithm_of_the_vocabulary():
    losses = token_losses(tf.constant([1, 2, 10]), tf.zeros((3, V)), 0.1)
    np.testing.assert_allclose(losses, np.log(V), rtol=1e-6)


def test_no_tokens_give_no_loss():
    assert token_losses(tf.zeros((0,), tf.int32), tf.zeros((0, V)), 0.1).shape == (0,)


def test_nan_logits_give_a_nan_loss():
    broken = logits()
    broken[2, 4] = np.nan
    losses = token_losses(tf.constant(LABELS), tf.constant(broken), 0.1)
    np.testing.assert_array_equal(np.isnan(losses), np.arange(N) == 2)
