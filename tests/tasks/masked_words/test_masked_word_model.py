"""The model that fills in words: its outputs, its loss, and its predictions of a part."""

from __future__ import annotations

from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf
from fillers import small_model, some_rows, task_of

from attnlab.attention import MultiHeadAttention
from attnlab.config.sections import Option
from attnlab.layers.positional_encoding import KINDS
from attnlab.tasks.masked_words.data import MaskedPart
from attnlab.tasks.masked_words.masking import choose
from attnlab.tasks.masked_words.models.model import Guesses
from attnlab.tasks.masked_words.scoring import Scorer
from attnlab.tasks.masked_words.task import MaskedWords
from attnlab.text.tokenizers import END

WORDS = 50
ROWS = some_rows(WORDS)


def test_the_output_is_tied_to_the_embeddings_except_the_masks():
    model = small_model(WORDS)
    model.bias.assign(np.linspace(-1, 1, WORDS))
    vectors = model.encoder(ROWS).vectors
    dense = keras.ops.gelu(
        vectors @ model.transform.kernel + model.transform.bias, approximate=False
    )
    normed = np.asarray(model.norm(dense))
    embeddings = np.asarray(model.encoder.embedding.embeddings)
    assert embeddings.shape == (WORDS + 1, 6)
    expected = normed @ embeddings[:WORDS].T + np.linspace(-1, 1, WORDS)
    np.testing.assert_allclose(model(ROWS), expected, rtol=1e-5, atol=1e-6)
    shapes = [tuple(weight.shape) for weight in model.weights]
    own = [shape for shape in shapes if {WORDS, WORDS + 1} & {*shape}]
    assert sorted(own) == [(WORDS,), (WORDS + 1, 6)]


def test_padding_changes_nothing_by_one_bit():
    model = small_model(WORDS)
    longer = np.pad(ROWS, ((0, 0), (0, 3)))[:, :30]
    shorter = ROWS[ROWS[:, 20] == 0][:, :20]
    assert len(shorter)
    whole = np.asarray(model(np.pad(shorter, ((0, 0), (0, 7)))))[:, :20]
    np.testing.assert_allclose(np.asarray(model(shorter)), whole, atol=1e-6)
    assert np.array_equal(np.asarray(model(longer)), np.asarray(model(ROWS)))


@pytest.mark.parametrize("positions", KINDS)
def test_only_positions_show_the_order_of_words(positions):
    settings = {"units": 6, "layers": 2, "feed_forward": 8, "dropout": 0.0, "norm": "pre"}
    option = Option("transformer", {**settings, "positions": positions, "short_convolution": 0})
    model = task_of()._build(partial(MultiHeadAttention, heads=3), option, WORDS, 30)
    swapped = ROWS[:, [0, 2, 1, *range(3, ROWS.shape[1])]]
    same = np.allclose(model(swapped)[0, 4], model(ROWS)[0, 4], atol=1e-5)
    assert same == (positions == "none")


def test_predictions_at_given_places_equal_those_at_all_places():
    model = small_model(WORDS)
    places = np.array([[1, 2]] * len(ROWS), np.int32)
    found = model.guesses(ROWS, places, np.full(len(ROWS), 2, np.int32))
    np.testing.assert_allclose(found.logits, np.asarray(model(ROWS))[:, 1:3], atol=1e-5)
    assert found.follows is None


def test_the_loss_is_the_mean_cross_entropy_over_the_words_that_count():
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(3, 2, 7)).astype(np.float32)
    places, counts = np.array([[3, 1], [2, 4], [1, 2]]), np.array([2, 1, 0])
    target = draw.integers(4, 7, (3, 1 + 5))
    target[:, 0] = [1, 0, 1]
    found = np.asarray(MaskedWords.loss(target, Guesses(logits, places, counts, None)))
    logs = np.log(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True))
    own = [-logs[0, 0, target[0, 4]], -logs[0, 1, target[0, 2]], -logs[1, 0, target[1, 3]]]
    np.testing.assert_allclose(found, [(own[0] + own[1]) / 2, own[2], 0], rtol=1e-5)

    follows = draw.normal(size=(3, 2)).astype(np.float32)
    both = np.asarray(MaskedWords.loss(target, Guesses(logits, places, counts, follows)))
    pairs = keras.losses.sparse_categorical_crossentropy(target[:, 0], follows, from_logits=True)
    np.testing.assert_allclose(both - found, pairs, rtol=1e-4)


def test_training_draws_new_words_and_all_weights_learn():
    model = small_model(WORDS, next_sentence=True)
    with tf.GradientTape() as tape:
        first = model(ROWS, training=True)
        target = np.concatenate([np.ones((len(ROWS), 1), np.int32), ROWS], axis=1)
        loss = tf.reduce_sum(MaskedWords.loss(target, first))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert all(gradient is not None for gradient in gradients)
    assert first.logits.shape[2] == WORDS and first.follows.shape == (len(ROWS), 2)
    second = model(ROWS, training=True)
    assert not np.array_equal(first.places, second.places)


@pytest.mark.parametrize("paired", [False, True])
def test_predictions_of_a_part_are_the_models(paired):
    model = small_model(WORDS, next_sentence=paired)
    asked = choose(ROWS, WORDS, seed=0)
    predicted = Scorer(model, ROWS.shape[1])(MaskedPart(ROWS, np.ones(len(ROWS), np.int32), asked))
    logits = np.asarray(model(asked.tokens), np.float64)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    number = 0
    for row, count in enumerate(asked.counts):
        for place in asked.places[row, :count]:
            own = logs[row, place]
            assert predicted.words[number] == own.argmax()
            assert predicted.probabilities[number] == pytest.approx(np.exp(own.max()), rel=1e-4)
            assert predicted.losses[number] == pytest.approx(-own[ROWS[row, place]], rel=1e-4)
            number += 1
    assert number == len(predicted.words) and predicted.loss == pytest.approx(
        predicted.losses.mean()
    )
    assert (predicted.follows is not None) == paired
    assert (asked.tokens != ROWS).sum() <= number and (ROWS[ROWS > END] < WORDS).all()
