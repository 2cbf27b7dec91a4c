"""Generated tasks of language models: each is compared with its published description."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.language.data import PADDING
from attnlab.tasks.language.generated import (
    AssociativeRecall,
    Copy,
    Induction,
    Reversal,
    SelectiveCopy,
)

ROWS = 5000
# Each corpus with the number of tokens of a row, and other values of its settings.
CORPORA = {
    AssociativeRecall: (64, {"vocabulary": 513}, {"length": 62}, {"pairs": 5}, {"power": 0.5}),
    Induction: (64, {"vocabulary": 17}, {"length": 65}, {"test_length": 128}),
    SelectiveCopy: (256, {"vocabulary": 17}, {"length": 255}, {"symbols": 15}),
    Copy: (41, {"different": 99}, {"shortest": 5}, {"longest": 19}, {"test_longest": 40}),
    Reversal: (41, {"different": 99}, {"shortest": 5}, {"longest": 19}, {"test_longest": 40}),
}


def opened(corpus, **settings):
    drawn = corpus(**{"rows": ROWS, **settings})
    drawn.open(Path())
    return drawn


@pytest.fixture(scope="module")
def drawn():
    return {corpus: opened(corpus) for corpus in CORPORA}


def answer(rows, number):
    """The scored targets of a row."""
    return rows.targets[number][rows.targets[number] != PADDING]


def near(count, total, probability):
    """Whether a count is within five standard deviations of its expectation."""
    return abs(count - total * probability) < 5 * (total * probability * (1 - probability)) ** 0.5


@pytest.mark.parametrize("corpus", CORPORA)
def test_parts_have_their_sizes_and_share_no_row(drawn, corpus):
    parts, names = drawn[corpus].parts, drawn[corpus].token_names
    for part, rows in parts.items():
        size = ROWS if part == "train" else 1000
        assert {array.shape for array in rows} == {(size, CORPORA[corpus][0])}
        assert (rows.targets != PADDING).any(axis=1).all()
        assert rows.tokens.min() >= 0 and rows.targets.min() == PADDING
        assert max(array.max() for array in rows) < len(names)
    texts = {part: {row.tobytes() for row in rows.tokens} for part, rows in parts.items()}
    for one, other in itertools.combinations(texts.values(), 2):
        assert not one & other
    assert len({*names}) == len(names) and not any(re.search(r"\s", name) for name in names)


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_seed_and_each_setting_make_other_rows(drawn, corpus):
    test = drawn[corpus].parts["test"].tokens
    assert not np.array_equal(opened(corpus, rows=100, seed=1).parts["test"].tokens, test)
    changes = ({}, {"seed": 1}, {"rows": ROWS + 1}, *CORPORA[corpus][1:])
    digests = {corpus(**{"rows": ROWS, **change}).digest() for change in changes}
    assert len(digests) == len(changes)
    # A larger train part starts like a smaller one, and leaves the others alone.
    smaller = opened(corpus, rows=99)
    train = drawn[corpus].parts["train"].tokens
    assert np.array_equal(smaller.parts["train"].tokens, train[:99])
    assert np.array_equal(smaller.parts["test"].tokens, test)


def test_recall_has_pairs_then_each_key_once_with_its_value_as_target():
    corpus = opened(AssociativeRecall, pairs=8, vocabulary=101, length=64)
    for tokens, targets in zip(*(array[:500] for array in corpus.parts["train"]), strict=True):
        keys, values = tokens[0:16:2], tokens[1:16:2]
        assert keys.min() >= 1 and keys.max() < 50 <= values.min()
        assert len({*keys}) == 8 == len({*values})
        places = np.flatnonzero(targets != PADDING)
        assert len(places) == 8 and places.min() >= 16 and not (places % 2).any()
        assert sorted(tokens[places]) == sorted(keys)
        pairs = dict(zip(keys, values, strict=True))
        assert [pairs[key] for key in tokens[places]] == targets[places].tolist()
        assert not np.delete(tokens[16:], places - 16).any()
    names = corpus.token_names
    assert names[0] == "_" and names[49:51] == ["k49", "v1"] and len(names) == 101
    assert corpus.chance == 1 / 8


def test_recall_places_follow_the_power_law():
    """The first key's slot is drawn with p_j ~ (j + 1)^(a - 1), the second one's without it."""
    tokens = opened(AssociativeRecall, rows=20_000, pairs=2, length=20).parts["train"].tokens
    law = np.arange(1, 9) ** (0.01 - 1)
    law /= law.sum()
    second = [sum(law[i] * law[j] / (1 - law[i]) for i in range(8) if i != j) for j in range(8)]
    for place, expected in ((0, law), (2, second)):
        slots = (tokens[:, 4:] == tokens[:, place : place + 1]).argmax(axis=1) // 2
        assert all(near(n, 20_000, p) for n, p in zip(np.bincount(slots), expected, strict=True))


def test_induction_asks_at_the_end_for_what_followed_the_special_symbol():
    corpus = opened(Induction, test_length=300)
    train, test = corpus.parts["train"], corpus.parts["test"]
    assert test.tokens.shape == (2000, 300)
    assert (test.targets[:1000, 64:] == PADDING).all() and not test.tokens[:1000, 64:].any()
    short = (test.tokens[:1000, :64], test.targets[:1000, :64])
    for tokens, targets in (train, short, (test.tokens[1000:], test.targets[1000:])):
        special = np.argwhere(tokens == 15)
        assert len(special) == 2 * len(tokens)
        first, last = special[0::2, 1], special[1::2, 1]
        assert (last == tokens.shape[1] - 1).all() and first.min() == 0
        assert (targets[:, :-1] == PADDING).all()
        after = tokens[np.arange(len(first)), first + 1]
        assert np.array_equal(targets[:, -1], after) and after.max() < 15
    counts = np.bincount(np.argwhere(train.tokens == 15)[0::2, 1])
    assert len(counts) == 62 and all(near(n, ROWS, 1 / 62) for n in counts)


def test_selective_copy_repeats_the_symbols_without_blanks(drawn):
    tokens, targets = drawn[SelectiveCopy].parts["train"]
    assert (tokens[:, 239] == 15).all() and (tokens == 15).sum() == ROWS
    assert (tokens[:, 240:] == 14).all() and (targets[:, :240] == PADDING).all()
    before = tokens[:, :239]
    assert ((before == 14).sum(axis=1) == 223).all()
    assert np.array_equal(before[before != 14].reshape(ROWS, 16), targets[:, 240:])
    places = np.argwhere(before != 14)[:, 1].reshape(ROWS, 16)
    # Each of the 17 gaps, the one after the last symbol too, has 223/17 blanks on average.
    gaps = np.diff(places, axis=1, prepend=-1, append=239) - 1
    assert gaps.shape == (ROWS, 17) and (gaps.sum(axis=1) == 223).all()
    deviation = (223 / 17 * (16 / 17) / ROWS) ** 0.5
    assert (abs(gaps.mean(axis=0) - 223 / 17) < 5 * deviation).all()


@pytest.mark.parametrize(("corpus", "rewrite"), [(Copy, list), (Reversal, lambda x: x[::-1])])
def test_rewriting_answers_end_with_END_and_padding_follows(drawn, corpus, rewrite):
    for part in ("train", "test"):
        rows = drawn[corpus].parts[part]
        for number in range(300):
            tokens = rows.tokens[number].tolist()
            length = tokens.index(2)
            question, said = tokens[:length], answer(rows, number).tolist()
            assert 4 <= length <= 20 and said == [*rewrite(question), 1]
            # The model reads the answer as it has to write it.
            assert tokens[length + 1 : 2 * length + 2] == said[: len(tokens) - length - 1]
            assert not any(tokens[2 * length + 2 :])
            scored = np.flatnonzero(rows.targets[number] != PADDING)
            assert scored.tolist() == [*range(length, 2 * length + 1)]
    lengths = Counter((drawn[corpus].parts["train"].tokens == 2).argmax(axis=1))
    assert set(lengths) == {*range(4, 21)}
    assert all(near(count, ROWS, 1 / 17) for count in lengths.values())
    assert len(drawn[corpus].token_names) == 3 + 100
    assert drawn[corpus].parts["train"].tokens.max() == 2 + 100


@pytest.mark.parametrize("corpus", [Copy, Reversal])
def test_rewriting_adds_longer_rows_to_test_on_request(corpus, drawn):
    both = opened(corpus, rows=200, test_longest=40)
    rows = both.parts["test"]
    lengths = (rows.tokens == 2).argmax(axis=1)
    assert {array.shape for array in rows} == {(2000, 81)}
    assert (lengths[:1000].min(), lengths[:1000].max()) == (4, 20)
    assert (lengths[1000:].min(), lengths[1000:].max()) == (21, 40)
    assert ((rows.targets != PADDING).sum(axis=1) == lengths + 1).all()
    for array, without in zip(rows, drawn[corpus].parts["test"], strict=True):
        assert np.array_equal(array[:1000, :41], without)
    for part in ("train", "validation"):
        without = drawn[corpus].parts[part].tokens[:200]
        assert np.array_equal(both.parts[part].tokens[:200], without)


@pytest.mark.parametrize(
    ("corpus", "settings", "message"),
    [
        (AssociativeRecall, {"length": 14}, r"data\.length: expected .*at least 4 \* 4.*got 14"),
        (AssociativeRecall, {"length": 65}, r"data\.length: expected an even number.*got 65"),
        (AssociativeRecall, {"vocabulary": 9}, r"data\.vocabulary: expected at least 10.*got 9"),
        (SelectiveCopy, {"length": 32}, r"data\.length: expected at least 33.*got 32"),
        (Copy, {"shortest": 21}, r"data\.shortest: expected at most data\.longest=20, got 21"),
        (Induction, {"test_length": 64}, r"data\.test_length: expected more than .*=64.*got 64"),
        (Reversal, {"test_longest": 20}, r"data\.test_longest: expected more than .*=20.*got 20"),
        (Copy, {"different": 2, "shortest": 1, "longest": 4}, "too few different rows"),
    ],
)
def test_impossible_rows_are_refused(corpus, settings, message):
    with pytest.raises(RequestError, match=message):
        opened(corpus, **settings)
