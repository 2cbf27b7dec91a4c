"""The sequences of data=reverse and of data=recall."""

from __future__ import annotations

import hashlib
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


def opened(cls, **settings):
    corpus = cls(**{"pairs": PAIRS, **settings})
    corpus.open(Path("nowhere"))
    return corpus


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
    digests = {opened(corpus, **change).digest() for change in changes}
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
    longest = [max(len(pair.source.split()) for pair in part) for part in made[Reverse].values()]
    assert longest == [25, 30, 30]


def test_each_key_occurs_once_in_the_target_with_its_value(made):
    for pair in made[Recall]["test"]:
        words, target = pair.source.split(), pair.target.split()
        assert len(words) == LENGTH and len(target) == 2 * KEYS
        values = dict(zip(words[0 : 2 * KEYS : 2], words[1 : 2 * KEYS : 2], strict=True))
        assert len(values) == KEYS
        queries = [word for word in words[2 * KEYS :] if word != "."]
        assert target[::2] == queries and sorted(queries) == sorted(values)
        assert target[1::2] == [values[key] for key in queries]
        links = links_of(pair)
        assert [at for _, at in links] == list(range(len(target)))
        assert all(words[place] == target[at] for place, at in links)
        assert all(place >= 2 * KEYS for place, _ in links[::2])  # asked for
        assert all(place < 2 * KEYS and place % 2 for place, _ in links[1::2])  # a value


@pytest.mark.parametrize(
    ("settings", "possible"),
    [
        ({"symbols": 3}, "0"),
        ({"length": 7}, "0"),
        ({"length": 11}, "0"),
        ({"keys": 2, "length": 6, "symbols": 5, "pairs": 100}, "1,000"),
    ],
)
def test_impossible_sequences_are_refused(settings, possible):
    with pytest.raises(RequestError, match=rf"data\.keys=.*, got {possible}\."):
        Recall(**settings)
