"""The sequences of data=recall."""

from __future__ import annotations

import hashlib

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.recall import Recall

KEYS, LENGTH = 4, 16


@pytest.fixture(scope="module")
def parts():
    corpus = Recall(pairs=2000)
    return {part: list(corpus.pairs(part)) for part in corpus.own_parts}


def test_each_key_is_asked_for_once_and_answered_with_its_value(parts):
    assert {part: len(pairs) for part, pairs in parts.items()} == {
        **{"train": 2000, "validation": 1000, "test": 1000}
    }
    for pair in parts["test"]:
        words, target = pair.source.split(), pair.target.split()
        assert len(words) == LENGTH and len(target) == 2 * KEYS
        known = dict(zip(words[0 : 2 * KEYS : 2], words[1 : 2 * KEYS : 2], strict=True))
        assert len(known) == KEYS
        asked = [word for word in words[2 * KEYS :] if word != "."]
        assert target[::2] == asked and sorted(asked) == sorted(known)
        assert target[1::2] == [known[key] for key in asked]


def test_links_say_where_a_key_is_asked_for_and_where_its_value_stands(parts):
    for pair in parts["test"][:100]:
        words, target = pair.source.split(), pair.target.split()
        links = [tuple(map(int, link.split("-"))) for link in pair.links.split()]
        assert [at for _, at in links] == list(range(len(target)))
        assert all(words[place] == target[at] for place, at in links)
        assert all(place >= 2 * KEYS for place, _ in links[::2])  # asked for
        assert all(place < 2 * KEYS and place % 2 for place, _ in links[1::2])  # a value


def test_order_places_and_values_are_of_chance(parts):
    words = [pair.source.split() for pair in parts["train"]]
    first_asked = [next(w for w in row[2 * KEYS :] if w != ".") for row in words]
    same = sum(row[0] == key for row, key in zip(words, first_asked, strict=True))
    assert abs(same - len(words) / KEYS) < 5 * (len(words) * 0.25 * 0.75) ** 0.5
    fillers = sum(row[-1] == "." for row in words)
    assert abs(fillers - len(words) / 2) < 5 * (len(words) / 4) ** 0.5  # 4 of 8 places
    assert len({row[1] for row in words}) == 32 == len({row[0] for row in words})


def test_no_sequence_stands_in_two_parts(parts):
    held_out = [pair.source for part in ("validation", "test") for pair in parts[part]]
    assert len(set(held_out)) == 2000
    assert not set(held_out) & {pair.source for pair in parts["train"]}


def test_a_seed_and_each_setting_make_other_sequences(parts):
    assert list(Recall(pairs=2000).pairs("test")) == parts["test"]
    changes = ({}, {"seed": 1}, {"symbols": 33}, {"keys": 5}, {"length": 17}, {"pairs": 1999})
    assert len({Recall(**{"pairs": 2000, **each}).digest() for each in changes}) == len(changes)
    assert list(Recall(pairs=2000, seed=1).pairs("test")) != parts["test"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"symbols": 3}, r"data\.symbols: expected at least data\.keys=4, got 3"),
        ({"length": 11}, r"data\.length: expected at least 12, .* got 11"),
        (
            {"keys": 2, "length": 6, "symbols": 5, "pairs": 100},
            r"data\.symbols: expected so many that 2,100 .* got 5, which make 1,000",
        ),
    ],
)
def test_sequences_that_cannot_be_are_refused(settings, message):
    with pytest.raises(RequestError, match=message):
        Recall(**settings)


def test_the_sequences_are_those_of_the_version_before(parts):
    text = "\n".join(pair.source for pair in parts["test"])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "0fb9d4c8b6b56738"
