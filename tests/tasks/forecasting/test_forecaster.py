"""Forecasters: every model with every mechanism, and exact small cases."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from mechanisms import mechanisms_for
from small_models import (
    assert_drops_in_training_alone,
    assert_every_weight_learns,
    assert_saves_and_loads,
    combinations,
    settings,
)

from attnlab.attention.bahdanau import BahdanauAttention
from attnlab.attention.luong import LuongGlobalAttention
from attnlab.config.options import option_class, option_content
from attnlab.config.sections import Option
from attnlab.layers.positional_encoding import KINDS
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.measures import nlinear

S, HORIZON = 7, 2
DRAW = np.random.default_rng(31)
HISTORY = DRAW.normal(size=(5, S, 1)).astype(np.float32)
TARGET = DRAW.normal(size=(5, HORIZON)).astype(np.float32)


MODELS = ("rnn", "transformer", "decoder")  # a decoder is an RNN that writes some steps at once


def mechanism(name: str, **changes):
    return option_class("attention", name)(**settings("attention", name), **changes)


def built(model: str, arguments: dict, attention, inputs: int = 0):
    shape = (None, S, 1 + inputs)
    return KIND.models.build(Option(model, arguments), attention, shape, horizon=HORIZON)


def make(model: str, attention: str, inputs: int = 0, **changes):
    keras.utils.set_random_seed(37)
    if model == "decoder":
        model, changes = "rnn", {"at_once": 1, **changes}
    arguments = {**settings("model/settings", f"forecasting_{model}"), **changes}
    return built(model, arguments, functools.partial(mechanism, attention), inputs)


@functools.cache
def made(model: str, attention: str):
    """The same model, cached for tests that don't change it."""
    return make(model, attention)


def plain(attention, **changes):
    """A small RNN without anchor or normalization, whose output is that of its head."""
    keras.utils.set_random_seed(41)
    arguments = {"cell": "gru", "units": 3, "anchor": False, "normalization": "none", **changes}
    return built("rnn", arguments, lambda: attention)


DECODING = [
    n
    for n in mechanisms_for("sunspots")
    if "model.at_once" not in option_content("attention", n)["rules"]
]
PAIRS = [*combinations(MODELS[:2]), *(("decoder", name) for name in DECODING)]
by_pair = pytest.mark.parametrize(("model", "attention"), PAIRS, ids=map("-".join, PAIRS))
# One of each place where a mechanism's weights are.
FEW = [("rnn", "pooling"), ("rnn", "luong_local"), ("transformer", "multi_head")]
FEW += [("decoder", "bahdanau")]
by_few = pytest.mark.parametrize(("model", "attention"), FEW, ids=map("-".join, FEW))


@by_pair
def test_a_forecaster_keeps_its_contract(model, attention):
    forecaster = made(model, attention)
    assert_learns(forecaster)
    assert_attention_is_of_each_window(forecaster, attention)
    longer = np.concatenate([HISTORY, HISTORY], axis=1)
    if forecaster.fixed_length is None:
        assert forecaster(longer).shape == TARGET.shape
        return
    assert forecaster.fixed_length == S
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        forecaster(longer)


def assert_learns(forecaster):
    assert_every_weight_learns(
        forecaster, lambda: tf.reduce_mean((forecaster(HISTORY, training=True) - TARGET) ** 2)
    )


@pytest.mark.parametrize(
    ("positions", "convolution"), [*((kind, 0) for kind in KINDS), ("none", 3)]
)
def test_only_positions_and_convolutions_show_a_transformer_the_order(positions, convolution):
    changes = {"positions": positions, "short_convolution": convolution}
    forecaster = make("transformer", "bahdanau" if convolution else "multi_head", **changes)
    assert_learns(forecaster)
    swapped = HISTORY[:, [1, 0, *range(2, S)]]
    same = np.allclose(forecaster(swapped), forecaster(HISTORY), atol=1e-5)
    assert same == (positions == "none" and not convolution)


@by_few
def test_weights_can_be_saved_and_loaded(model, attention, tmp_path):
    assert_saves_and_loads(made(model, attention), HISTORY, tmp_path)


def assert_attention_is_of_each_window(forecaster, attention):
    weights = forecaster.attention_weights(HISTORY)
    if attention == "none":
        assert weights is None
        return
    weights = np.asarray(weights)
    assert (weights.shape[0], weights.shape[-1]) == (len(HISTORY), S)
    np.testing.assert_array_less(weights.sum(-1), 1 + 1e-5)
    np.testing.assert_allclose(forecaster.attention_weights(HISTORY[2:3]), weights[2:3], atol=1e-6)


@by_few
def test_inputs_count_as_they_are_and_the_series_in_its_own_scale(model, attention):
    forecaster = make(model, attention, inputs=2)
    assert forecaster.normalization == "mean" and forecaster.anchor
    inputs = DRAW.normal(size=(5, S, 2)).astype(np.float32)
    forecast = forecaster(np.concatenate([HISTORY, inputs], axis=-1)).numpy()
    other = forecaster(np.concatenate([HISTORY, -inputs], axis=-1)).numpy()
    assert forecast.shape == TARGET.shape
    assert not np.isclose(forecast, other).any()
    anchored = without_network(forecaster)(np.concatenate([HISTORY, inputs], axis=-1))
    np.testing.assert_allclose(anchored, np.repeat(HISTORY[:, -1], HORIZON, axis=1), rtol=1e-6)


def dense(layer, inputs):
    outputs = inputs @ layer.kernel.numpy()
    return outputs + layer.bias.numpy() if layer.use_bias else outputs


