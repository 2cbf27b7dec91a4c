"""The loss of tokens and the compiled training of translators, compared with plain loops."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from attnlab.tasks.translation.program import TranslationProgram, token_losses

SOURCES, TARGETS, UNITS = 13, 17, 5
START, END = 2, 3


class States(NamedTuple):
    states: tf.Tensor


class Toy(keras.Model):
    """The smallest translator that a program can train: a bag of words on either side."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.source = keras.layers.Embedding(SOURCES, UNITS)
        self.target = keras.layers.Embedding(TARGETS, UNITS)
        self.drop = keras.layers.Dropout(dropout)
        self.vocabulary = keras.layers.Dense(TARGETS)
        self.source.build(), self.target.build(), self.vocabulary.build((None, UNITS))
        self.built = True

    def encode(self, source, training=None):
        real = ops.cast(source != 0, "float32")[..., None]
        return ops.sum(self.source(source) * real, axis=1) / ops.sum(real, axis=1)

    def decode(self, target, memory, training=None):
        vectors = ops.cumsum(self.target(target), axis=1) + memory[:, None]
        return States(ops.tanh(self.drop(vectors, training=training)))

    def logits(self, states):
        return self.vocabulary(states)

    def draws(self, steps):
        return 1


def make_program(dropout=0.0, weights_seed=19, **settings):
    keras.utils.set_random_seed(weights_seed)
    return TranslationProgram(Toy(dropout), keras.optimizers.Adam(), **settings)


def sentences(number, seed=0):
    """Sources and targets of one to seven words."""
    draw = np.random.default_rng(seed)

    def side(size, start):
        words = draw.integers(4, size, draw.integers(1, 8))
        return np.array([*start, *words, END], np.int32)

    return [(side(SOURCES, []), side(TARGETS, [START])) for _ in range(number)]


def padded(pairs, more=0):
    """A batch; `more` widens it."""
    batch = []
    for side in zip(*pairs, strict=True):
        width = max(map(len, side)) + more
        batch.append(np.stack([np.pad(row, (0, width - len(row))) for row in side]))
    return tuple(batch)


PAIRS = sentences(23)
GROUPS = [PAIRS[:4], PAIRS[4:11], PAIRS[11:12], PAIRS[12:]]
BATCHES = [padded(group) for group in GROUPS]
RATES = [0.03, 0.02, 0.01, 0.04]


def plain_losses(model, pairs, smoothing, training):
    """The mean loss of a token, sentence by sentence, against a one-hot target."""
    entropy = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=smoothing, reduction="sum"
    )
    total, count = 0.0, 0
    for source, target in pairs:
        memory = model.encode(source[None], training=training)
        states = model.decode(target[None, :-1], memory, training=training).states
        total += entropy(ops.one_hot(target[1:], TARGETS), model.logits(states[0]))
        count += len(target) - 1
    return total / count


def plain_training(model, smoothing, steps):
    optimizer, losses = keras.optimizers.Adam(), []
    for pairs, rate in zip(GROUPS[:steps], RATES[:steps], strict=True):
        optimizer.learning_rate = rate
        with tf.GradientTape() as tape:
            loss = plain_losses(model, pairs, smoothing, training=True)
        gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
        # Those of an embedding are summed over its tokens before they are squared.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        optimizer.apply(gradients, model.trainable_variables)
        losses.append(float(loss))
    return losses


def assert_same_weights(first, second, **tolerance):
    for one, other in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


