"""Transformer layers: counts, composition, masks, cached decoding."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.attention import (
    BahdanauAttention,
    LuongLocalAttention,
    MultiHeadAttention,
)
from attnlab.attention.contract import normal
from attnlab.errors import RequestError
from attnlab.layers.transformer import TransformerDecoderLayer, TransformerEncoderLayer

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

B, T, S, W, INNER = 2, 5, 7, 6, 11
MEMORY_MASK = np.array([[True] * 7, [True] * 3 + [False] * 4])


@pytest.fixture
def vectors():
    return normal(B, T, W, seed=1)


@pytest.fixture
def memory():
    return normal(B, S, W, seed=2)


def encoder(attention=None, **settings):
    attention = attention or MultiHeadAttention(heads=3)
    return TransformerEncoderLayer(
        attention=attention, **{"units": W, "feed_forward": INNER, **settings}
    )


def decoder(make=lambda: MultiHeadAttention(heads=3), **settings):
    return TransformerDecoderLayer(
        self_attention=make(),
        cross_attention=make(),
        **{"units": W, "feed_forward": INNER, **settings},
    )


def shaken(layer, *shapes):
    """The layer without weights of 0 or 1, so that an unused weight is noticed."""
    layer.build(*shapes)
    layer.set_weights([normal(*w.shape, seed=30 + i) / 2 for i, w in enumerate(layer.weights)])
    return layer


# --- counts of the book's 19.3 and 19.4, and done right ----------------------------------------


def heads(book):
    return MultiHeadAttention(heads=8, book=book)


@pytest.mark.parametrize(
    "book, of_encoder, of_decoder",
    [(True, 2_233_536, 2_365_312), (False, 3_152_384, 4_204_032)],
)
def test_parameters_are_as_many_as_in_the_book_or_in_the_paper(book, of_encoder, of_decoder):
    layer = encoder(heads(book), units=512, feed_forward=2048)
    layer.build((None, 5, 512))
    assert layer.feed_forward.count_params() == 2_099_712
    assert [norm.count_params() for norm in layer.norms] == [1_024, 1_024]
    assert layer.count_params() == of_encoder
    layer = decoder(lambda: heads(book), units=512, feed_forward=2048, book=book)
    layer.build((None, 5, 512), (None, 7, 512))
    assert layer.count_params() == of_decoder


# --- the formulas ------------------------------------------------------------------------------


def layer_norm(layer, x):
    gamma, beta = layer.get_weights()
    deviation = x - x.mean(-1, keepdims=True)
    return gamma * deviation / np.sqrt((deviation**2).mean(-1, keepdims=True) + 1e-6) + beta


def feed_forward(layer, x):
    w1, b1, w2, b2 = layer.get_weights()
    return np.maximum(0, x @ w1 + b1) @ w2 + b2


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_the_papers_or_normalises_inside_the_residual(norm, vectors):
    layer = shaken(encoder(norm=norm), vectors.shape)
    first, second = (lambda x, norm=norm: layer_norm(norm, x) for norm in layer.norms)
    inputs = first(vectors) if norm == "pre" else vectors
    attended = np.array(layer.attention(inputs, inputs).context)
    if norm == "pre":
        x = vectors + attended
        expected = x + feed_forward(layer.feed_forward, second(x))
    else:
        x = first(vectors + attended)
        expected = second(x + feed_forward(layer.feed_forward, x))
    np.testing.assert_allclose(layer(vectors).vectors, expected, atol=1e-4)
    np.testing.assert_allclose(layer(vectors).attention.context, attended, atol=1e-6)


@pytest.mark.parametrize("book, norms", [(False, (0, 1, 2)), (True, (0, 0, 1))])
def test_decoder_layer_is_the_papers_or_the_books(book, norms, vectors, memory):
    layer = shaken(decoder(book=book), vectors.shape, memory.shape)
    first, second, third = (layer.norms[number] for number in norms)
    causal = np.tril(np.ones((1, T, T), bool))
    attended = layer.self_attention(vectors, vectors, mask=causal).context
    x = layer_norm(first, vectors + np.array(attended))
    x = layer_norm(second, x + np.array(layer.cross_attention(x, memory).context))
    expected = layer_norm(third, x + feed_forward(layer.feed_forward, x))
    np.testing.assert_allclose(layer(vectors, memory).vectors, expected, atol=1e-4)
    assert len(layer.norms) == len(set(norms))


@pytest.mark.parametrize("make", [encoder, decoder])
def test_dropout_is_applied_to_the_output_of_a_sublayer(make, vectors, memory):
    """If nearly everything is dropped, a pre-norm layer returns its input."""
    layer = make(norm="pre", dropout=1 - 1e-7)
    arguments = (vectors,) if make is encoder else (vectors, memory)
    np.testing.assert_array_equal(layer(*arguments, training=True).vectors, vectors)
    assert np.abs(np.array(layer(*arguments).vectors) - vectors).max() > 0.1


# --- masks -------------------------------------------------------------------------------------


def test_the_encoder_uses_an_attention_mask_and_a_keras_mask(vectors):
    layer = shaken(encoder(), vectors.shape)
    vectors[1, 3:] = 0
    mask = np.ones((B, 1, T), bool)
    mask[1, 0, 3:] = False
    masked = layer(vectors, attention_mask=mask).vectors
    np.testing.assert_array_equal(layer(keras.layers.Masking()(vectors)).vectors, masked)
    short = layer(vectors[1:, :3]).vectors
    np.testing.assert_allclose(masked[1:, :3], short, atol=1e-5)
    assert np.abs(np.array(layer(vectors).vectors - masked))[1, :3].max() > 1e-2


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_does_not_see_the_future_nor_the_padding(norm, vectors, memory):
    layer = shaken(decoder(norm=norm), vectors.shape, memory.shape)
    expected = layer(vectors, memory, memory_mask=MEMORY_MASK).vectors
    vectors[:, 3:] = 99
    memory[1, 3:] = 99
    changed = layer(vectors, memory, memory_mask=MEMORY_MASK).vectors
    np.testing.assert_array_equal(changed[:, :3], expected[:, :3])
    assert np.abs(np.array(changed - expected))[:, 3:].min() > 0


# --- decoding step by step ---------------------------------------------------------------------

MECHANISMS = [
    lambda: MultiHeadAttention(heads=3),
    lambda: LuongLocalAttention(alignment="monotonic", window=1),
    lambda: LuongLocalAttention(window=2),
    BahdanauAttention,
]


@pytest.mark.parametrize(
    ("make", "norm"),
    [*zip(MECHANISMS, ["pre", "post", "pre", "post"], strict=True)],
    ids=["heads", "local-m", "local-p", "add"],
)
def test_cached_steps_equal_one_call(make, norm, vectors, memory):
    layer = shaken(decoder(make, norm=norm), vectors.shape, memory.shape)
    whole = layer(vectors, memory, memory_mask=MEMORY_MASK)

    @tf.function(reduce_retracing=True, autograph=False)
    def step(vector, projected, cache, index):
        output = layer(vector, projected, memory_mask=MEMORY_MASK, cache=cache, start_index=index)
        return output.vectors, output.cross_attention.weights, output.cache

    cache, projected = layer.empty_cache(B, T + 2), layer.project(memory)
    for t in range(T):
        vector, weights, cache = step(vectors[:, t : t + 1], projected, cache, tf.constant(t))
        np.testing.assert_allclose(vector[:, 0], whole.vectors[:, t], atol=1e-5)
        np.testing.assert_allclose(
            weights[:, :, 0], whole.cross_attention.weights[:, :, t], atol=1e-6
        )


def test_mixed_precision(vectors, memory):
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    try:
        layer = decoder()
    finally:
        keras.mixed_precision.set_dtype_policy("float32")
    output = layer(vectors, memory, memory_mask=MEMORY_MASK)
    exact = decoder()
    exact.build(vectors.shape, memory.shape)
    exact.set_weights(layer.get_weights())
    assert layer.self_attention.query_kernel.dtype == "float32"
    assert output.vectors.dtype.name == "bfloat16"
    expected = exact(vectors, memory, memory_mask=MEMORY_MASK).vectors
    np.testing.assert_allclose(tf.cast(output.vectors, "float32"), expected, atol=0.1)


# --- what cannot be ----------------------------------------------------------------------------


def test_errors():
    with pytest.raises(RequestError, match="norm must be one of pre, post, got 'both'"):
        encoder(norm="both")
    with pytest.raises(RequestError, match="book=true is a post-norm layer, got norm=pre"):
        decoder(book=True, norm="pre")
    narrow = encoder(MultiHeadAttention(heads=2, units=4))
    with pytest.raises(RequestError, match="as wide as the vectors, 6; MultiHeadAttention gives 4"):
        narrow.build((B, T, W))
    with pytest.raises(RequestError, match="as wide as the vectors, 6; BahdanauAttention gives 5"):
        decoder(BahdanauAttention).build((B, T, W), (B, S, 5))
