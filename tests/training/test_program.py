"""The compiled epoch, compared with a plain loop over Keras layers."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.none import NoAttention
from attnlab.tasks.forecasting.models import RecurrentForecaster
from attnlab.training.plan import plan_in_order, shuffled_plan
from attnlab.training.program import Compiled, Program
from attnlab.training.step import InMemoryModel

ROWS, STEPS_IN, HORIZON = 23, 5, 2
RATES = np.linspace(0.03, 0.01, 7)


def squared_error(target, output):
    return tf.reduce_mean(tf.square(target - output), axis=-1)


def data():
    draw = np.random.default_rng(29)
    inputs = draw.normal(size=(ROWS, STEPS_IN, 1)).astype(np.float32)
    return inputs, draw.normal(size=(ROWS, HORIZON)).astype(np.float32)


class Stack(InMemoryModel):
    """Layers one after another."""

    def __init__(self, layers):
        super().__init__()
        self.stack = keras.Sequential(layers)
        self.built = True

    def call(self, inputs, training=None):
        return self.stack(inputs, training=training)


def make_model(dropout=0.0):
    keras.utils.set_random_seed(17)
    layers = [keras.layers.SimpleRNN(3), keras.layers.Dropout(dropout), keras.layers.Dense(HORIZON)]
    return Stack([keras.Input((STEPS_IN, 1)), *layers])


def program_of(model, optimizer, inputs, targets, lengths=None, jit=False):
    compiled = Compiled(model, optimizer, squared_error, jit=jit)
    settings = {"lengths": lengths, "compiled": compiled}
    return Program(model, optimizer, squared_error, inputs, targets, **settings)


def make_program(dropout=0.0, **settings):
    optimizer = keras.optimizers.Adam(0.1)
    return program_of(make_model(dropout), optimizer, *data(), **settings)


def plain_epoch(model, optimizer, plan, rates) -> list[float]:
    """The same steps one by one, only on real rows."""
    inputs, targets = data()
    losses = []
    for rows, real, rate in zip(plan.indices, plan.weights, rates, strict=True):
        rows = rows[real == 1]
        optimizer.learning_rate = rate
        with tf.GradientTape() as tape:
            outputs = model(inputs[rows], training=True)
            loss = keras.losses.MeanSquaredError()(targets[rows], outputs)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
        losses.append(float(loss))
    return losses


def assert_same_weights(first, second, **tolerance):
    for one, other in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@pytest.mark.parametrize("jit", [False, True])
def test_two_epochs_are_those_of_a_plain_loop(jit):
    program, model = make_program(jit=jit), make_model()
    optimizer = keras.optimizers.Adam()
    for epoch in (1, 2):
        # 23 rows in batches of 4: the last batch has one row to fill up.
        plan = shuffled_plan(np.arange(ROWS), 4, seed=3, epoch=epoch)
        assert plan.sizes[-1] == 3
        losses = program.train(plan, RATES[:6], (epoch - 1) * 6).values
        expected = plain_epoch(model, optimizer, plan, RATES[:6])
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert_same_weights(program.model, model, rtol=1e-4, atol=1e-6)


def test_every_epoch_is_served_by_one_trace():
    program = make_program()
    for epoch in (1, 2, 3):
        plan = shuffled_plan(np.arange(ROWS), 4, seed=epoch, epoch=epoch)
        program.train(plan, RATES[:6] / epoch, epoch * 6)
        program.evaluate(np.arange(epoch, ROWS))
    assert program.compiled._train.experimental_get_tracing_count() == 1
    assert program.compiled._predict.experimental_get_tracing_count() == 1


def test_no_value_of_a_plan_is_compiled_in():
    # XLA compiles anew for every value of a compile-time constant, and says nothing.
    model = RecurrentForecaster(attention=NoAttention(), horizon=HORIZON, cell="simple", units=3)
    model.build((None, STEPS_IN, 1))
    program = program_of(model, keras.optimizers.Adam(), *data(), jit=True)
    compiled, calls = program.compiled, []
    train = compiled._train
    compiled._train = lambda *arguments: calls.append(arguments) or train(*arguments)
    for epoch in (1, 2):
        plans = [shuffled_plan(np.arange(ROWS), 4, seed=seed, epoch=epoch) for seed in (1, 2)]
        steps = [program.request(plan, RATES[:6] / epoch, epoch) for plan in plans]
        for runs in (steps[:1], steps):
            compiled.train(runs)
    lowered = [train.experimental_get_compiler_ir(*arguments)(stage="hlo") for arguments in calls]
    assert lowered[:2] == lowered[2:] and lowered[0] != lowered[1]


def test_values_are_current_before_the_model_is_requested():
    program = make_program(dropout=0.5)
    plan = shuffled_plan(np.arange(ROWS), 4, 1, 1)
    program.train(plan, RATES[:6], 0)
    values = program.values()
    variables = program.model.variables
    assert len(values) == len(variables) > len(program.model.trainable_variables)
    for value, variable in zip(values, variables, strict=True):
        np.testing.assert_array_equal(value, variable.numpy())
    variables[0].assign(values[0] + 1.0)  # as by who restores a checkpoint
    np.testing.assert_array_equal(program.values()[0], values[0] + 1.0)


def test_predictions_are_in_order_and_losses_are_means_over_rows():
    program = make_program()
    inputs, targets = data()
    rows = np.array([13, 2, 17, 3, 5])
    expected = program.model(inputs[rows]).numpy()
    np.testing.assert_allclose(program.predict(rows), expected, rtol=1e-5, atol=1e-6)
    mean = np.mean((targets[rows] - expected) ** 2)
    assert program.evaluate(rows) == pytest.approx(mean, rel=1e-5)
    assert program.predict(np.arange(0)).shape == (0, HORIZON)
    outputs = program.predict(np.tile(rows, 61)).reshape(61, 5, HORIZON)  # in several batches
    np.testing.assert_allclose(outputs, np.tile(expected, (61, 1, 1)), rtol=1e-5, atol=1e-6)
    dropping_program = begun()
    first, second = (dropping_program.predict(rows) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@functools.cache
def dropping() -> Compiled:
    """A program with dropout, compiled once."""
    return make_program(dropout=0.5).compiled


def begun(seed: int = 0) -> Program:
    parts = make_model(0.5), keras.optimizers.Adam(0.1), squared_error
    return Program(*parts, *data(), seed=seed, compiled=dropping())


def dropout_losses(seed=0, splits=(7,)) -> tuple[np.ndarray, list[np.ndarray]]:
    """Losses and weights of seven steps with dropout, run at once or in parts."""
    program = begun(seed)
    plan = plan_in_order(np.tile(np.arange(4), 7), 4)
    losses, first = [], 0
    for steps in splits:
        part = slice(first, first + steps)
        cut = type(plan)(plan.indices[part], plan.weights[part])
        losses.append(program.train(cut, RATES[part], first).values)
        first += steps
    return np.concatenate(losses), program.model.get_weights()


@pytest.fixture(scope="module")
def uncut():
    return dropout_losses()


@pytest.mark.parametrize("splits", [(1, 6), (1,) * 7])
def test_dropout_depends_only_on_seed_and_step(uncut, splits):
    losses, weights = uncut
    cut_losses, cut_weights = dropout_losses(splits=splits)
    np.testing.assert_array_equal(losses, cut_losses)
    for one, other in zip(weights, cut_weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_dropout_differs_from_step_to_step_and_from_seed_to_seed(uncut):
    program = begun()
    still = program.train(plan_in_order(np.tile(np.arange(4), 7), 4), np.zeros(7), 0).values
    assert len(set(still)) == 7
    assert not np.array_equal(dropout_losses(seed=1)[0], uncut[0])


class MeanOfWords(InMemoryModel):
    """Maps padded tokens (B, S) to two numbers; records the length of its inputs."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = keras.layers.Embedding(9, 3), keras.layers.Dense(HORIZON)
        self.read: list[int] = []

    def build(self, shape):
        self.embedding.build(shape)
        self.head.build((None, 3))

    def call(self, tokens, training=None):
        tf.py_function(lambda width: self.read.append(int(width)), [tf.shape(tokens)[1]], [])
        real = tf.cast(tokens > 0, tf.float32)[..., None]
        return self.head(tf.reduce_sum(self.embedding(tokens) * real, 1) / tf.reduce_sum(real, 1))


