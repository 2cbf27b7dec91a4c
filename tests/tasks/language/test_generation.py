"""A cached model continues texts as one that reads everything again; tokens are drawn right."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf
from language_models import small_model

from attnlab.attention.linear import LinearAttention
from attnlab.tasks.language.generation import Generator, draw, restrict
from attnlab.tasks.language.models.model import RecurrentLanguageModel, TransformerLanguageModel

V, CONTEXT = 11, 13


@pytest.fixture(scope="module")
def model():
    tf.keras.utils.set_random_seed(3)
    model = small_model(vocabulary=V, context=CONTEXT)
    for variable in model.trainable_variables:  # else all tokens are nearly equally probable
        variable.assign(8 * variable)
    return model


def tokens_of(steps):
    """The tokens of the first text."""
    return [int(step[0]) for step in steps]


def logits_after(model, tokens):
    return np.asarray(model(np.array([tokens], np.int32)), np.float64)[0, -1]


@pytest.mark.parametrize("length", [1, 12, 13, 29])
def test_cached_tokens_are_those_of_recomputation_over_a_rolling_window(model, length):
    prompt = np.random.default_rng(length).integers(V, size=length).tolist()
    greedy = Generator(model, temperature=0)
    window, expected = prompt[-CONTEXT:], []
    for _ in range(20):  # the window moves every seven tokens
        if len(window) > CONTEXT:
            window = window[-(CONTEXT // 2) :]
        expected.append(int(logits_after(model, window).argmax()))
        window = [*window, expected[-1]]
    assert tokens_of(greedy.continue_text(prompt, tokens=20)) == expected


def test_a_seed_gives_the_same_texts_and_each_text_has_its_own(model):
    sampled = Generator(model)
    one = tokens_of(sampled.continue_text([5], tokens=50, seed=7))
    steps = [*sampled.continue_text([5], texts=3, tokens=50, seed=7)]
    rows = np.array(steps).T.tolist()
    assert rows[0] == one == tokens_of(sampled.continue_text([5], tokens=50, seed=7))
    assert len({*map(tuple, rows)}) == 3
    assert tokens_of(sampled.continue_text([5], tokens=50, seed=8)) != one
    assert tokens_of(sampled.continue_text([5], tokens=9, seed=7)) == one[:9]


def test_a_state_of_constant_size_reads_on_beyond_the_context():
    settings = {"vocabulary": V, "context": CONTEXT, "units": 12, "feed_forward": 17}
    models = [
        TransformerLanguageModel(
            attention=[LinearAttention(heads=3)], positions="none", **settings
        ),
        RecurrentLanguageModel(
            attention=LinearAttention(heads=3), vocabulary=V, context=CONTEXT, units=12
        ),
    ]
    for model in models:
        model.build((None, CONTEXT))
        for variable in model.trainable_variables:
            variable.assign(5 * variable)
        assert model.longest is None
        tokens = [3, 1, 7]
        for token in tokens_of(Generator(model, temperature=0).continue_text(tokens, tokens=40)):
            assert token == int(logits_after(model, tokens).argmax())
            tokens.append(token)
    learned = TransformerLanguageModel(attention=[LinearAttention(heads=3)], **settings)
    learned.build((None, CONTEXT))
    assert learned.longest == CONTEXT


# --- drawing a token from logits -----------------------------------------------------------------


def logs(*shares):
    return tf.constant(np.log(np.array([shares], float)))


def stays(logits):
    """Whether each token of the first row stays."""
    return np.isfinite(logits.numpy())[0].tolist()


def drawn(logits, count, **sampling):
    """Tokens drawn for equally spaced random numbers."""
    uniform = tf.constant((np.arange(count) + 0.5) / count)
    return draw(tf.repeat(tf.constant(logits), count, axis=0), uniform, **sampling).numpy()


def test_top_k_and_top_p_by_hand():
    logits = tf.constant([[1.0, 3.0, 2.0, 2.0, 0.0]], tf.float64)
    assert stays(restrict(logits, top_k=1)) == [False, True, False, False, False]
    assert stays(restrict(logits, top_k=2)) == [False, True, True, True, False]  # ties stay
    assert restrict(logits, top_k=99).numpy().tolist() == logits.numpy().tolist()
    logits = logs(0.125, 0.5, 0.25, 0.125)
    assert {mass: stays(restrict(logits, top_p=mass)) for mass in (0.3, 0.5, 0.51, 0.8, 1)} == {
        0.3: [False, True, False, False],
        0.5: [False, True, False, False],
        0.51: [False, True, True, False],
        0.8: [True, True, True, False],  # the first one of equals
        1: [True, True, True, True],
    }


@pytest.mark.parametrize(("temperature", "shares"), [(1, (10, 50, 40)), (0.5, (1, 25, 16))])
def test_tokens_are_drawn_by_their_probabilities(temperature, shares):
    tokens = drawn(logs(0.1, 0.5, 0.4), sum(shares) * 3, temperature=temperature)
    assert np.bincount(tokens, minlength=3).tolist() == [3 * share for share in shares]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sampling", [{"top_k": 3}, {"top_p": 0.2}])
def test_excluded_tokens_are_never_drawn(dtype, sampling):
    logits = np.random.default_rng(0).normal(size=(1, 101)).astype(dtype)
    allowed = {*np.flatnonzero(stays(restrict(tf.cast(logits, tf.float64), **sampling)))}
    assert 1 < len(allowed) < 20
    assert {*drawn(logits, 2000, **sampling)} == allowed
    edges = tf.constant([[-math.inf, 0.0, 0.0, -math.inf]] * 2, tf.float64)
    tokens = draw(edges, tf.constant([0.0, 1 - 1e-16], tf.float64))
    assert tokens.numpy().tolist() == [1, 2]
    assert {*drawn(np.array([[1e4, 1e4 - 1, -math.inf]]), 100)} == {0, 1}
