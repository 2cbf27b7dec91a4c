"""The contract of every mechanism of conf/attention, in every variant."""

import keras
import numpy as np
import pytest

from attnlab.attention import BahdanauAttention, causal_mask
from attnlab.attention.contract import (
    CHECKS,
    LENGTHS,
    MEMORY,
    B,
    S,
    T,
    attend,
    query_of,
    results,
)
from attnlab.attention.contract import build_layer as build_random
from attnlab.config.options import option_class, option_content, options
from attnlab.errors import RequestError
from attnlab.internals import keras_mask

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def build_layer(variant, **changes):
    return build_random(variant.layer, **changes)


@pytest.fixture
def query(request):
    """Queries that fit the test's mechanism."""
    names = [name for name in ("mechanism", "variant") if name in request.fixturenames]
    layer = request.getfixturevalue(names[0]).layer() if names else BahdanauAttention()
    return query_of(layer)


@pytest.fixture
def memory():
    return MEMORY.copy()


# --- what `attnlab check-mechanism` checks, too ------------------------------------------------


def test_every_variant_satisfies_the_contract(variant):
    """All rules are checked, so that a failure shows which ones a mechanism violates."""
    failures = []
    for check in CHECKS:
        try:
            check(variant.layer)
        except Exception as error:  # the layer's own error, too
            failures.append(f"{check.__name__}: {error}")
    assert not failures


def test_every_mechanism_with_keys_can_have_a_short_convolution(mechanism):
    if not mechanism.layer().has_queries:
        with pytest.raises(RequestError, match="model.short_convolution"):
            mechanism.layer(short_convolution=2)
        return
    layer = build_layer(mechanism, short_convolution=2)
    names = {weight.name for weight in layer.weights if weight.name.endswith("_convolution")}
    assert names == {"query_convolution", "keys_convolution", "values_convolution"}


# --- configuration -----------------------------------------------------------------------------


def test_the_yaml_names_the_place_unless_it_is_the_usual_one():
    """So that a run's configuration can say it before any mechanism is made."""
    for name in options("attention"):
        rules = option_content("attention", name)["rules"]
        place = rules.get("model.placement", {}).get("auto", "after_step")
        assert place == option_class("attention", name).placement, name


# --- what comes out ----------------------------------------------------------------------------


def test_weights_sum_to_one_if_the_window_covers_the_memory(variant, query, memory):
    layer = build_layer(variant)
    sums = np.sum(attend(layer, query, memory).weights, -1)
    if layer.weights_are == "signed":
        pytest.skip("its weights add up to anything")
    if layer.weights_are == "positive":
        assert np.all(sums > 0)
    elif any(words in variant.name for words in ("predictive", "softmax_one", "sink=True")):
        assert np.all(sums < 1) and np.all(sums > 0)
    else:
        np.testing.assert_allclose(sums, 1 if layer.has_context else 0, atol=1e-6)


# --- masks -------------------------------------------------------------------------------------


def test_padding_equals_a_shorter_memory(variant, query, memory):
    layer = build_layer(variant)
    if layer.fixed_length == S and variant.option == "pooling":
        pytest.skip("pooling has weights for one length")
    masked = attend(layer, query[1:], memory[1:], mask=LENGTHS[1:])
    short = attend(layer, query[1:], memory[1:, :3])
    np.testing.assert_allclose(masked.context, short.context, atol=1e-5)
    np.testing.assert_allclose(masked.weights[..., :3], short.weights, atol=1e-6)


def test_masked_steps_have_no_weight_and_masks_broadcast(mechanism, query, memory):
    layer = build_layer(mechanism)
    if layer.causal_only:
        pytest.skip("it takes no mask but those of its past and of padding")
    for shape in [(S,), (T, S), (B, 1, S), (1, T, S)]:
        mask = np.random.default_rng(5).random(shape) < 0.7
        full = np.broadcast_to(mask, (B, T, S))
        output, expected = (attend(layer, query, memory, mask=m) for m in (mask, full))
        np.testing.assert_allclose(output.context, expected.context, atol=1e-6)
        assert np.all(np.array(output.weights)[~full[:, None].repeat(layer.heads, 1)] == 0)


@pytest.mark.parametrize("mask", [np.ones((B, S), bool), np.ones((B, T, S), "float32")])
def test_wrong_masks_are_refused(query, memory, mask):
    with pytest.raises(ValueError, match="mask must be bool .*padding_mask"):
        BahdanauAttention()(query, memory, mask=mask)


def test_the_keras_mask_of_the_memory_is_used(mechanism, query, memory):
    layer = build_layer(mechanism)
    memory[1, 3:] = 0
    past = causal_mask(query.shape[1], S)
    masked = keras.layers.Masking()(memory)
    context = attend(layer, query, masked).context
    expected = attend(layer, query, memory, mask=LENGTHS).context
    np.testing.assert_allclose(context, expected, atol=1e-5)
    np.testing.assert_array_equal(
        attend(layer, query, masked, mask=past).context,
        attend(layer, query, memory, mask=LENGTHS & past).context,
    )


def test_the_context_gets_the_keras_mask_of_the_query(query, memory):
    layer = BahdanauAttention()
    assert keras_mask(attend(layer, query, memory, mask=LENGTHS).context) is None
    query[0, 2:] = 0
    output = layer(keras.layers.Masking()(query), memory, mask=LENGTHS)
    np.testing.assert_array_equal(keras_mask(output.context), [[1, 1, 0], [1, 1, 1]])
    assert keras_mask(output.weights) is None


# --- training ----------------------------------------------------------------------------------


def test_every_weight_matters(variant, query, memory):
    for name, gradient in results(
        build_layer(variant), query, memory, memory_mask=LENGTHS[:, 0]
    ).items():
        if "gradient" in name and "query" not in name and "key_bias" not in name:
            assert np.abs(gradient).max() > 1e-5, name  # key_bias shifts all scores alike


def test_dropout_hits_the_context_not_the_reported_weights(mechanism, query, memory):
    if mechanism.option == "none":
        pytest.skip("there is nothing to drop")
    first, second = (build_layer(mechanism, dropout=0.5, seed=3) for _ in range(2))
    calm, trained = attend(first, query, memory), attend(first, query, memory, training=True)
    np.testing.assert_array_equal(calm.weights, trained.weights)
    assert np.abs(np.array(calm.context - trained.context)).max() > 1e-3
    np.testing.assert_array_equal(
        attend(second, query, memory, training=True).context, trained.context
    )
    np.testing.assert_array_equal(attend(second, query, memory).context, calm.context)
