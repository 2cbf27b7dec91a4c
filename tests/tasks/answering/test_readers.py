"""Readers: every model with every mechanism, and exact small cases."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_models import assert_every_weight_learns, combinations, settings

from attnlab.attention.luong import LuongGlobalAttention
from attnlab.config.options import option_class
from attnlab.config.sections import Option
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.task import Answer
from attnlab.text.tokenizers import END, START

Q, P, VOCABULARY = 4, 7, 20
DRAW = np.random.default_rng(7)
LENGTHS = ((3, 7), (4, 3), (1, 1))  # of question, END included, and text


def rows() -> np.ndarray:
    tokens = np.zeros((len(LENGTHS), 1 + Q + P), np.int32)
    tokens[:, 0] = START
    for row, (question, text) in zip(tokens, LENGTHS, strict=True):
        row[1:question] = DRAW.integers(4, VOCABULARY, question - 1)
        row[question] = END
        row[1 + Q : 1 + Q + text] = DRAW.integers(4, VOCABULARY, text)
    return tokens


TOKENS = rows()
TARGETS = np.array([[2, 4], [3, 3], [0, 0]])


def built(model: str, arguments: dict, attention):
    sizes = {"vocabulary": VOCABULARY, "question_places": Q, "text_places": P}
    shape = (None, 1 + Q + P)
    return KIND.models.build(Option(model, arguments), attention, shape, **sizes)


def make(model: str, attention: str, **changes):
    keras.utils.set_random_seed(3)
    arguments = {**settings("model/settings", f"answering_{model}"), "dropout": 0.0, **changes}
    cls = option_class("attention", attention)
    return built(
        model, arguments, functools.partial(cls, **settings("attention", attention, window=12))
    )


@functools.cache
def made(model: str, attention: str):
    """The same model, cached for tests that don't change it."""
    return make(model, attention)


CASES = combinations(("rnn", "transformer"))
by_case = pytest.mark.parametrize(("model", "attention"), CASES, ids=["-".join(c) for c in CASES])


@by_case
def test_a_reader_keeps_its_contract(model, attention):
    reader = made(model, attention)
    assert_each_place_has_a_logit_that_depends_on_its_own_row(reader)
    assert_the_text_attends_to_the_words_of_the_question(reader, model, attention)
    assert_every_weight_learns(
        reader,
        lambda: tf.reduce_mean(Answer.loss(TARGETS, reader(TOKENS, training=True))),
        cancelling="bias",
    )


def assert_each_place_has_a_logit_that_depends_on_its_own_row(reader):
    logits = reader(TOKENS).numpy()
    assert logits.shape == (3, 2, 1 + P) and logits.dtype == np.float32
    for row, (_, length) in zip(logits, LENGTHS, strict=True):
        assert np.isfinite(row).all() and (np.abs(row[:, : 1 + length]) < 1e3).all()
        assert (row[:, 1 + length :] == -1e9).all()  # padding
    changed = TOKENS.copy()
    changed[0, 1] = 4 + (changed[0, 1] - 3) % (VOCABULARY - 4)  # a word of the question
    after = reader(changed).numpy()
    assert np.abs(logits[0] - after[0]).max() > 1e-6
    np.testing.assert_array_equal(logits[1:], after[1:])
    np.testing.assert_allclose(reader(TOKENS[1:2])[0], logits[1], rtol=1e-4, atol=1e-5)


def assert_the_text_attends_to_the_words_of_the_question(reader, model, attention):
    weights = reader.attention_weights(TOKENS)
    if attention == "none":
        assert weights is None
        return
    weights = np.asarray(weights)
    assert (weights.shape[0], *weights.shape[2:]) == (3, P, Q)
    for row, (question, text) in enumerate(LENGTHS):
        text_weights = weights[row, :, :text]
        assert (text_weights[..., question:] == 0).all()
        assert (text_weights >= 0).all() or attention == "differential"
        sums = text_weights.sum(axis=-1)
        assert (sums < 1 + 1e-5).all()
        if model == "rnn" and attention not in ("luong_local", "differential"):
            np.testing.assert_allclose(sums, 1, rtol=1e-5)


def test_the_loss_is_the_mean_of_both_cross_entropies():
    logits = DRAW.normal(size=(3, 2, 5)).astype(np.float32)
    target = np.array([[0, 4], [1, 1], [3, 2]])
    logs = logits - np.log(np.exp(logits.astype(float)).sum(axis=-1, keepdims=True))
    expected = [
        -(logs[n, 0, first] + logs[n, 1, last]) / 2 for n, (first, last) in enumerate(target)
    ]
    np.testing.assert_allclose(Answer.loss(target, logits), expected, rtol=1e-5)


def test_a_recurrent_reader_is_its_equations():
    """The modeling layer reads [h; h q; c; h c], with c by softmax(h Q') Q, by NumPy."""
    arguments = {"units": 3, "embedding": 4, "dropout": 0.0, "bidirectional": False}
    keras.utils.set_random_seed(5)
    reader = built("rnn", arguments, LuongGlobalAttention)
    kernel, bias = (weight.numpy() for weight in reader.output_layer.weights)
    vectors = reader.embedding.embeddings.numpy()[TOKENS]
    logits = reader(TOKENS).numpy()
    for row, (asked, length) in enumerate(LENGTHS):
        states = [
            reader.encoder(part[None])[0].numpy()[0]
            for part in (
                np.concatenate([vectors[row, :1], vectors[row, 1 + Q : 1 + Q + length]]),
                vectors[row, 1 : 1 + asked],
            )
        ]
        scores = np.exp(states[0] @ states[1].T)
        context = scores / scores.sum(axis=1, keepdims=True) @ states[1]
        last = states[0] * states[1][-1]
        inputs = np.concatenate([states[0], last, context, states[0] * context], axis=1)
        expected = (reader.modeling(inputs[None])[0].numpy()[0] @ kernel + bias).T
        np.testing.assert_allclose(logits[row, :, : 1 + length], expected, rtol=1e-4, atol=1e-5)
