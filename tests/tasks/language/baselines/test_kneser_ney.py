"""Modified Kneser-Ney, compared with a plain implementation of its formula."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from attnlab.tasks.language.baselines import kneser_ney as module
from attnlab.tasks.language.baselines.kneser_ney import KneserNey, kneser_ney

V = 7


def text(seed, length, repeats=0.7):
    """Tokens that often follow each other in the same way; token 6 is never among them."""
    draw = np.random.default_rng(seed)
    tokens = [0, 1]
    while len(tokens) < length:
        usual = (2 * tokens[-1] + 3 * tokens[-2] + 1) % 6
        tokens.append(usual if draw.random() < repeats else int(draw.integers(6)))
    return np.array(tokens[:length], np.int32)


TRAIN = [text(1, 199), text(2, 1), text(3, 83), text(4, 0)]


class Plain:
    """The formula of the docstring, with dictionaries."""

    def __init__(self, sequences, order):
        self.order = order
        self.counts = {}
        for length in range(1, order + 1):
            ngrams = [
                tuple(each[i : i + length]) for each in sequences for i in spots(each, length)
            ]
            self.counts[length] = Counter(ngrams)
        for length in range(1, order):
            longer = {*self.counts[length + 1]}
            self.counts[length] = Counter(ngram[1:] for ngram in longer)
        self.discounts = {length: self.discount(self.counts[length]) for length in self.counts}

    @staticmethod
    def discount(counts):
        n = Counter(counts.values())
        if not (n[1] and n[2] and n[3]):
            return [0, 0.5, 1, 1.5]
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        return [0, *found] if min(found) > 0 else [0, 0.5, 1, 1.5]

    def probability(self, word, history):
        history = tuple(history[max(len(history) - self.order + 1, 0) :])
        return self.at(word, history)

    def at(self, word, history):
        shorter = self.at(word, history[1:]) if history else 1 / V
        length = len(history) + 1
        counts = self.counts[length]
        following = [counts[(*history, each)] for each in range(V)]
        if not sum(following):
            return shorter
        discounts = [self.discounts[length][min(count, 3)] for count in following]
        own = following[word] - discounts[word]
        return (own + sum(discounts) * shorter) / sum(following)


def spots(sequence, length):
    return range(len(sequence) - length + 1)


@pytest.mark.parametrize("order", range(1, 8))
def test_probabilities_are_those_of_the_formula(order):
    part = [text(5, 61), text(6, 13, repeats=0), np.array([6, 6, 6, 0, 1])]
    plain = Plain(TRAIN, order)
    expected = [
        -math.log(plain.probability(each[place], each[:place].tolist()))
        for each in part
        for place in range(len(each))
    ]
    found = KneserNey(TRAIN, 7, V).nats(part)
    assert found.shape == (7, 79)
    np.testing.assert_allclose(found[order - 1], expected, rtol=1e-12)


@pytest.mark.parametrize("order", range(1, 8))
def test_probabilities_sum_to_one_for_seen_and_unseen_histories(order):
    model = KneserNey(TRAIN, 7, V)
    seen, unseen = TRAIN[0][50:60], np.array([6, 6, 0, 6, 1, 6, 2])
    for history in ([], seen, unseen, [*unseen, *seen], [*seen, *unseen], seen[:3]):
        found = model.probabilities(history, order)
        assert found.shape == (V,) and found.min() > 0
        assert math.isclose(found.sum(), 1, rel_tol=1e-12)
        nats = model.nats([np.array([*history, 3])])[order - 1, -1]
        assert math.isclose(-math.log(found[3]), nats, rel_tol=1e-12)


def test_discounts_come_from_counts_of_counts():
    counts = np.array([1] * 10 + [2] * 6 + [3] * 4 + [4] * 2 + [9])
    y = 10 / 22
    expected = [0, 1 - 2 * y * 6 / 10, 2 - 3 * y * 4 / 6, 3 - 4 * y * 2 / 4]
    np.testing.assert_allclose(module._discounts(counts), expected)
    for few in ([1, 1, 2, 5], [1, 2, 3, 3, 3, 3]):  # no count of 3; D2 = 2 - 3 * 1/3 * 4 < 0
        assert module._discounts(np.array(few)).tolist() == [0, 0.5, 1, 1.5]


def test_without_training_text_each_token_is_equally_probable():
    for train in ([], [np.zeros(0, np.int32)]):
        found = KneserNey(train, 3, V).nats([np.array([1, 6])])
        np.testing.assert_allclose(found, np.full((3, 2), math.log(V)))


def test_orders_beyond_the_longest_sequence_equal_its_order():
    found = KneserNey([text(1, 3), text(2, 2)], 7, V).nats([text(3, 29)])
    assert not np.array_equal(found[1], found[2])
    assert all(np.array_equal(found[2], higher) for higher in found[3:])


def test_an_empty_part_has_no_tokens():
    assert KneserNey(TRAIN, 3, V).nats([]).shape == (3, 0)


def test_named_baselines_have_an_order_each(monkeypatch):
    part = [text(5, 61)]
    found, notes = kneser_ney(TRAIN, part, V)
    assert [*found] == [f"kneser_ney_{order}" for order in range(2, 8)] and not notes
    every = KneserNey(TRAIN, 7, V).nats(part)
    assert all(np.array_equal(found[f"kneser_ney_{n}"], every[n - 1]) for n in range(2, 8))
    size = sum(map(len, TRAIN))
    for most in (size - 1, len(TRAIN[-1]) + 3, 5):
        monkeypatch.setattr(module, "MOST_TOKENS", most)
        found, notes = kneser_ney(TRAIN, part, V)
        assert f"counted on the last {most} of {size} tokens of train" in notes[0]
        left, last = most, []
        for sequence in TRAIN[::-1]:
            last = [*([sequence[-left:]] if left > 0 else []), *last]
            left -= len(sequence)
        every = KneserNey(last, 7, V).nats(part)
        assert np.array_equal(found["kneser_ney_7"], every[6])


@pytest.mark.realdata
def test_tinyshakespeare_has_the_known_bits_per_character(realdata):
    content = (realdata / "shakespeare" / "input.txt").read_text(encoding="utf-8")
    symbols = sorted({*content})
    tokens = np.array([symbols.index(each) for each in content], np.int32)
    cut = int(0.9 * len(tokens))
    nats = KneserNey([tokens[:cut]], 7, len(symbols)).nats([tokens[cut:]])
    bits = nats.mean(axis=1) / math.log(2)
    assert [f"{each:.2f}" for each in bits] == [
        *("4.83", "3.58", "2.94", "2.48", "2.25", "2.20", "2.19")
    ]
