"""The Transformer as a language model: nanoGPT's weights, stepwise decoding, training data."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import small_model

from attnlab.attention.bahdanau import BahdanauAttention
from attnlab.attention.luong import LuongGlobalAttention
from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.attention.none import NoAttention
from attnlab.attention.pooling import PoolingAttention
from attnlab.errors import RequestError
from attnlab.tasks.language.models.model import RecurrentLanguageModel, TransformerLanguageModel

FORMS = [
    {},
    {"norm": "rms", "activation": "swiglu", "biases": False, "tie_embeddings": False},
    {"positions": "sinusoidal", "dropout": 0.5},
    {"positions": "alibi"},
    {"positions": "t5"},
    *({"cell": cell, "attention": NoAttention} for cell in ("simple", "gru", "lstm")),
    *({"cell": cell, "attention": LuongGlobalAttention} for cell in ("simple", "gru", "lstm")),
    {"cell": "lstm", "attention": BahdanauAttention},
]


def recurrent(attention, **settings):
    sizes = {"vocabulary": 11, "context": 13, "units": 12, "layers": 2} | settings
    model = RecurrentLanguageModel(attention=attention(), **sizes)
    model.build((None, 13))
    return model


@pytest.mark.parametrize("form", FORMS)
def test_steps_give_the_logits_of_the_whole_and_a_place_sees_only_its_past(form):
    model = recurrent(**form) if "cell" in form else small_model(**form)
    assert (model.longest is None) == (form.get("attention") is NoAttention)
    tokens = np.random.default_rng(1).integers(0, 11, (3, 13))
    whole = np.asarray(model(tokens))
    for length in (13, None):
        state, parts = model.initial_state(3, length), []
        for first, last in ((0, 5), (5, 6), (6, 7), (7, 13)):
            logits, state = model.step(tokens[:, first:last], first, state)
            parts.append(np.asarray(logits))
        assert np.concatenate(parts, axis=1) == pytest.approx(whole, abs=1e-5)
    changed = tokens.copy()
    changed[:, 7:] = (changed[:, 7:] + 1) % 11
    other = np.asarray(model(changed))
    assert np.array_equal(whole[:, :7], other[:, :7])
    assert not np.allclose(whole[:, 7:], other[:, 7:])


def test_sizes_and_initial_weights_are_nanogpts():
    """804,096 weights (3adf61e, the CPU recipe), and the biases of four attentions."""
    keras.utils.set_random_seed(0)
    model = TransformerLanguageModel(
        attention=[MultiHeadAttention(heads=4) for _ in range(4)],
        **{"vocabulary": 65, "context": 64, "units": 128, "feed_forward": 512, "biases": False},
    )
    model.build((None, 64))
    assert model.count_params() == 804_096 + 4 * 4 * 128
    layer = model.encoder[1]
    for kernel in (model.embedding.embeddings, layer.feed_forward.expand.kernel):
        assert float(np.std(kernel)) == pytest.approx(0.02, rel=0.05)
    for kernel in (layer.feed_forward.contract.kernel, layer.attention.output_kernel):
        assert float(np.std(kernel)) == pytest.approx(0.02 / 8**0.5, rel=0.05)
    logits = np.asarray(model(np.zeros((1, 64), np.int32)))
    losses = -np.asarray(tf.nn.log_softmax(logits))
    assert losses.mean() == pytest.approx(np.log(65), abs=0.1)


def test_matrices_alone_are_decayed():
    model = small_model()
    decayed = {len(item.shape) for item in model.variables if model.is_decayed(item)}
    assert decayed == {2}
    assert not model.is_decayed(keras.Variable(np.zeros((3, 1, 1))))  # a sink per head


@pytest.mark.parametrize("runs", [1, 2])
def test_rows_of_a_stream_are_first_places_of_windows(runs):
    model = small_model(context=4)
    stream = tf.constant(np.arange(runs * 20, dtype=np.uint8).reshape(runs, 20))
    rows = tf.constant([[0, 15], [7, 3]][:runs])
    tokens, targets = model.batch((stream, stream), rows)
    first = np.asarray(rows) + 20 * np.arange(runs)[:, None]
    assert np.array_equal(tokens, first[..., None] + np.arange(4))
    assert np.array_equal(targets, np.asarray(tokens) + 1)


def test_a_model_of_rows_gives_logits_at_the_scored_places():
    model = small_model(asked=2)
    tokens = np.random.default_rng(4).integers(0, 11, (3, 13)).astype(np.int32)
    places = np.array([[1, 5], [0, 12], [7, 7]], np.int32)
    result = model.decode((tf.constant(np.concatenate([tokens, places], axis=1)),))
    whole = np.asarray(model(tokens))
    expected = np.take_along_axis(whole, places[..., None], axis=1)
    assert np.asarray(result) == pytest.approx(expected, abs=1e-5)


def test_a_recurrent_model_needs_queries():
    with pytest.raises(RequestError, match="a mechanism with a query, .* got PoolingAttention"):
        recurrent(PoolingAttention)


def test_a_recurrent_model_without_attention_is_a_keras_lstm():
    model = recurrent(NoAttention, layers=1)
    tokens = np.random.default_rng(7).integers(0, 11, (2, 13))
    (cell,), lstm = model.cells.cells, keras.layers.LSTM(12, return_sequences=True)
    lstm.build((None, 13, 12))
    lstm.set_weights([np.asarray(item) for item in cell.trainable_variables])
    states = lstm(model.embedding(tokens))
    expected = np.asarray(states) @ np.asarray(model.embedding.embeddings).T
    assert np.asarray(model(tokens)) == pytest.approx(expected, abs=1e-5)
