"""Modified Kneser-Ney, compared with a plain implementation of its formula."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from attnlab.tasks.language import baselines as module
from attnlab.tasks.language.baselines import KneserNey

V = 7


def text(seed, length, repeats=0.7):
    """Tokens that often follow each other in the same way; token 6 is never among them."""
    draw = np.random.default_rng(seed)
    tokens = [0, 1]
    while len(tokens) < length:
        usual = (2 * tokens[-1] + 3 * tokens[-2] + 1) % 6
        tokens.append(usual if draw.random() < repeats else int(draw.integers(6)))
    return np.array(tokens[:length], np.int32)


TRAIN = text(1, 283)


class Plain:
    """The formula of the docstring, with dictionaries."""

    def __init__(self, stream, order):
        self.order = order
        ngrams = {
            length: [tuple(stream[i : i + length]) for i in range(len(stream) - length + 1)]
            for length in range(1, order + 1)
        }
        self.counts = {order: Counter(ngrams[order])}
        for length in range(1, order):
            self.counts[length] = Counter(ngram[1:] for ngram in {*ngrams[length + 1]})
        self.discounts = {length: self.discount(self.counts[length]) for length in self.counts}

    @staticmethod
    def discount(counts):
        n = Counter(counts.values())
        if not (n[1] and n[2] and n[3]):
            return [0, 0.5, 1, 1.5]
        y = n[1] / (n[1] + 2 * n[2])
        result = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        return [0, *result] if min(result) > 0 else [0, 0.5, 1, 1.5]

    def probability(self, word, history):
        shorter = self.probability(word, history[1:]) if history else 1 / V
        counts = self.counts[len(history) + 1]
        following = [counts[(*history, item)] for item in range(V)]
        if not sum(following):
            return shorter
        discounts = [self.discounts[len(history) + 1][min(count, 3)] for count in following]
        discounted = following[word] - discounts[word]
        return (discounted + sum(discounts) * shorter) / sum(following)


@pytest.mark.parametrize("part", [text(5, 61), text(6, 13, repeats=0), np.array([6, 6, 6, 0, 1])])
def test_probabilities_are_those_of_the_formula(part):
    for order in [1, 2, 3, 7]:
        plain = Plain(TRAIN.tolist(), order)
        shares = [
            plain.probability(part[place], tuple(part[max(place - order + 1, 0) : place].tolist()))
            for place in range(len(part))
        ]
        np.testing.assert_allclose(
            KneserNey(TRAIN, order, V).nats(part), -np.log(shares), rtol=1e-12
        )


def test_discounts_come_from_counts_of_counts():
    counts = np.array([1] * 10 + [2] * 6 + [3] * 4 + [4] * 2 + [9])
    y = 10 / 22
    expected = [0, 1 - 2 * y * 6 / 10, 2 - 3 * y * 4 / 6, 3 - 4 * y * 2 / 4]
    np.testing.assert_allclose(module._discounts(counts), expected)
    for few in ([1, 1, 2, 5], [1, 2, 3, 3, 3, 3]):  # no count of 3; D2 = 2 - 3 * 1/3 * 4 < 0
        assert module._discounts(np.array(few)).tolist() == [0, 0.5, 1, 1.5]


def test_texts_may_be_short_or_long(monkeypatch):
    few, model = text(1, 3), KneserNey(TRAIN, 3, V)
    assert np.array_equal(KneserNey(few, 7, V).nats(TRAIN), KneserNey(few, 3, V).nats(TRAIN))
    assert model.nats(TRAIN[:0]).shape == (0,)
    expected = model.nats(text(5, 61))
    monkeypatch.setattr(module, "_BLOCK", 7)
    assert np.array_equal(model.nats(text(5, 61)), expected)


@pytest.mark.realdata
def test_tinyshakespeare_has_the_known_bits_per_character(realdata):
    content = (realdata / "shakespeare" / "input.txt").read_text(encoding="utf-8")
    symbols = sorted({*content})
    tokens = np.array([symbols.index(item) for item in content], np.int32)
    cut = int(0.9 * len(tokens))
    nats = KneserNey(tokens[:cut], 7, len(symbols)).nats(tokens[cut:])
    assert f"{nats.mean() / math.log(2):.2f}" == "2.19"
