"""What every mechanism of conf/attention promises, in every variant."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention import (
    Attention,
    AttentionOutput,
    BahdanauAttention,
    ProjectedMemory,
    causal_mask,
    padding_mask,
)
from attnlab.attention.keras_internals import keras_mask
from attnlab.config.options import option_content

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

B, T, S, W = 2, 3, 5, 16  # four heads have to divide the width, the rest is prime


def normal(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def built(variant, **changes):
    layer = variant.layer(**changes)
    layer.build((B, T, W), (B, S, W))
    for number, weight in enumerate(layer.weights):
        if "seed" not in weight.path:
            weight.assign(normal(*weight.shape, seed=50 + number, dtype=weight.dtype) / 2)
    return layer


@pytest.fixture
def query():
    return normal(B, T, W, seed=1)


@pytest.fixture
def memory():
    return normal(B, S, W, seed=2)


LENGTHS = padding_mask(np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool))


# --- configuration -----------------------------------------------------------------------------


def test_yaml_lists_the_constructor_and_a_rule_for_each_setting(mechanism):
    constructors = [vars(cls).get("__init__") for cls in mechanism.cls.__mro__]
    constructors = constructors[: mechanism.cls.__mro__.index(Attention) + 1]
    own = {
        parameter.name: parameter.default
        for constructor in reversed([each for each in constructors if each])
        for parameter in inspect.signature(constructor).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "seed"
    }
    assert mechanism.settings == own
    assert set(mechanism.settings) <= set(mechanism.content["rules"])
    assert mechanism.content["name"] == mechanism.option


def test_config_round_trip(variant):
    layer = variant.layer(dropout=0.25, seed=11, name="a")
    config = layer.get_config()
    assert {**variant.settings, "dropout": 0.25, "seed": 11}.items() <= config.items()
    assert variant.cls.from_config(config).get_config() == config


def test_class_attributes_are_of_the_protocol(mechanism):
    assert mechanism.cls.readout in ("state", "context", "concat", "attentional_state")
    assert mechanism.cls.placement in ("before_step", "after_step")


def test_the_yaml_names_place_and_readout_unless_they_are_the_usual_ones(mechanism):
    """So that a run's configuration can say them before any mechanism is made."""
    usual = {"placement": "after_step", "readout": "concat"}
    rules = option_content("attention", mechanism.option)["rules"]
    for key, otherwise in usual.items():
        named = rules.get(f"model.{key}", {}).get("auto", otherwise)
        assert named == getattr(mechanism.cls, key)


# --- what comes out ----------------------------------------------------------------------------


def test_output_type_shapes_and_weights(variant, query, memory):
    layer = built(variant)
    output = layer(query, memory)
    heads = layer.heads if hasattr(layer, "heads") else 1
    assert isinstance(output, AttentionOutput)
    assert output.context.shape == (B, T, layer.context_width(W, W))
    assert output.weights.shape == (B, heads, T, S)
    sums = np.sum(output.weights, -1)
    assert np.all(np.array(output.weights) >= 0)
    if variant.choices.get("alignment") == "predictive":
        assert np.all(sums < 1) and np.all(sums > 0)
    else:
        wanted = 0 if layer.readout == "state" else 1
        np.testing.assert_allclose(sums, wanted, atol=1e-6)


def test_projected_memory_gives_the_same_as_raw(variant, query, memory):
    layer = built(variant)
    projected = layer.project(memory)
    assert isinstance(projected, ProjectedMemory)
    assert {(x.shape[0], x.shape[-2]) for x in projected} == {(B, S)}
    for raw, ready in zip(layer(query, memory), layer(query, projected), strict=True):
        np.testing.assert_array_equal(raw, ready)


def test_project_before_build_is_refused(mechanism, memory):
    with pytest.raises(ValueError, match="has no weights yet"):
        mechanism.layer().project(memory)


# --- masks -------------------------------------------------------------------------------------


def weighted_sum(output):
    """A loss that every number of the output enters with its own factor."""
    factors = [tf.constant(normal(*x.shape, seed=9 + i)) for i, x in enumerate(output)]
    return sum(tf.reduce_sum(x * tf.cast(f, x.dtype)) for x, f in zip(output, factors, strict=True))


def outputs_and_gradients(layer, query, memory, mask):
    query = tf.convert_to_tensor(query)
    with tf.GradientTape() as tape:
        tape.watch(query)
        output = layer(query, memory, mask=mask)
        loss = weighted_sum(output)
    sources = [query, *(w.value for w in layer.trainable_weights)]
    gradients = tape.gradient(loss, sources, unconnected_gradients="zero")
    return [np.array(x) for x in (*output, *gradients)]


