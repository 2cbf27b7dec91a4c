"""Drawing the next token, by hand and against transformers' logits processors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf

from attnlab.errors import RequestError
from attnlab.tasks.language import sampling
from attnlab.tasks.language.sampler import Sampler
from attnlab.tasks.language.sampling import min_p, penalized, top_k, top_p

NONE = -math.inf


def logs(*shares):
    return tf.constant(np.log(np.array([shares], float)))


def kept(logits):
    """Whether each token of the first row stays."""
    return np.isfinite(logits.numpy())[0].tolist()


def drawn(sampler, logits, count):
    """Tokens drawn for equally spaced random numbers."""
    many = tf.repeat(tf.constant(logits), count, axis=0)
    uniform = tf.constant((np.arange(count) + 0.5) / count)
    return sampling.drawn(sampler, many, tf.zeros(many.shape, tf.bool), uniform).numpy()


def test_repetition_divides_positive_and_multiplies_negative_logits():
    seen = np.array([[True, True, False, False]])
    found = penalized(tf.constant([[2.0, -2.0, 2.0, -2.0]], tf.float64), seen, 2)
    assert found.numpy().tolist() == [[1, -4, 2, -2]]


def test_top_k_keeps_ties():
    logits = tf.constant([[1.0, 3.0, 2.0, 2.0, 0.0]], tf.float64)
    assert top_k(logits, 1).numpy().tolist() == [[NONE, 3, NONE, NONE, NONE]]
    assert top_k(logits, 2).numpy().tolist() == [[NONE, 3, 2, 2, NONE]]
    assert top_k(logits, 99).numpy().tolist() == logits.numpy().tolist()


def test_top_p_keeps_the_fewest_tokens_with_that_mass():
    logits = logs(0.125, 0.5, 0.25, 0.125)
    assert {mass: kept(top_p(logits, mass)) for mass in (0.3, 0.5, 0.51, 0.8, 1)} == {
        0.3: [False, True, False, False],
        0.5: [False, True, False, False],
        0.51: [False, True, True, False],
        0.8: [True, True, True, False],  # the first one of equals
        1: [True, True, True, True],
    }
    assert top_p(logits, 0.8)[0, 1] == logits[0, 1]


def test_min_p_is_a_share_of_the_largest_probability():
    logits = logs(0.1, 0.5, 0.26, 0.14)
    assert kept(min_p(logits, 0.5)) == [False, True, True, False]
    assert kept(min_p(logits, 1)) == [False, True, False, False]
    assert kept(min_p(logits, 0)) == [True] * 4


def test_temperature_0_takes_the_first_most_probable_token():
    logits = tf.constant([[1.0, 4.0, 4.0], [3.0, 1.0, 2.0]])
    never, uniform = tf.zeros((2, 3), tf.bool), tf.constant([0.9, 0.9], tf.float64)
    greedy = Sampler(temperature=0)
    assert sampling.drawn(greedy, logits, never, uniform).numpy().tolist() == [1, 0]
    seen = tf.constant([[False, True, True], [True, False, False]])
    found = sampling.drawn(Sampler(temperature=0, repetition=5), logits, seen, uniform)
    assert found.numpy().tolist() == [0, 2]


@pytest.mark.parametrize(("temperature", "shares"), [(1, (10, 50, 40)), (0.5, (1, 25, 16))])
def test_tokens_are_drawn_by_their_probabilities(temperature, shares):
    count = sum(shares) * 3
    found = drawn(Sampler(temperature=temperature), logs(0.1, 0.5, 0.4), count)
    assert np.bincount(found, minlength=3).tolist() == [3 * share for share in shares]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_excluded_tokens_are_never_drawn(dtype):
    logits = np.random.default_rng(0).normal(size=(1, 101)).astype(dtype)
    for sampler in (Sampler(top_k=3), Sampler(top_p=0.2), Sampler(min_p=0.5)):
        found = sampling.adjusted(sampler, logits, tf.zeros(logits.shape, tf.bool))
        allowed = {*np.flatnonzero(kept(found))}
        assert 1 < len(allowed) < 20
        assert {*drawn(sampler, logits, 2000)} == allowed
    at_the_edges = tf.constant([0.0, 1 - 1e-16], tf.float64)
    edges = tf.constant([[NONE, 0.0, 0.0, NONE]] * 2, tf.float64)
    found = sampling.drawn(Sampler(), edges, tf.zeros((2, 4), tf.bool), at_the_edges)
    assert found.numpy().tolist() == [1, 2]


def test_logits_of_any_size_have_probabilities():
    assert {*drawn(Sampler(), np.array([[1e4, 1e4 - 1, NONE]]), 100)} == {0, 1}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"repetition": 1.3},
        {"repetition": 0.7},
        {"temperature": 0.7},
        {"top_k": 5},
        {"top_p": 0.6},
        {"min_p": 0.2},
        {"repetition": 1.2, "temperature": 1.7, "top_k": 13, "top_p": 0.8, "min_p": 0.1},
    ],
)
def test_the_same_tokens_stay_as_in_transformers(settings, dtype):
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("transformers.generation.logits_process")
    generator = np.random.default_rng(1)
    logits = (3 * generator.normal(size=(17, 53))).astype(dtype)
    logits[0, ::2] = 1.5  # ties
    before = generator.integers(53, size=(17, 7))
    steps = {
        "repetition": library.RepetitionPenaltyLogitsProcessor,
        "temperature": library.TemperatureLogitsWarper,
        "top_k": library.TopKLogitsWarper,
        "top_p": library.TopPLogitsWarper,
        "min_p": library.MinPLogitsWarper,
    }
    theirs = torch.tensor(logits)
    for name, step in steps.items():
        if name in settings:
            theirs = step(settings[name])(torch.tensor(before), theirs)
    seen = np.zeros(logits.shape, bool)
    np.put_along_axis(seen, before, True, axis=1)
    ours = sampling.adjusted(Sampler(**settings), logits, seen).numpy()
    rows = slice(1, None) if "top_p" in settings else slice(None)  # which of equals is theirs
    np.testing.assert_allclose(ours[rows], theirs.numpy()[rows], rtol=1e-6)
    assert np.isfinite(ours).sum(axis=1).tolist() == torch.isfinite(theirs).sum(1).tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, r"--temperature: expected 0, or 1e-6 or more, got -0\.1"),
        ({"temperature": math.nan}, r"--temperature: .*got nan"),
        ({"temperature": math.inf}, r"--temperature: .*got inf"),
        ({"top_k": 0}, r"--top-k: expected 1 or more, got 0"),
        ({"top_p": 0.0}, r"--top-p: expected more than 0 and at most 1, got 0\.0"),
        ({"top_p": 1.1}, r"--top-p: .*got 1\.1"),
        ({"min_p": -0.1}, r"--min-p: expected a number from 0 to 1, got -0\.1"),
        ({"repetition": 0.0}, r"--repetition: expected 0.01 to 100, got 0\.0"),
        ({"temperature": 0, "min_p": 0.1}, "--min-p: it has no effect"),
    ],
)
def test_values_out_of_range_are_refused(settings, message):
    with pytest.raises(RequestError, match=message):
        Sampler(**settings)
