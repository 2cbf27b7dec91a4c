"""The sequences of data=reverse and of data=recall."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.generated import Recall, Reverse

PAIRS = 5000
KEYS, LENGTH = 4, 16
# Each with other values of its settings, and the digest of its test part.
CORPORA = {
    Reverse: ({"symbols": 49}, {"longest": 24}, "edd14117ad402a0c"),
    Recall: ({"symbols": 33}, {"keys": 5}, {"length": 17}, "0fb9d4c8b6b56738"),
}


def opened(corpus, **settings):
    found = corpus(**{"pairs": PAIRS, **settings})
    found.open(Path("nowhere"))
    return found


@pytest.fixture(scope="module")
def made():
    """Corpus -> part -> pairs."""
    return {corpus: opened(corpus).parts for corpus in CORPORA}


def links_of(pair):
    return [tuple(map(int, link.split("-"))) for link in pair.links.split()]


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_sequence_is_in_two_parts(made, corpus):
    parts = made[corpus]
    sizes = {part: len(pairs) for part, pairs in parts.items()}
    assert sizes == {"train": PAIRS, "validation": 1000, "test": 1000}
    held_out = {pair.source for part in ("validation", "test") for pair in parts[part]}
    assert len(held_out) == 2000
    assert not held_out & {pair.source for pair in parts["train"]}


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_seed_and_each_setting_make_other_sequences(made, corpus):
    *changes, digest = CORPORA[corpus]
    test = made[corpus]["test"]
    assert opened(corpus, seed=1).parts["test"] != test
    changes = ({}, {"seed": 1}, {"pairs": PAIRS - 1}, *changes)
    digests = {opened(corpus, **each).digest() for each in changes}
    assert len(digests) == len(changes)
    # A larger train part starts like a smaller one, and doesn't change the other parts.
    larger = opened(corpus, pairs=PAIRS + 1)
    assert larger.parts["train"][:PAIRS] == made[corpus]["train"]
    assert larger.parts["test"] == test
    # They are those of the previous version.
    text = "\n".join(pair.source for pair in test)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_the_target_is_the_reversed_source_with_links(made):
    for pair in made[Reverse]["test"]:
        source, target, links = pair.source.split(), pair.target.split(), links_of(pair)
        assert target == source[::-1]
        assert sorted(place for _, place in links) == list(range(len(target)))
        assert all(one + other == len(source) - 1 for one, other in links)


def test_lengths_and_numbers_to_reverse_are_uniform_and_tests_are_longer(made):
    train, test = (made[Reverse][part] for part in ("train", "test"))
    lengths = Counter(len(pair.source.split()) for pair in train)
    assert set(lengths) == set(range(1, 26))
    assert max(len(pair.source.split()) for pair in test) == 30
    expected = PAIRS / 25  # fewer of length 1, most of which are held out
    assert all(abs(lengths[n] - expected) < 5 * expected**0.5 for n in range(2, 26))
    numbers = Counter(number for pair in train for number in pair.source.split())
    assert len(numbers) == 50 and max(numbers.values()) < 1.15 * min(numbers.values())


def test_each_key_occurs_once_in_the_target_with_its_value(made):
    for pair in made[Recall]["test"]:
        words, target = pair.source.split(), pair.target.split()
        assert len(words) == LENGTH and len(target) == 2 * KEYS
        known = dict(zip(words[0 : 2 * KEYS : 2], words[1 : 2 * KEYS : 2], strict=True))
        assert len(known) == KEYS
        asked = [word for word in words[2 * KEYS :] if word != "."]
        assert target[::2] == asked and sorted(asked) == sorted(known)
        assert target[1::2] == [known[key] for key in asked]


def test_links_point_to_the_second_key_and_to_its_value(made):
    for pair in made[Recall]["test"][:100]:
        words, target, links = pair.source.split(), pair.target.split(), links_of(pair)
        assert [at for _, at in links] == list(range(len(target)))
        assert all(words[place] == target[at] for place, at in links)
        assert all(place >= 2 * KEYS for place, _ in links[::2])  # asked for
        assert all(place < 2 * KEYS and place % 2 for place, _ in links[1::2])  # a value


def test_order_places_and_values_are_random(made):
    words = [pair.source.split() for pair in made[Recall]["train"]]
    first_asked = [next(w for w in row[2 * KEYS :] if w != ".") for row in words]
    same = sum(row[0] == key for row, key in zip(words, first_asked, strict=True))
    assert abs(same - len(words) / KEYS) < 5 * (len(words) * 0.25 * 0.75) ** 0.5
    fillers = sum(row[-1] == "." for row in words)
    assert abs(fillers - len(words) / 2) < 5 * (len(words) / 4) ** 0.5  # 4 of 8 places
    assert len({row[1] for row in words}) == 32 == len({row[0] for row in words})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"symbols": 3}, r"data\.symbols: expected at least data\.keys=4, got 3"),
        ({"length": 11}, r"data\.length: expected at least 12, .* got 11"),
        (
            {"keys": 2, "length": 6, "symbols": 5, "pairs": 100},
            r"data\.symbols=5: too few for 2,100 .* only 1,000 are possible",
        ),
    ],
)
def test_impossible_sequences_are_refused(settings, message):
    with pytest.raises(RequestError, match=message):
        Recall(**settings)