@pytest.mark.parametrize(
    ("model", "attention", "normalization"),
    [*((*pair, "mean") for pair in FEW), *(("rnn", "bahdanau", name) for name in ("none", "last"))],
)
def test_a_level_keeps_its_digits_in_mixed_precision(model, attention, normalization):
    """Fixed: forecasts, and histories outside of training, were bfloat16, with three digits."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        forecaster = make(model, attention, normalization=normalization, anchor=True)
    finally:
        keras.config.set_dtype_policy("float32")
    history = HISTORY + np.float32(1234.5)
    assert forecaster(history).dtype == tf.float32
    np.testing.assert_allclose(
        without_network(forecaster)(history),
        np.repeat(history[:, -1], HORIZON, axis=1),
        rtol=1e-6,
    )


@pytest.mark.parametrize("readout", ["state", "context", "concat", "attentional_state"])
def test_the_head_reads_the_chosen_readout(readout):
    attention = LuongGlobalAttention(score="dot")
    model = plain(attention, readout=readout)
    states = model.encoder(HISTORY)[0].numpy()
    last = states[:, -1]
    scores = np.einsum("bk,bsk->bs", last, states)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    context = np.einsum("bs,bsk->bk", weights, states)
    features = {"state": last, "context": context}
    features["concat"] = np.concatenate([context, last], axis=1)
    if readout == "attentional_state":
        features[readout] = np.tanh(dense(model.combine, features["concat"]))
    expected = dense(model.head, features[readout])
    np.testing.assert_allclose(model(HISTORY), expected, rtol=1e-4, atol=1e-6)


def without_network(model):
    model.head.set_weights([np.zeros_like(weight) for weight in model.head.get_weights()])
    return model


@pytest.mark.parametrize("at_once", [None, 1])
def test_normalization_forecasts_each_window_in_its_own_scale(at_once):
    changes = {"anchor": True, "highway": 2, "at_once": at_once}
    normalized = plain(BahdanauAttention(), normalization="mean", **changes)
    raw = plain(BahdanauAttention(), **changes)
    normalized.linear.set_weights([kernel := np.ones((2, HORIZON), np.float32)])
    raw.linear.set_weights([kernel])
    scale = np.abs(HISTORY).mean(axis=1, keepdims=True) + 0.05
    expected = raw(HISTORY / scale).numpy() * scale[:, 0]
    np.testing.assert_allclose(normalized(HISTORY), expected, rtol=1e-4, atol=1e-5)
    weights = raw.attention_weights(HISTORY / scale)
    np.testing.assert_allclose(normalized.attention_weights(HISTORY), weights, rtol=1e-4, atol=1e-6)
    assert np.isfinite(normalized(np.zeros_like(HISTORY))).all()


@pytest.mark.parametrize("model", MODELS)
def test_with_an_anchor_the_level_doesnt_matter(model):
    """NLinear's normalization; inputs are seen as they are."""
    changes = {"normalization": "last", "anchor": False, "highway": "all"}
    forecaster = make(model, "bahdanau", inputs=1, **changes)
    forecaster.linear.set_weights([kernel := DRAW.normal(size=(S, HORIZON)).astype(np.float32)])
    windows = np.concatenate([HISTORY, HISTORY[::-1]], axis=-1)
    higher = windows + np.float32([8, 0])
    np.testing.assert_allclose(forecaster(higher), forecaster(windows) + 8, rtol=1e-4, atol=1e-5)
    assert not np.allclose(forecaster(windows + np.float32([0, 8])), forecaster(windows), atol=1e-3)
    newest = HISTORY[:, -1]
    expected = newest + (HISTORY[:, :, 0] - newest) @ kernel
    np.testing.assert_allclose(without_network(forecaster)(windows), expected, rtol=1e-4, atol=1e-5)


def drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Walks of some rows and their next steps, at many levels."""
    draw = np.random.default_rng(rows)
    walks = draw.normal(size=(rows, S + HORIZON)).cumsum(axis=1) + draw.normal(size=(rows, 1)) * 9
    return walks[:, :S, None].astype(np.float32), walks[:, S:].astype(np.float32)


@pytest.mark.parametrize(("anchor", "at_once"), [(True, 1), (False, None)])
def test_least_squares_from_the_newest_value_on_are_nlinear(anchor, at_once):
    (train, targets), held_out = drawn(300), drawn(40)
    start = {"highway": "all", "highway_start": "least_squares", "normalization": "last"}
    model = make("rnn", "bahdanau", at_once=at_once, anchor=anchor, **start)
    model.fit_highway((train, targets), held_out)
    windows = train[..., 0].astype(float), targets, HISTORY[..., 0].astype(float)
    expected = nlinear(*windows, (held_out[0][..., 0], held_out[1]))
    assert np.ptp(expected - HISTORY[:, -1]) > 0.1
    np.testing.assert_allclose(model(HISTORY), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["task=sunspots"], ("mean", 0, "zeros")),
        (["task=ett"], ("last", "all", "least_squares")),
        (["task=ett", "model=transformer", "model.highway_start=zeros"], ("last", "all", "zeros")),
    ],
)
def test_auto_follows_the_task(compose, words, expected):
    model = compose(*words, "attention=bahdanau").model.settings
    assert (model["normalization"], model["highway"], model["highway_start"]) == expected


@pytest.mark.parametrize("model", MODELS)
def test_dropout_is_active_only_in_training(model):
    assert_drops_in_training_alone(make(model, "bahdanau", dropout=0.5), HISTORY)


@pytest.mark.parametrize(("preset", "count"), [("book_fib", 11), ("book_fib_attention", 33)])
def test_the_books_presets_have_the_books_parameters(compose, preset, count):
    from attnlab.runner.train import make_model, make_task

    config = compose(f"experiment={preset}")
    assert make_model(config, make_task(config)).count_params() == count