# Under XLA each shape compiles, so there are fewer of them.
@pytest.mark.parametrize(
    "jit, smoothing, steps", [(False, 0.0, 4), (False, 0.1, 4), (True, 0.1, 2)]
)
def test_steps_are_those_of_a_plain_loop_over_sentences(jit, smoothing, steps):
    program = make_program(loss=partial(token_losses, smoothing=smoothing), jit=jit)
    expected = plain_training(plain := make_program().model, smoothing, steps)
    losses, tokens = program.train(BATCHES[:steps], RATES[:steps], 0)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert losses.dtype == np.float64
    np.testing.assert_array_equal(
        tokens, [sum(len(t) - 1 for _, t in group) for group in GROUPS[:steps]]
    )
    assert_same_weights(program.model, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("jit, steps", [(False, 4), pytest.param(True, 1, marks=pytest.mark.slow)])
def test_padding_counts_nothing(jit, steps):
    programs = [make_program(jit=jit) for _ in range(2)]
    losses, tokens = programs[0].train(BATCHES[:steps], RATES[:steps], 0)
    wide = [padded(group, more=3) for group in GROUPS[:steps]]
    wide_losses, wide_tokens = programs[1].train(wide, RATES[:steps], 0)
    np.testing.assert_allclose(wide_losses, losses, rtol=1e-5)
    np.testing.assert_array_equal(wide_tokens, tokens)
    assert_same_weights(*(program.model for program in programs), rtol=1e-4, atol=1e-6)


def test_graph_mode_serves_every_shape_by_one_trace():
    program = make_program()
    program.train(BATCHES, RATES, 0)
    program.evaluate(BATCHES)
    assert program._train.experimental_get_tracing_count() == 1
    assert program._evaluate.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("jit, pairs", [(False, PAIRS), (True, PAIRS[:4])])
def test_scores_are_means_over_tokens_without_smoothing_and_dropout(jit, pairs):
    program = make_program(dropout=0.5, loss=partial(token_losses, smoothing=0.3), jit=jit)
    model = program.model
    scores = program.evaluate(BATCHES if not jit else BATCHES[:1])
    assert scores.loss == pytest.approx(float(plain_losses(model, pairs, 0.0, False)), rel=1e-5)
    assert scores.perplexity == pytest.approx(np.exp(scores.loss))
    hits = []
    for source, target in pairs:
        states = model.decode(target[None, :-1], model.encode(source[None])).states
        hits += list(np.argmax(model.logits(states[0]), axis=-1) == target[1:])
    assert scores.tokens == len(hits)
    assert scores.accuracy == pytest.approx(np.mean(hits))


def test_a_diverged_step_reports_nan():
    losses, _ = make_program().train(BATCHES, [0.1, np.nan, 0.1, 0.1], 0)
    np.testing.assert_array_equal(np.isnan(losses), [False, False, True, True])


def dropout_run(program, start, seed=0, cuts=(4,)):
    """Losses and weights of four steps from the same start, run at once or in parts."""
    variables = [*program.model.variables, *program.optimizer.variables]
    for variable, value in zip(variables, start, strict=True):
        variable.assign(value)
    program.reseed(seed)
    losses, first = [], 0
    for steps in cuts:
        part = slice(first, first + steps)
        losses.append(program.train(BATCHES[:1] * steps, RATES[part], first)[0])
        first += steps
    return np.concatenate(losses), program.model.get_weights()


def test_draws_of_dropout_follow_from_seed_and_step():
    program = make_program(dropout=0.5)
    start = [value.numpy() for value in (*program.model.variables, *program.optimizer.variables)]
    losses, weights = dropout_run(program, start)
    for cuts in ((4,), (1, 3)):
        again, again_weights = dropout_run(program, start, cuts=cuts)
        np.testing.assert_array_equal(losses, again)
        for one, other in zip(weights, again_weights, strict=True):
            np.testing.assert_array_equal(one, other)
    assert not np.array_equal(dropout_run(program, start, seed=1)[0], losses)
    assert len(set(program.train(BATCHES[:1] * 4, np.zeros(4), 0)[0])) == 4


# --- the loss of tokens ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scale, smoothing, jit",
    [(1.0, 0.0, True), (300.0, 0.0, False), (1.0, 0.1, False), (300.0, 0.7, True)],
)
def test_loss_and_gradient_are_the_formula(scale, smoothing, jit):
    draw = np.random.default_rng(0)
    logits = (scale * draw.normal(size=(7, 11))).astype(np.float32)
    labels, upstream = np.array([3, 0, 10, 5, 5, 7, 1], np.int32), np.linspace(-1, 2, 7)
    x = logits.astype(np.float64)
    log_shares = x - x.max(1, keepdims=True)
    log_shares -= np.log(np.exp(log_shares).sum(axis=1, keepdims=True))
    target = np.full(x.shape, smoothing / 11)
    target[np.arange(7), labels] += 1 - smoothing

    @tf.function(jit_compile=jit, autograph=False)
    def both(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = token_losses(tf.constant(labels), logits, smoothing)
        return losses, tape.gradient(losses, logits, upstream.astype(np.float32))

    losses, gradient = both(tf.constant(logits))
    np.testing.assert_allclose(losses, -(target * log_shares).sum(1), rtol=1e-5, atol=1e-6)
    expected = (np.exp(log_shares) - target) * upstream[:, None]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
