"""Classifiers: every model with every mechanism, and exact small cases."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_models import (
    SMALL,
    assert_drops_in_training_alone,
    assert_every_weight_learns,
    assert_saves_and_loads,
    combinations,
    settings,
)

from attnlab.attention.luong import LuongGlobalAttention
from attnlab.attention.none import NoAttention
from attnlab.config.options import option_class
from attnlab.config.sections import Option
from attnlab.layers.positional_encoding import KINDS
from attnlab.tasks.classification.kind import KIND

S, VOCABULARY, CLASSES = 6, 20, 3
DRAW = np.random.default_rng(7)
LENGTHS = (6, 4, 1, 5)
TOKENS = np.where(
    np.arange(S) < np.array(LENGTHS)[:, None], DRAW.integers(4, VOCABULARY, (4, S)), 0
).astype(np.int32)
LABELS = np.array([0, 2, 1, 0])
MODELS = ("embeddings", "rnn", "transformer")


def built(model: str, arguments: dict, attention, vocabulary: int = VOCABULARY):
    sizes = {"vocabulary": vocabulary, "classes": CLASSES}
    return KIND.models.build(Option(model, arguments), attention, (None, S), **sizes)


def make(model: str, attention: str, **changes):
    keras.utils.set_random_seed(3)
    arguments = {**settings("model/settings", f"classification_{model}"), "dropout": 0.0, **changes}
    cls = option_class("attention", attention)
    return built(model, arguments, functools.partial(cls, **settings("attention", attention)))


@functools.cache
def made(model: str, attention: str):
    """The same model, cached for tests that don't change it."""
    return make(model, attention)


CASES = [("embeddings", "none"), *combinations(("rnn", "transformer"))]
by_case = pytest.mark.parametrize(("model", "attention"), CASES, ids=["-".join(c) for c in CASES])


@by_case
def test_a_classifier_keeps_its_contract(model, attention):
    classifier = made(model, attention)
    assert_padding_changes_nothing(classifier)
    assert_attention_is_only_on_the_words_of_each_text(classifier, attention)
    assert_learns(classifier)


def assert_padding_changes_nothing(classifier):
    expected = classifier(TOKENS).numpy()
    assert expected.shape == (4, CLASSES) and expected.dtype == np.float32
    if classifier.fixed_length is not None:
        assert classifier.fixed_length == S
        return
    for row, length in enumerate(LENGTHS):
        alone = classifier(TOKENS[row : row + 1, :length])
        np.testing.assert_allclose(alone, expected[row : row + 1], rtol=1e-4, atol=1e-5)
    longer = np.pad(TOKENS, [(0, 0), (0, 3)])
    np.testing.assert_allclose(classifier(longer), expected, rtol=1e-4, atol=1e-5)


def assert_attention_is_only_on_the_words_of_each_text(classifier, attention):
    weights = classifier.attention_weights(TOKENS)
    if attention == "none":
        assert weights is None
        return
    weights = np.asarray(weights)
    assert (weights.shape[0], *weights.shape[2:]) == (4, 1, S)
    for row, length in enumerate(LENGTHS):
        assert (weights[row, ..., length:] == 0).all()
    np.testing.assert_array_less(weights[0].sum(axis=-1), 1 + 1e-5)


def assert_learns(classifier):
    def loss():
        logits = classifier(TOKENS, training=True)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, logits)

    assert_every_weight_learns(classifier, loss)


@pytest.mark.parametrize(
    ("model", "attention"), [("rnn", "bahdanau"), ("transformer", "multi_head")]
)
def test_weights_can_be_saved_and_loaded(model, attention, tmp_path):
    assert_saves_and_loads(made(model, attention), TOKENS, tmp_path)


