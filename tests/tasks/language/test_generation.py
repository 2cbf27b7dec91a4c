"""A cached model continues texts as one that reads everything again."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from language_models import small_model

from attnlab.attention.linear import LinearAttention
from attnlab.tasks.language.generation import Generator
from attnlab.tasks.language.models.recurrent import RecurrentLanguageModel
from attnlab.tasks.language.models.transformer import TransformerLanguageModel
from attnlab.tasks.language.sampler import Sampler

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
    return [int(step.tokens[0]) for step in steps]


def logits_after(model, tokens):
    return np.asarray(model(np.array([tokens], np.int32)), np.float64)[0, -1]


@pytest.mark.parametrize("length", [1, 12, 13, 29])
def test_cached_tokens_are_those_of_recomputation_over_a_rolling_window(model, length):
    prompt = np.random.default_rng(length).integers(V, size=length).tolist()
    greedy = Generator(model, Sampler(temperature=0))
    window, expected = prompt[-CONTEXT:], []
    for _ in range(20):  # the window moves every seven tokens
        if len(window) > CONTEXT:
            window = window[-(CONTEXT // 2) :]
        expected.append(int(logits_after(model, window).argmax()))
        window = [*window, expected[-1]]
    assert tokens_of(greedy.continued(prompt, tokens=20)) == expected


def test_probabilities_are_the_models_before_the_sampler(model):
    prompt = [1, 2, 3]
    steps = [*Generator(model, Sampler(temperature=0.5, top_k=2)).continued(prompt, tokens=5)]
    known = list(prompt)
    for step in steps:
        logits = logits_after(model, known)
        shares = np.exp(logits - logits.max())
        token = int(step.tokens[0])
        assert step.probabilities[0] == pytest.approx(shares[token] / shares.sum(), rel=1e-4)
        assert (logits > logits[token]).sum() < 2
        known.append(token)


def test_a_seed_gives_the_same_texts_and_each_text_has_its_own(model):
    sampled = Generator(model, Sampler())
    one = tokens_of(sampled.continued([5], tokens=50, seed=7))
    steps = [*sampled.continued([5], texts=3, tokens=50, seed=7)]
    rows = np.array([step.tokens for step in steps]).T.tolist()
    assert rows[0] == one == tokens_of(sampled.continued([5], tokens=50, seed=7))
    assert len({*map(tuple, rows)}) == 3
    assert tokens_of(sampled.continued([5], tokens=50, seed=8)) != one
    assert tokens_of(sampled.continued([5], tokens=9, seed=7)) == one[:9]


def test_a_repetition_penalty_knows_the_prompt_and_the_text(model):
    found = tokens_of(
        Generator(model, Sampler(temperature=0, repetition=2)).continued([4, 9], tokens=10)
    )
    known = [4, 9]
    for token in found:
        logits = logits_after(model, known)
        for each in {*known}:
            logits[each] = logits[each] / 2 if logits[each] > 0 else logits[each] * 2
        assert token == int(logits.argmax())
        known.append(token)


def test_a_state_of_constant_size_reads_on_beyond_the_context():
    settings = {"vocabulary": V, "context": CONTEXT, "units": 12, "feed_forward": 17}
    linear = [LinearAttention(heads=3)]
    model = TransformerLanguageModel(attention=linear, positions="none", **settings)
    model.build((None, CONTEXT))
    for variable in model.trainable_variables:
        variable.assign(8 * variable)
    assert model.longest is None
    found = tokens_of(Generator(model, Sampler(temperature=0)).continued([3, 1, 7], tokens=40))
    known = [3, 1, 7]
    for token in found:
        assert token == int(logits_after(model, known).argmax())
        known.append(token)
    recurrent = RecurrentLanguageModel(
        attention=LinearAttention(heads=3), vocabulary=V, context=CONTEXT, units=12
    )
    recurrent.build((None, CONTEXT))
    for variable in recurrent.trainable_variables:
        variable.assign(3 * variable)
    found = tokens_of(Generator(recurrent, Sampler(temperature=0)).continued([3, 1], tokens=40))
    known = [3, 1]
    for token in found:
        assert token == int(logits_after(recurrent, known).argmax())
        known.append(token)
    learned = TransformerLanguageModel(attention=[LinearAttention(heads=3)], **settings)
    learned.build((None, CONTEXT))
    assert learned.longest == CONTEXT
