"""Impossible settings and inputs: the error names the setting and the values."""

import numpy as np
import pytest

from attnlab.attention import (
    DifferentialAttention,
    LuongGlobalAttention,
    LuongLocalAttention,
    MultiHeadAttention,
    PoolingAttention,
)
from attnlab.attention.functional import rotate
from attnlab.errors import RequestError


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: LuongLocalAttention(score="location"), "score must be one of dot, general, con"),
        (lambda: LuongGlobalAttention(score="concat", rope=True), "score=concat can't have rotary"),
        (lambda: MultiHeadAttention(short_convolution=1), "short_convolution=1: expected 0, or 2"),
        (lambda: PoolingAttention(short_convolution=4), "queries, keys and values; got Pooling"),
        (lambda: rotate(np.ones((1, 2, 5))), "the width of a head must be even, got 5"),
    ],
)
def test_settings_out_of_range(make, message):
    with pytest.raises(RequestError, match=message):
        make()


def test_shapes_that_do_not_fit_the_settings():
    for layer, message in (
        (LuongGlobalAttention(score="dot"), "score=dot needs .* equal width, got 7 and 11"),
        (MultiHeadAttention(heads=3), "heads = 3 must divide units = 7"),
        (MultiHeadAttention(heads=6, units=24, kv_heads=4), "kv_heads = 4 must divide heads = 6"),
        (DifferentialAttention(heads=3, units=9), r"2 \* 3 must divide units = 9"),
        (PoolingAttention(), "known length"),
    ):
        with pytest.raises(RequestError, match=message):
            layer.build((2, 3, 7), (2, None, 11))


def test_a_memory_longer_than_location_scores_reach_is_refused():
    layer = LuongGlobalAttention(score="location")
    layer.build((2, 3, 7), (2, 5, 7))
    with pytest.raises(ValueError, match="reaches 5 memory steps .* got a memory of 10"):
        layer(np.zeros((2, 3, 7), "float32"), np.zeros((2, 10, 7), "float32"))
