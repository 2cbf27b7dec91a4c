"""Changes of a layer's weights: heads off, places hidden, rows set, for every mechanism."""

from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention.contract import LENGTHS, MEMORY, B, S, W, attend, build_layer, query_of
from attnlab.attention.interventions import Change, Intervention


def with_intervention(mechanism, **settings):
    """A layer with random weights and an intervention."""
    layer = build_layer(mechanism.layer, **settings)
    layer.intervention = Intervention(layer)
    return layer


@pytest.fixture
def layer(mechanism):
    if not mechanism.cls.has_context:
        pytest.skip("it has no weights to change")
    return with_intervention(mechanism)


def seen_past(layer, change, **settings):
    """The output of a causal call over the memory, with a change."""
    layer.intervention.set(change)
    return layer(MEMORY, MEMORY, causal=True, **settings)


def test_without_a_change_the_weights_have_the_same_bits(layer):
    query, masks = query_of(layer), {"memory_mask": LENGTHS[:, 0]}
    with_one = attend(layer, query, MEMORY, **masks)
    layer.intervention = None
    without = attend(layer, query, MEMORY, **masks)
    np.testing.assert_array_equal(with_one.weights, without.weights)
    # Without one, some mechanisms compute the context in a way that needs no weights.
    np.testing.assert_allclose(with_one.context, without.context, atol=1e-5)


@pytest.mark.parametrize("way", ["eager", "graph", "xla"])
def test_all_heads_off_leave_what_zero_weights_give(layer, way):
    query, memory = tf.constant(query_of(layer)), layer.project(MEMORY)
    call = partial(attend, layer, memory=memory)
    if way != "eager":
        call = tf.function(call, autograph=False, jit_compile=way == "xla")
    before, _ = call(query)
    layer.intervention.set(Change(heads=range(layer.heads)))
    context, weights = call(query)
    assert not np.any(weights) and np.abs(before - context).max() > 1e-3
    expected = layer.read(tf.zeros_like(weights), memory.values, query)
    np.testing.assert_allclose(context, expected, atol=1e-6)
    layer.intervention.set(Change())
    np.testing.assert_array_equal(call(query)[0], before)


def test_one_head_off_leaves_the_others_as_they_are(layer):
    before, after = (np.array(seen_past(layer, Change(heads=h)).weights) for h in ([], [0]))
    assert not after[:, 0].any()
    np.testing.assert_array_equal(before[:, 1:], after[:, 1:])


def test_a_hidden_place_has_no_weight_and_shares_keep_their_sum(layer):
    before, after = (np.array(seen_past(layer, Change(hidden=h)).weights) for h in ([], [0, 2]))
    assert not after[..., [0, 2]].any()
    others = after[..., [1, 3, 4]]
    if layer.weights_are == "shares":  # a row that saw only hidden places sees nothing
        sums = np.where(others.sum(-1) > 0, before.sum(-1), 0)
        np.testing.assert_allclose(others.sum(-1), sums, atol=1e-5)
    else:
        np.testing.assert_array_equal(others, before[..., [1, 3, 4]])


def test_a_set_row_sees_one_place_or_all_and_never_its_future(layer):
    before = np.array(seen_past(layer, Change()).weights)
    change = Change(hidden=[1], rows={1: 4, 2: 0, 3: None})
    after = np.array(seen_past(layer, change).weights)
    assert not np.triu(after[..., 1:]).any() and not after[:, :, 1].any()
    assert np.all(after[:, :, 2] == np.eye(S)[0])
    np.testing.assert_allclose(after[:, :, 3] - [1 / 3, 0, 1 / 3, 1 / 3, 0], 0, atol=1e-6)
    np.testing.assert_array_equal(after[:, :, 0], before[:, :, 0])


@pytest.mark.parametrize(("length", "convolution"), [(None, 0), (S, 0), (S, 3)])
def test_a_changed_sequence_step_by_step_is_that_of_one_call(mechanism, layer, length, convolution):
    if layer.fixed_length or (convolution and not layer.has_queries):
        pytest.skip("its weights fit one length, or it has nothing to convolve")
    if convolution:
        layer = with_intervention(mechanism, short_convolution=convolution)
    change = Change(heads=[layer.heads - 1] * (layer.heads > 1), hidden=[1], rows={2: 0, 3: None})
    whole = seen_past(layer, change)
    cache = layer.empty_cache(B, length, W)
    for at in range(S):
        step, cache = layer.attend_to_past(MEMORY[:, at : at + 1], cache, start_index=at)
        np.testing.assert_allclose(step.context[:, 0], whole.context[:, at], atol=1e-5)
        weights = np.array(step.weights)[:, :, 0, : at + 1]
        np.testing.assert_allclose(weights, whole.weights[:, :, at, : at + 1], atol=1e-5)
