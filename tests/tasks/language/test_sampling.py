"""Drawing the next token, by hand and against transformers' logits processors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.language.sampling import Sampler, min_p, penalized, probabilities, top_k, top_p

NONE = -math.inf


def logs(*shares):
    return np.log(np.array([shares], float))


def drawn(sampler, logits, count, seed=0):
    """Tokens that one row draws again and again."""
    draw, seen = [np.random.default_rng(seed)], np.zeros(logits.shape, bool)
    return np.array([sampler.draw(logits, seen, draw)[0] for _ in range(count)])


def test_repetition_divides_positive_and_multiplies_negative_logits():
    seen = np.array([[True, True, False, False]])
    found = penalized(np.array([[2.0, -2.0, 2.0, -2.0]]), seen, 2)
    assert found.tolist() == [[1, -4, 2, -2]]


def test_top_k_keeps_ties():
    logits = np.array([[1.0, 3.0, 2.0, 2.0, 0.0]])
    assert top_k(logits, 1).tolist() == [[NONE, 3, NONE, NONE, NONE]]
    assert top_k(logits, 2).tolist() == [[NONE, 3, 2, 2, NONE]]
    assert top_k(logits, 99).tolist() == logits.tolist()


def test_top_p_keeps_the_fewest_tokens_with_that_mass():
    logits = logs(0.125, 0.5, 0.25, 0.125)
    kept = {mass: np.isfinite(top_p(logits, mass))[0].tolist() for mass in (0.3, 0.5, 0.51, 0.8, 1)}
    assert kept == {
        0.3: [False, True, False, False],
        0.5: [False, True, False, False],
        0.51: [False, True, True, False],
        0.8: [True, True, True, False],  # the first one of equals
        1: [True, True, True, True],
    }
    assert top_p(logits, 0.8)[0, 1] == logits[0, 1]


def test_min_p_is_a_share_of_the_largest_probability():
    logits = logs(0.1, 0.5, 0.26, 0.14)
    assert np.isfinite(min_p(logits, 0.5))[0].tolist() == [False, True, True, False]
    assert np.isfinite(min_p(logits, 1))[0].tolist() == [False, True, False, False]
    assert np.isfinite(min_p(logits, 0)).all()


def test_temperature_0_takes_the_first_most_probable_token():
    logits = np.array([[1.0, 4.0, 4.0], [3.0, 1.0, 2.0]])
    draws = [np.random.default_rng(seed) for seed in (0, 1)]
    sampler = Sampler(temperature=0, top_p=0.1)
    assert sampler.draw(logits, np.zeros((2, 3), bool), draws).tolist() == [1, 0]
    seen = np.array([[False, True, True], [True, False, False]])
    found = Sampler(temperature=0, repetition=5).draw(logits, seen, draws)
    assert found.tolist() == [0, 2]


def test_shares_are_the_probabilities():
    found = drawn(Sampler(), logs(0.1, 0.5, 0.4), 20_000)
    shares = np.bincount(found, minlength=3) / 20_000
    np.testing.assert_allclose(shares, [0.1, 0.5, 0.4], atol=0.015)
    hot = drawn(Sampler(temperature=0.5), logs(0.1, 0.5, 0.4), 20_000)
    expected = np.array([0.01, 0.25, 0.16]) / 0.42
    np.testing.assert_allclose(np.bincount(hot, minlength=3) / 20_000, expected, atol=0.015)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_excluded_tokens_are_never_drawn(dtype):
    logits = np.random.default_rng(0).normal(size=(1, 101)).astype(dtype)
    for sampler in (Sampler(top_k=3), Sampler(top_p=0.2), Sampler(min_p=0.5)):
        adjusted = sampler.adjusted(logits, np.zeros(logits.shape, bool))
        allowed = {*np.flatnonzero(np.isfinite(adjusted[0]))}
        assert 1 < len(allowed) < 20
        assert {*drawn(sampler, logits, 2000)} == allowed


def test_a_seed_decides_and_rows_dont_depend_on_each_other():
    logits = np.random.default_rng(0).normal(size=(3, 31))
    seen = np.zeros(logits.shape, bool)

    def rows(which):
        draws = [np.random.default_rng(seed) for seed in which]
        return np.array([Sampler().draw(logits[which], seen[which], draws) for _ in range(50)]).T

    together = rows([0, 1, 2])
    assert np.array_equal(together[1:2], rows([1])) and np.array_equal(together[2:], rows([2]))
    assert not np.array_equal(together[1], drawn(Sampler(), logits[1:2], 50, seed=7))


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
    ours = Sampler(**settings).adjusted(logits, seen)
    rows = slice(1, None) if "top_p" in settings else slice(None)  # which of equals is theirs
    np.testing.assert_allclose(ours[rows], theirs.numpy()[rows], rtol=1e-6)
    assert np.isfinite(ours).sum(axis=1).tolist() == torch.isfinite(theirs).sum(1).tolist()


def test_probabilities_of_large_logits():
    found = probabilities(np.array([[1e4, 1e4 - 1, NONE]]))
    np.testing.assert_allclose(found, [[1 / (1 + math.exp(-1)), 1 / (1 + math.e), 0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, r"--temperature: expected 0 or more, got -0\.1"),
        ({"temperature": math.nan}, r"--temperature: .*got nan"),
        ({"temperature": math.inf}, r"--temperature: .*got inf"),
        ({"top_k": 0}, r"--top-k: expected 1 or more, got 0"),
        ({"top_p": 0.0}, r"--top-p: expected more than 0 and at most 1, got 0\.0"),
        ({"top_p": 1.1}, r"--top-p: .*got 1\.1"),
        ({"min_p": -0.1}, r"--min-p: expected a number from 0 to 1, got -0\.1"),
        ({"repetition": 0.0}, r"--repetition: expected more than 0, got 0\.0"),
    ],
)
def test_values_out_of_range_are_refused(settings, message):
    with pytest.raises(RequestError, match=message):
        Sampler(**settings)
