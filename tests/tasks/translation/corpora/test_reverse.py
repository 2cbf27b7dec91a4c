"""The sequences of data=reverse."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from attnlab.tasks.translation.corpora.reverse import Reverse


@pytest.fixture(scope="module")
def parts():
    corpus = Reverse(pairs=5000)
    return {part: list(corpus.pairs(part)) for part in corpus.own_parts}


def test_targets_are_sources_from_behind_and_links_say_which_number_is_which(parts):
    assert {part: len(pairs) for part, pairs in parts.items()} == {
        **{"train": 5000, "validation": 1000, "test": 1000}
    }
    for pair in parts["test"]:
        source, target = pair.source.split(), pair.target.split()
        assert target == source[::-1]
        links = [tuple(map(int, link.split("-"))) for link in pair.links.split()]
        assert sorted(place for _, place in links) == list(range(len(target)))
        assert all(links[at][0] + links[at][1] == len(source) - 1 for at in range(len(links)))


def test_lengths_and_numbers_are_uniform_and_tests_are_longer(parts):
    lengths = {
        part: Counter(len(pair.source.split()) for pair in parts[part])
        for part in ("train", "test")
    }
    assert set(lengths["train"]) == set(range(1, 26)) and max(lengths["test"]) == 30
    expected = 5000 / 25  # fewer of length 1, most of which are held out
    assert all(abs(lengths["train"][n] - expected) < 5 * expected**0.5 for n in range(2, 26))
    numbers = Counter(number for pair in parts["train"] for number in pair.source.split())
    assert len(numbers) == 50 and max(numbers.values()) < 1.15 * min(numbers.values())


def test_no_sequence_stands_in_two_parts(parts):
    held_out = [pair.source for part in ("validation", "test") for pair in parts[part]]
    assert len(set(held_out)) == 2000
    assert not set(held_out) & {pair.source for pair in parts["train"]}


def test_a_seed_and_each_setting_make_other_sequences(parts):
    same, other = Reverse(pairs=5000), Reverse(pairs=5000, seed=1)
    assert list(same.pairs("test")) == parts["test"] != list(other.pairs("test"))
    changes = ({}, {"seed": 1}, {"symbols": 49}, {"longest": 24}, {"pairs": 4999})
    assert len({Reverse(**{"pairs": 5000, **each}).digest() for each in changes}) == len(changes)
    # A larger train part begins like a smaller one, and leaves the others alone.
    larger = Reverse(pairs=5001)
    assert list(larger.pairs("train"))[:5000] == parts["train"]
    assert list(larger.pairs("test")) == parts["test"]


def test_the_sequences_are_those_of_the_version_before(parts):
    text = "\n".join(pair.source for pair in parts["test"])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "edd14117ad402a0c"