def test_a_mean_of_embeddings_is_kerass_own():
    classifier = made("embeddings", "none")
    reference = keras.Sequential(
        [
            keras.layers.Embedding(VOCABULARY, SMALL["embedding"], mask_zero=True),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(CLASSES),
        ]
    )
    reference.build((None, S))
    reference.set_weights(classifier.get_weights())
    np.testing.assert_allclose(classifier(TOKENS), reference(TOKENS), rtol=1e-5, atol=1e-6)
    turned = TOKENS[:, ::-1]  # the order doesn't matter
    np.testing.assert_allclose(classifier(turned), classifier(TOKENS), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_without_attention_a_recurrent_classifier_is_kerass_own(bidirectional):
    changes = {"bidirectional": bidirectional, "layers": 1, "cell": "lstm"}
    classifier = make("rnn", "none", **changes)
    layer = keras.layers.LSTM(SMALL["units"])
    reference = keras.Sequential(
        [
            keras.layers.Embedding(VOCABULARY, SMALL["embedding"], mask_zero=True),
            keras.layers.Bidirectional(layer) if bidirectional else layer,
            keras.layers.Dense(CLASSES),
        ]
    )
    reference.build((None, S))
    result = {weight.path.split("/", 1)[1]: weight.numpy() for weight in classifier.weights}
    ordered = sorted(result, key=lambda path: ("embedding" not in path, "output" in path))
    reference.set_weights([result[path] for path in ordered])
    np.testing.assert_allclose(classifier(TOKENS), reference(TOKENS), rtol=1e-4, atol=1e-5)


def test_the_query_is_the_last_state_of_a_text():
    attention = LuongGlobalAttention(score="dot")
    keras.utils.set_random_seed(5)
    arguments = {"units": 4, "embedding": 4, "readout": "concat"}
    classifier = built("rnn", arguments, lambda: attention)
    vectors = classifier.embedding(TOKENS)
    for row, length in enumerate(LENGTHS):
        states = np.asarray(classifier.encoder(vectors[row : row + 1, :length])[0])[0]
        scores = states @ states[-1]
        weights = np.exp(scores) / np.exp(scores).sum()
        features = np.concatenate([weights @ states, states[-1]])
        kernel, bias = (weight.numpy() for weight in classifier.output_layer.weights)
        np.testing.assert_allclose(
            classifier(TOKENS)[row], features @ kernel + bias, rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(
            classifier.attention_weights(TOKENS)[row, 0, 0, :length], weights, rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize(
    ("positions", "width"), [*((kind, 0) for kind in KINDS), ("none", 3), ("rope", 3)]
)
def test_the_order_of_words_matters(positions, width):
    """Another order of words is another text; a Transformer sees it only by positions."""
    settings = {"positions": positions, "short_convolution": width, "layers": 1}
    classifier = make("transformer", "multi_head", **settings)
    swapped = TOKENS[:, [1, 0, 2, 3, 4, 5]]
    same = np.allclose(classifier(swapped)[0], classifier(TOKENS)[0], atol=1e-5)
    assert same == (positions == "none" and not width)
    alone = (
        classifier(TOKENS[1:2, : LENGTHS[1]]) if positions != "learned" else classifier(TOKENS)[1:2]
    )
    np.testing.assert_allclose(alone, classifier(TOKENS)[1:2], rtol=1e-4, atol=1e-5)
    assert_learns(classifier)


@pytest.mark.parametrize("model", MODELS)
def test_dropout_is_active_only_in_training(model):
    attention = "none" if model == "embeddings" else "bahdanau"
    assert_drops_in_training_alone(make(model, attention, dropout=0.5), TOKENS)


@pytest.mark.parametrize(("vocabulary", "spread"), [(999, 1.0), (1000, 0.1)])
def test_the_spread_of_embeddings_depends_on_the_vocabulary_by_default(vocabulary, spread):
    for changes, expected in ({}, spread), ({"spread": 0.4}, 0.4):
        arguments = {**settings("model/settings", "classification_rnn"), **changes}
        model = built("rnn", arguments, NoAttention, vocabulary)
        result = np.std(model.embedding.embeddings.numpy())
        assert result == pytest.approx(expected, rel=0.05)