def test_padding_contents_change_no_bit(variant, query, memory):
    layer = built(variant)
    padded = memory.copy()
    padded[1, 3:] = -3e4
    for one, other in zip(
        outputs_and_gradients(layer, query, memory, LENGTHS),
        outputs_and_gradients(layer, query, padded, LENGTHS),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_masked_positions_get_no_weight_and_the_mask_matters(variant, query, memory):
    layer = built(variant)
    plain, masked = layer(query, memory), layer(query, memory, mask=LENGTHS)
    assert np.all(np.array(masked.weights)[1, :, :, 3:] == 0)
    if layer.readout != "state":
        assert np.abs(np.array(plain.context - masked.context))[1].max() > 1e-3


def test_padding_equals_a_shorter_memory(variant, query, memory):
    layer = built(variant)
    if layer.fixed_length == S and variant.option == "pooling":
        pytest.skip("pooling has weights for one length")
    masked = layer(query[1:], memory[1:], mask=LENGTHS[1:])
    short = layer(query[1:], memory[1:, :3])
    np.testing.assert_allclose(masked.context, short.context, atol=1e-5)
    np.testing.assert_allclose(masked.weights[..., :3], short.weights, atol=1e-6)


def test_fully_masked_row_gives_zeros_and_finite_gradients(variant, query, memory):
    layer = built(variant)
    layer.set_weights([weight + 0.1 for weight in layer.get_weights()])
    mask = np.ones((B, T, S), bool)
    mask[1, 2] = False
    context, weights, *gradients = outputs_and_gradients(layer, query, memory, mask)
    assert np.all(weights[1, :, 2] == 0)
    assert np.all(context[1, 2] == 0)
    assert all(np.all(np.isfinite(g)) for g in gradients)
    np.testing.assert_allclose(context[0], layer(query, memory).context[0], atol=1e-6)


def test_a_training_step_from_zero_states_is_finite(variant):
    """A recurrent encoder begins with zeros, and one of zero weights gives nothing else."""
    layer = built(variant)
    results = outputs_and_gradients(layer, *(np.zeros((B, n, W), "float32") for n in (T, S)), None)
    assert all(np.all(np.isfinite(result)) for result in results), (
        "a gradient where query or memory is zero is not finite: a norm or a quotient in score()?"
    )


def test_masks_broadcast(mechanism, query, memory):
    layer = built(mechanism)
    for shape in [(S,), (T, S), (B, 1, S), (1, T, S)]:
        mask = np.random.default_rng(5).random(shape) < 0.7
        full = np.broadcast_to(mask, (B, T, S))
        given, expected = (layer(query, memory, mask=each).context for each in (mask, full))
        np.testing.assert_allclose(given, expected, atol=1e-6)


@pytest.mark.parametrize("mask", [np.ones((B, S), bool), np.ones((B, T, S), "float32")])
def test_wrong_masks_are_refused(query, memory, mask):
    with pytest.raises(ValueError, match="mask must be bool .*padding_mask"):
        BahdanauAttention()(query, memory, mask=mask)


def test_keras_mask_of_the_memory_is_heeded(mechanism, query, memory):
    layer = built(mechanism)
    memory[1, 3:] = 0
    masked = keras.layers.Masking()(memory)
    np.testing.assert_array_equal(
        layer(query, masked).context, layer(query, memory, mask=LENGTHS).context
    )
    np.testing.assert_array_equal(
        layer(query, masked, mask=causal_mask(T, S)).context,
        layer(query, memory, mask=LENGTHS & causal_mask(T, S)).context,
    )


def test_keras_lets_tensors_carry_a_mask_which_goes_from_the_query_to_the_context(query, memory):
    layer = BahdanauAttention()
    assert keras_mask(layer(query, memory, mask=LENGTHS).context) is None
    query[0, 2:] = 0
    output = layer(keras.layers.Masking()(query), memory, mask=LENGTHS)
    np.testing.assert_array_equal(keras_mask(output.context), [[1, 1, 0], [1, 1, 1]])
    assert keras_mask(output.weights) is None


# --- stepwise, compiled, precise ---------------------------------------------------------------


def test_stepwise_equals_parallel(variant, query, memory):
    layer = built(variant)
    if variant.choices.get("alignment"):
        layer.window = 1  # so that the position of the query matters
    mask = LENGTHS & causal_mask(T, S, start_index=1)
    parallel = layer(query, memory, mask=mask, start_index=1)
    projected = layer.project(memory)
    for t in range(T):
        step = layer(
            query[:, t : t + 1],
            projected,
            mask=mask[:, t : t + 1],
            start_index=1 + t if t < 2 else tf.constant(1 + t),
        )
        np.testing.assert_allclose(step.context[:, 0], parallel.context[:, t], atol=1e-5)
        np.testing.assert_allclose(step.weights[:, :, 0], parallel.weights[:, :, t], atol=1e-6)


def test_eager_graph_and_xla_agree(variant, query, memory):
    layer = built(variant)

    def attend(query, memory, mask, start_index):
        return tuple(layer(query, layer.project(memory), mask=mask, start_index=start_index))

    unknown = [tf.TensorSpec((None, None, W)), tf.TensorSpec((None, None, W))]
    unknown += [tf.TensorSpec((None, 1, None), tf.bool), tf.TensorSpec((), tf.int32)]
    arguments = (query, memory, LENGTHS, tf.constant(1))
    eager = attend(*arguments)
    graph = tf.function(attend, input_signature=unknown)(*arguments)
    xla = tf.function(attend, jit_compile=True)(*arguments)
    for one, two, three in zip(eager, graph, xla, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)
        np.testing.assert_allclose(one, three, atol=1e-5)


def test_gradients_equal_central_differences(variant):
    layer = built(variant, dtype="float64")
    inputs = [tf.Variable(normal(B, n, W, seed=n, dtype="float64")) for n in (T, S)]

    def loss():
        return weighted_sum(layer(*(tf.identity(x) for x in inputs), mask=LENGTHS))

    with tf.GradientTape() as tape:
        value = loss()
    tensors = [*inputs, *(w.value for w in layer.trainable_weights)]
    gradients = tape.gradient(value, tensors, unconnected_gradients="zero")
    for number, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        direction = normal(*tensor.shape, seed=70 + number, dtype="float64")
        start, ends = tensor.numpy(), []
        for sign in (1, -1):
            tensor.assign(start + sign * 1e-6 * direction)
            ends.append(float(loss()))
        tensor.assign(start)
        expected = (ends[0] - ends[1]) / 2e-6
        name = "" if number < 2 else layer.trainable_weights[number - 2].name
        if name not in ("", "key_bias"):  # which shifts all scores of a query alike
            assert np.abs(gradient).max() > 1e-5, name
        np.testing.assert_allclose(np.sum(gradient * direction), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_mixed_precision_neither_overflows_nor_drifts(mechanism, query, memory, precision):
    exact, mixed = built(mechanism), built(mechanism, dtype=f"mixed_{precision}")
    output = mixed(query, memory, mask=LENGTHS)
    assert {str(x.dtype.name) for x in output} == {precision}
    np.testing.assert_allclose(
        np.array(tf.cast(output.context, "float32")),
        exact(query, memory, mask=LENGTHS).context,
        atol=0.02 if precision == "float16" else 0.15,
    )
    large = mixed(300 * query, mixed.project(300 * memory), mask=LENGTHS)
    for tensor in large:
        assert np.all(np.isfinite(np.array(tf.cast(tensor, "float32"))))


# --- training ----------------------------------------------------------------------------------


def test_dropout_hits_the_context_not_the_reported_weights(variant, query, memory):
    if variant.option == "none":
        pytest.skip("there is nothing to drop")
    first, second = (built(variant, dropout=0.5, seed=3) for _ in range(2))
    calm, trained = first(query, memory), first(query, memory, training=True)
    np.testing.assert_array_equal(calm.weights, trained.weights)
    assert np.abs(np.array(calm.context - trained.context)).max() > 1e-3
    np.testing.assert_array_equal(second(query, memory, training=True).context, trained.context)
    np.testing.assert_array_equal(second(query, memory).context, calm.context)


def test_stateless_call(mechanism, query, memory):
    layer = built(mechanism, dropout=0.5, seed=3)
    variables = (
        [v.value for v in layer.trainable_variables],
        [v.value for v in layer.non_trainable_variables],
    )
    output, state = layer.stateless_call(*variables, query, memory)
    assert isinstance(output, AttentionOutput)
    np.testing.assert_array_equal(output.context, layer(query, memory).context)
    assert len(state) == len(layer.non_trainable_variables)


def functional_model(layer, horizon=7):
    query, memory = keras.Input((T, W)), keras.Input((S, W))
    output = layer(query, memory)
    forecast = keras.layers.Dense(horizon)(output.context)
    return keras.Model([query, memory], [forecast, output.weights])


def test_ordinary_model_trains_saves_and_loads(mechanism, query, memory, tmp_path):
    layer = mechanism.layer()
    model = functional_model(layer)
    model.compile("sgd", [keras.losses.MeanSquaredError(), None])
    before = [np.array(w) for w in layer.weights]
    model.fit([query, memory], [normal(B, T, 7), None], epochs=1, verbose=0)
    moved = [np.abs(np.array(w) - b).max() > 0 for w, b in zip(layer.weights, before, strict=True)]
    assert all(moved) or mechanism.option == "multi_head"  # its key_bias stays
    expected = [np.array(x) for x in model([query, memory])]

    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    model.save_weights(tmp_path / "w.weights.h5")
    fresh = functional_model(mechanism.layer())
    fresh.load_weights(tmp_path / "w.weights.h5")
    for other in (again, fresh):
        for one, two in zip(expected, other([query, memory]), strict=True):
            np.testing.assert_array_equal(one, two)


def test_unequal_widths_either_work_or_are_refused_clearly(variant):
    query, memory = normal(B, T, W), normal(B, S, 11)
    layer = variant.layer()
    try:
        context, weights = layer(query, memory)
    except Exception as error:
        assert isinstance(error, ValueError) and "of equal width, got 16 and 11" in str(error), (
            "a mechanism that needs a query and a memory of equal width says so in build(), by "
            "attnlab.attention.base.require_equal_widths"
        )
    else:
        assert context.shape == (B, T, layer.context_width(W, 11))
        assert weights.shape[2:] == (T, S)
