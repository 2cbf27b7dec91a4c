"""Baselines that fill in words, compared with counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab.tasks.masked_words.baselines import Neighbours, baselines, frequencies
from attnlab.tasks.masked_words.masking import Asked

# Words 4 to 7; START 2, END 3, PAD 0, unknown 1.
TRAIN = np.array([[2, 4, 5, 4, 3, 0], [2, 4, 6, 1, 3, 0], [2, 4, 5, 3, 0, 0]])
WORDS = 8
MASK = 8


def by_hand(left: int | None, right: int | None) -> np.ndarray:
    """P of words 4 to 7, by counting."""
    rows = [[token for token in row if token] for row in TRAIN.tolist()]
    total = sum(map(len, rows))
    found = []
    for word in range(4, 8):
        count = sum(row.count(word) for row in rows)
        share = (count + 1) / (7 + 4)
        for beside, step in ((left, -1), (right, 1)):
            if beside is None:
                continue
            pairs = sum(
                row[at] == word and row[at + step] == beside
                for row in rows
                for at in range(1, len(row) - 1)
            )
            near = sum(row.count(beside) for row in rows) / total
            share *= (pairs + 0.1 * near) / (count + 0.1)
        found.append(share)
    return np.array(found) / np.sum(found)


def test_frequencies_add_one_to_each_word_and_know_no_other_tokens():
    assert frequencies(TRAIN, WORDS) == pytest.approx([0, 0, 0, 0, *np.array([5, 3, 2, 1]) / 11])


@pytest.mark.parametrize(("left", "right"), [(4, 3), (2, 5), (4, MASK), (MASK, 4), (MASK, MASK)])
def test_neighbours_are_naive_bayes(left, right):
    model = Neighbours(TRAIN, WORDS)
    (found,) = np.exp(model.log_shares(np.array([left]), np.array([right])))
    sides = (None if side == MASK else side for side in (left, right))
    assert found[4:] == pytest.approx(by_hand(*sides), rel=1e-6)
    assert found[:4].sum() == pytest.approx(0, abs=1e-9)


def test_baselines_are_scored_at_the_chosen_places():
    tokens = np.array([[2, 4, MASK, 4, 3], [2, MASK, 6, 3, 0]], np.int32)
    asked = Asked(tokens, np.array([[2, 0], [1, 0]], np.int32), np.array([1, 1], np.int32))
    right = np.array([5, 4])
    found = baselines(TRAIN, asked, right, WORDS)
    words, losses = found["frequency"]
    assert words.tolist() == [4, 4] and losses == pytest.approx(-np.log([3 / 11, 5 / 11]))
    words, losses = found["neighbours"]
    expected = [by_hand(4, 4), by_hand(2, 6)]
    assert words.tolist() == [4 + int(each.argmax()) for each in expected] == [5, 4]
    assert losses == pytest.approx(-np.log([expected[0][1], expected[1][0]]))
