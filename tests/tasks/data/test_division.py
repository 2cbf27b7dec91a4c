"""Held-out parts: grouped, stratified, decided by the seed alone, without leaks."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import PARTS, Corpus
from attnlab.tasks.data.division import divide, hold_out

SHARES = {"test": 0.2, "validation": 0.1}


class Labelled(NamedTuple):
    text: str
    label: str


class Texts(Corpus):
    name = "texts"
    test = 0.2

    def __init__(self, **parts):
        self.given = {
            part: [Labelled(text, text[:1]) for text in texts] for part, texts in parts.items()
        }

    def read(self, place):
        return self.given


def opened(tmp_path, **parts) -> Texts:
    corpus = Texts(**parts)
    corpus.open(tmp_path)
    return corpus


def test_each_class_has_its_share():
    labels = ["a"] * 70 + ["b"] * 30
    codes = hold_out(map(str, range(100)), 0, SHARES, labels)
    counts = Counter((PARTS[code], label) for code, label in zip(codes, labels, strict=True))
    assert counts == {
        **{("train", "a"): 49, ("validation", "a"): 7, ("test", "a"): 14},
        **{("train", "b"): 21, ("validation", "b"): 3, ("test", "b"): 6},
    }


def test_equal_keys_stay_together_and_no_part_exceeds_its_share():
    keys = [str(number // 7) for number in range(700)]
    codes = hold_out(keys, 3, SHARES)
    for group in range(100):
        assert len({*codes[7 * group : 7 * group + 7]}) == 1
    assert (codes == 2).sum() == 140 and (codes == 1).sum() == 70


def test_the_seed_decides_and_the_order_of_items_does_not():
    keys = [str(number) for number in range(60)]
    codes = hold_out(keys, 5, SHARES)
    assert np.array_equal(codes[::-1], hold_out(keys[::-1], 5, SHARES))
    assert not np.array_equal(codes, hold_out(keys, 6, SHARES))
    # A version that divides in another way makes older runs incomparable.
    pinned = [2, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 1, 0, 0, 1, 0, 2, 0, 0, 2]
    assert codes[:20].tolist() == pinned


def test_few_groups_leave_one_for_every_part():
    assert sorted(hold_out(["a", "b", "c"], 0, SHARES)) == [0, 1, 2]
    with pytest.raises(RequestError, match="at least 3 different texts of class x, .* got 2"):
        hold_out(["a", "b"], 0, SHARES, ["x", "x"])


def test_no_text_is_in_two_parts(tmp_path):
    corpus = opened(tmp_path, train=[f"{'ab'[n % 2]} {n % 40}" for n in range(200)])
    parts = divide(corpus, 0, attrgetter("text"))
    assert list(parts) == list(PARTS)
    keys = [{item.text for item in items} for items in parts.values()]
    assert sum(map(len, parts.values())) == 200 and len(set.union(*keys)) == sum(map(len, keys))


def test_own_parts_stay_and_a_note_counts_what_train_repeats(tmp_path):
    train, test = [f"a {n}" for n in range(20)], ["a 3", "a 3", "b 1"]
    corpus = opened(tmp_path, train=train, test=test)
    parts = divide(corpus, 0, attrgetter("text"))
    assert [item.text for item in parts["test"]] == test
    assert len(parts["train"]) + len(parts["validation"]) == 20
    assert corpus.notes == ("1 of 20 texts of train are also in a later part; they stay.",)


def test_an_empty_part_is_refused(tmp_path):
    with pytest.raises(RequestError, match="data=texts: expected texts in test, got none"):
        opened(tmp_path, train=["a"], test=[])