def words() -> tuple[np.ndarray, np.ndarray]:
    lengths = np.random.default_rng(3).integers(1, 8, ROWS)
    places = np.arange(11) < lengths[:, None]
    return np.random.default_rng(5).integers(1, 9, places.shape) * places, lengths


def word_program(has_lengths: bool) -> Program:
    keras.utils.set_random_seed(23)
    model, (tokens, lengths) = MeanOfWords(), words()
    model.build((None, 11))
    parts = model, keras.optimizers.Adam(), tokens.astype(np.int32), data()[1]
    return program_of(*parts, lengths if has_lengths else None)


def test_padding_of_a_whole_batch_is_not_read_and_nothing_else_changes():
    programs, (_, lengths) = [word_program(has_lengths) for has_lengths in (True, False)], words()
    plan = shuffled_plan(np.arange(ROWS), 4, seed=3, epoch=1)
    rows = np.array([22, 3, 17, 5, 11])
    losses = [program.train(plan, RATES[:6], 0).values for program in programs]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    outputs = [program.predict(rows) for program in programs]
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-4, atol=1e-6)
    assert_same_weights(*(program.model for program in programs), rtol=1e-4, atol=1e-6)
    real = np.where(plan.weights > 0, lengths[plan.indices], 0)
    assert programs[0]._model.read == [*real.max(axis=1), lengths[rows].max()]
    assert set(programs[1]._model.read) == {11}
