"""Impossible settings and inputs: the error names the setting and the values."""

import numpy as np
import pytest

from attnlab.attention import (
    LuongGlobalAttention,
    LuongLocalAttention,
    MultiHeadAttention,
    PoolingAttention,
    ScaledDotProductAttention,
)
from attnlab.errors import RequestError


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: LuongGlobalAttention(score="dto"),
            "score must be one of dot, general, concat, location, got 'dto'",
        ),
        (
            lambda: LuongLocalAttention(score="location"),
            "score must be one of dot, general, concat, got 'location'",
        ),
        (
            lambda: LuongLocalAttention(alignment="diagonal"),
            "alignment must be one of monotonic, predictive, got 'diagonal'",
        ),
        (lambda: LuongLocalAttention(window=0), "window must be at least 1, got 0"),
        (lambda: PoolingAttention(dropout=1.0), "dropout must be at least 0 and below 1, got 1.0"),
        (lambda: ScaledDotProductAttention(units=3), "units=3 has no effect without project=true"),
        (lambda: LuongGlobalAttention(units=3), "units=3 has no effect without score=concat"),
        (lambda: LuongGlobalAttention(max_length=9), "max_length=9 .* without score=location"),
        (
            lambda: LuongLocalAttention(alignment="monotonic", units=3),
            "units=3 has no effect without alignment=predictive or score=concat",
        ),
        (lambda: MultiHeadAttention(heads=3, units=7), "heads = 3 must divide units = 7"),
        (
            lambda: MultiHeadAttention(heads=4, units=8, book=True),
            "heads = 4 must divide units / heads = 8 / 4",
        ),
    ],
)
def test_settings_out_of_range(make, message):
    with pytest.raises(RequestError, match=message):
        make()


@pytest.mark.parametrize(
    "layer, message",
    [
        (LuongGlobalAttention(score="dot"), "score=dot needs .* equal width, got 7 and 11"),
        (LuongLocalAttention(score="dot"), "score=dot needs .* equal width, got 7 and 11"),
        (ScaledDotProductAttention(), "project=false needs .* equal width, got 7 and 11"),
        (MultiHeadAttention(heads=3), "heads = 3 must divide units = 7"),
        (LuongGlobalAttention(score="location", max_length=3), "reaches 3 .* got a memory of 5"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shapes_that_do_not_fit_the_settings(layer, message):
    with pytest.raises(ValueError, match=message):
        layer.build((2, 3, 7), (2, 5, 11))


@pytest.mark.parametrize(
    "layer", [PoolingAttention(), LuongGlobalAttention(score="location")], ids=["pooling", "loc"]
)
def test_weights_per_position_need_a_known_length(layer):
    with pytest.raises(RequestError, match="known length"):
        layer.build((2, 3, 7), (2, None, 7))


@pytest.mark.parametrize(
    "call",
    [
        lambda layer, query, memory: layer([query, memory]),
        lambda layer, query, memory: layer(query, memory, return_attention_scores=True),
        lambda layer, query, memory: layer(query, value=memory),
    ],
)
def test_calls_in_the_form_of_keras_layers_get_the_right_form(call):
    query, memory = np.zeros((2, 3, 7), "float32"), np.zeros((2, 5, 7), "float32")
    with pytest.raises(RequestError, match="LuongGlobal.* expected `context, weights = layer"):
        call(LuongGlobalAttention(), query, memory)


def test_memories_of_the_wrong_length_are_refused():
    query, memory = np.zeros((2, 3, 7), "float32"), np.zeros((2, 5, 7), "float32")
    pooling, location = PoolingAttention(), LuongGlobalAttention(score="location")
    for layer in (pooling, location):
        layer(query, memory)
    with pytest.raises(ValueError, match="built for a memory of 5 steps, got 4"):
        pooling(query, memory[:, :4])
    with pytest.raises(ValueError, match="reaches 5 memory steps .* got a memory of 10"):
        location.project(np.concatenate([memory, memory], 1))
