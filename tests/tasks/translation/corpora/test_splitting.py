"""Dividing a corpus: no source in two parts, the shares, the same everywhere; and duplicates."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.corpora.splitting import (
    PARTS,
    DuplicateCounter,
    assign_parts,
    hash_of,
    held_out,
    mixed,
)
from attnlab.tasks.translation.pair import Pair
from attnlab.text.cleaning import normalized


class Listed(Corpus):
    """A corpus from a list."""

    name = "listed"

    def __init__(self, pairs, **settings):
        self.listed = pairs
        self.__dict__.update(settings)

    def _read(self, part, dropped):
        return iter(self.listed)


def numbered(count: int, repeated: int = 1) -> list[Pair]:
    return [Pair(f"sentence {number // repeated}", f"Satz {number}") for number in range(count)]


def counted(codes):
    return Counter(PARTS[code] for code in codes)


def test_the_shares_are_met_to_the_pair():
    codes = assign_parts(Listed(numbered(1009)), seed=0)
    assert codes.dtype == np.uint8
    assert counted(codes) == {"train": 807, "validation": 101, "test": 101}


@settings(deadline=None)
@given(
    sources=st.lists(st.text("aB ü.!", max_size=3), min_size=20, max_size=60),
    seed=st.integers(0, 2**31 - 1),
    split=st.sampled_from(["source", "pair"]),
)
def test_every_pair_has_a_part_and_a_source_has_one(sources, seed, split):
    corpus = Listed([Pair(source, "x") for source in sources], split=split)
    try:
        assigned = assign_parts(corpus, seed=seed)
    except RequestError:
        assert len({normalized(source) for source in sources}) < 20
        return
    assert len(assigned) == len(sources)
    where = defaultdict(set)
    for source, code in zip(sources, assigned.tolist(), strict=True):
        where[normalized(source)].add(code)
    if split == "source":
        assert all(len(codes) == 1 for codes in where.values())
    else:
        assert counted(assigned)["test"] == round(0.1 * len(sources))


def test_one_source_is_in_one_part_and_the_books_split_lets_it_be_in_two():
    pairs = numbered(600, repeated=3)
    for split, crossing in (("source", False), ("pair", True)):
        codes = assign_parts(Listed(pairs, split=split), seed=0)
        parts = defaultdict(set)
        for pair, code in zip(pairs, codes.tolist(), strict=True):
            parts[pair.source].add(code)
        assert any(len(codes) > 1 for codes in parts.values()) == crossing


@pytest.mark.parametrize("split", ["source", "pair"])
def test_the_seed_decides_and_nothing_else(split):
    corpus = Listed(numbered(100), split=split)
    codes = [assign_parts(corpus, seed=seed).tolist() for seed in (0, 0, 1, 2)]
    assert codes[0] == codes[1]
    assert len({tuple(each) for each in codes}) == 3


def test_the_division_is_the_same_on_every_machine():
    """The pairs of the test part are known."""
    for split, expected in (("source", [4, 13]), ("pair", [19, 30])):
        codes = assign_parts(Listed(numbered(40), split=split, test=0.05), seed=7)
        assert np.flatnonzero(codes == 2).tolist() == expected


def test_the_division_doesnt_depend_on_the_order_of_pairs():
    pairs = numbered(500)
    codes = assign_parts(Listed(pairs), seed=3)
    turned = assign_parts(Listed(pairs[::-1]), seed=3)
    assert codes.tolist() == turned[::-1].tolist()


def test_a_cleaning_can_make_more_sources_one():
    pairs = [Pair(f"{number} dogs", "x") for number in range(50)] + numbered(50)
    codes = assign_parts(Listed(pairs), seed=0, clean=lambda text: re.sub(r"^\d+ ", "", text))
    assert len(set(codes[:50].tolist())) == 1


def test_a_share_of_0_gives_no_part():
    codes = assign_parts(Listed(numbered(50), validation=0), seed=0)
    assert counted(codes) == {"train": 45, "test": 5}


def test_shares_that_leave_nothing_to_train_on():
    with pytest.raises(RequestError, match=r"sum below 1, .* got 0\.5 \+ 0\.5"):
        assign_parts(Listed(numbered(50), validation=0.5, test=0.5), seed=0)


@pytest.mark.parametrize("pairs", [numbered(4), numbered(100, repeated=100)])
def test_a_corpus_too_small_to_be_divided(pairs):
    with pytest.raises(
        RequestError, match=rf"listed: expected enough pairs for .* got {len(pairs)}"
    ):
        assign_parts(Listed(pairs), seed=0)


def test_rows_with_one_key_are_held_out_together():
    keys = np.array([hash_of(str(number // 5)) for number in range(200)], dtype=np.uint64)
    taken = held_out(keys, 12, seed=0)
    assert taken.sum() == 15
    assert (taken.reshape(-1, 5).sum(axis=1) % 5 == 0).all()


def test_mixing_is_splitmix64():
    """The generator's first outputs from 1234567, as its reference implementation prints them."""
    steps = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1234567)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(steps).tolist() == expected


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1))
def test_duplicates_are_counted_as_a_dictionary_would(pairs):
    counter = DuplicateCounter()
    for pair in pairs:
        counter.add(Pair(*pair))
    targets = defaultdict(set)
    for source, target in pairs:
        targets[source].add(target)
    assert counter.result() == (
        len(pairs) - len(Counter(pairs)),
        len(targets),
        sum(len(each) > 1 for each in targets.values()),
    )


def test_memory_is_tens_of_bytes_a_pair():
    count = 50_000
    corpus = Listed([])
    corpus._read = lambda part, dropped: (Pair(f"s {n}", "x") for n in range(count))
    tracemalloc.start()
    try:
        assign_parts(corpus, seed=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * count
