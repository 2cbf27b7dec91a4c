"""Generated tasks of language models: each is compared with its published description."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.language.corpora.addition import Addition
from attnlab.tasks.language.corpora.associative_recall import AssociativeRecall
from attnlab.tasks.language.corpora.corpus import Rows
from attnlab.tasks.language.corpora.drawn import different
from attnlab.tasks.language.corpora.in_context_recall import InContextRecall
from attnlab.tasks.language.corpora.induction import Induction
from attnlab.tasks.language.corpora.listops import ListOps
from attnlab.tasks.language.corpora.rewriting import Copy, Reversal, Sort
from attnlab.tasks.language.corpora.selective_copy import SelectiveCopy

ROWS = 5000
# Each corpus with other values of its settings.
CORPORA = {
    AssociativeRecall: ({"vocabulary": 513}, {"length": 62}, {"pairs": 5}, {"power": 0.5}),
    Induction: ({"vocabulary": 17}, {"length": 65}, {"test_length": 128}),
    SelectiveCopy: ({"vocabulary": 17}, {"length": 255}, {"symbols": 15}),
    InContextRecall: ({"vocabulary": 17}, {"length": 126}, {"train_on": "answers"}),
    Copy: ({"different": 99}, {"shortest": 5}, {"longest": 19}, {"test_longest": 40}),
    Reversal: ({"different": 99}, {"shortest": 5}, {"longest": 19}, {"test_longest": 40}),
    Sort: ({"different": 99}, {"shortest": 5}, {"longest": 19}, {"test_longest": 40}),
    Addition: ({"digits": 7}, {"test_digits": 16}),
    ListOps: ({"depth": 4}, {"arguments": 4}, {"shortest": 11}, {"longest": 59}),
}
# The number of tokens of a row, T.
WIDTHS = {
    AssociativeRecall: 64,
    Induction: 64,
    SelectiveCopy: 256,
    InContextRecall: 127,
    Copy: 41,
    Reversal: 41,
    Sort: 41,
    Addition: 27,
    ListOps: 61,
}


@pytest.fixture(scope="module")
def made():
    """Corpus -> an instance."""
    return {corpus: corpus(rows=ROWS) for corpus in CORPORA}


def answer(rows, number):
    """The scored targets of a row."""
    return rows.targets[number][rows.scored[number]]


def near(count, total, probability):
    """Whether a count is within five standard deviations of what is expected."""
    return abs(count - total * probability) < 5 * (total * probability * (1 - probability)) ** 0.5


@pytest.mark.parametrize("corpus", CORPORA)
def test_parts_have_their_sizes_and_share_no_row(made, corpus):
    parts = {part: made[corpus].rows(part) for part in ("train", "validation", "test")}
    for part, rows in parts.items():
        size = ROWS if part == "train" else 1000
        assert {each.shape for each in rows} == {(size, WIDTHS[corpus])}
        assert [each.dtype for each in rows] == [np.int32, np.int32, bool]
        assert rows.scored.any(axis=1).all()
        for each in (rows.tokens, rows.targets):
            assert each.min() >= 0 and each.max() < len(made[corpus].symbols)
    texts = {part: {row.tobytes() for row in rows.tokens} for part, rows in parts.items()}
    for one, other in itertools.combinations(texts.values(), 2):
        assert not one & other
    assert all(len(each) > 0.9 * len(parts[part].tokens) for part, each in texts.items())


@pytest.mark.parametrize("corpus", CORPORA)
def test_symbols_have_different_names_without_spaces(made, corpus):
    symbols = made[corpus].symbols
    assert len({*symbols}) == len(symbols) and not any(re.search(r"\s", each) for each in symbols)


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_seed_and_each_setting_make_other_rows(made, corpus):
    test = made[corpus].rows("test").tokens
    assert not np.array_equal(corpus(rows=ROWS, seed=1).rows("test").tokens, test)
    changes = ({}, {"seed": 1}, {"rows": ROWS + 1}, *CORPORA[corpus])
    digests = {corpus(**{"rows": ROWS, **each}).digest() for each in changes}
    assert len(digests) == len(changes)
    # A larger train part begins like a smaller one, and leaves the others alone.
    larger = corpus(rows=ROWS + 1)
    assert np.array_equal(larger.rows("train").tokens[:ROWS], made[corpus].rows("train").tokens)
    assert np.array_equal(larger.rows("test").tokens, test)


@pytest.mark.parametrize(("choices", "count"), [(7, 7), (8, 2), (9, 2), (50, 7)])
def test_different_numbers_are_uniform_in_every_place(choices, count):
    drawn = different(np.random.default_rng(0), 20_000, choices, count)
    assert all(len({*row}) == count for row in drawn[:2000].tolist())
    assert drawn.min() == 0 and drawn.max() == choices - 1
    for place in drawn.T:
        assert all(near(n, 20_000, 1 / choices) for n in np.bincount(place, minlength=choices))


def test_recall_has_pairs_then_each_key_once_with_its_value_as_target(made):
    corpus = AssociativeRecall(rows=ROWS, pairs=8, vocabulary=101, length=64)
    rows = corpus.rows("train")
    for tokens, targets, scored in zip(*(each[:500] for each in rows), strict=True):
        keys, values = tokens[0:16:2], tokens[1:16:2]
        assert keys.min() >= 1 and keys.max() < 50 <= values.min()
        assert len({*keys}) == 8 == len({*values})
        places = np.flatnonzero(scored)
        assert len(places) == 8 and places.min() >= 16 and not (places % 2).any()
        assert sorted(tokens[places]) == sorted(keys)
        known = dict(zip(keys, values, strict=True))
        assert [known[key] for key in tokens[places]] == targets[places].tolist()
        rest = np.delete(tokens[16:], places - 16)
        assert not rest.any()
    names = corpus.symbols
    assert names[0] == "_" and names[49:51] == ["k49", "v1"] and len(names) == 101
    assert corpus.chance == 1 / 8


def test_recall_places_follow_the_power_law():
    """The first key's slot is drawn with p_j ~ (j + 1)^(a - 1)."""
    rows = AssociativeRecall(rows=20_000, pairs=2, length=20, power=0.01).rows("train")
    slots = ((rows.tokens[:, 4:] == rows.tokens[:, :1]).argmax(axis=1)) // 2
    law = np.arange(1, 9) ** (0.01 - 1)
    law /= law.sum()
    # The first pair's key takes the slot that is drawn first, the second pair's key the next one.
    assert all(near(n, 20_000, p) for n, p in zip(np.bincount(slots), law, strict=True))
    second = ((rows.tokens[:, 4:] == rows.tokens[:, 2:3]).argmax(axis=1)) // 2
    law_second = [sum(law[i] * law[j] / (1 - law[i]) for i in range(8) if i != j) for j in range(8)]
    assert all(near(n, 20_000, p) for n, p in zip(np.bincount(second), law_second, strict=True))


def test_recall_replaces_fillers_by_any_token():
    noisy = AssociativeRecall(rows=200, random_fillers=True).rows("train")
    fillers = noisy.tokens[:, 8:][~noisy.scored[:, 8:]]
    assert (fillers == 0).mean() < 0.02 and fillers.max() == 511
    assert near((fillers < 256).sum(), fillers.size, 0.5)


def test_induction_asks_at_the_end_for_what_followed_the_special_symbol(made):
    corpus = Induction(rows=ROWS, test_length=300)
    test = corpus.rows("test")
    parts = [
        (corpus.rows("train"), 64),
        (corpus.rows("validation"), 64),
        (Rows(*(each[:1000, :64] for each in test)), 64),
        (Rows(*(each[1000:] for each in test)), 300),
    ]
    assert corpus.lengths(test).tolist() == 1000 * [64] + 1000 * [300]
    for rows, length in parts:
        special = np.argwhere(rows.tokens == 15)
        assert rows.tokens.shape[1] == length and len(special) == 2 * len(rows.tokens)
        first, last = special[0::2, 1], special[1::2, 1]
        assert (last == length - 1).all() and first.min() == 0
        assert rows.scored.sum() == len(rows.tokens) and rows.scored[:, -1].all()
        after = rows.tokens[np.arange(len(first)), first + 1]
        assert np.array_equal(rows.targets[:, -1], after) and after.max() < 15
    counts = np.bincount(np.argwhere(made[Induction].rows("train").tokens == 15)[0::2, 1])
    assert len(counts) == 62 and all(near(n, ROWS, 1 / 62) for n in counts)


def test_selective_copy_repeats_the_symbols_without_blanks(made):
    rows = made[SelectiveCopy].rows("train")
    asked = rows.tokens[:, 239]
    assert (asked == 15).all() and (rows.tokens == 15).sum() == ROWS
    assert (rows.tokens[:, 240:] == 14).all() and rows.scored[:, 240:].all()
    assert not rows.scored[:, :240].any()
    before = rows.tokens[:, :239]
    assert ((before == 14).sum(axis=1) == 223).all()
    for number in range(500):
        assert before[number][before[number] != 14].tolist() == answer(rows, number).tolist()
    places = np.argwhere(before != 14)[:, 1].reshape(ROWS, 16)
    # Each of the 17 gaps, the one after the last symbol too, has 223/17 blanks on average.
    gaps = np.diff(places, axis=1, prepend=-1, append=239) - 1
    assert gaps.shape == (ROWS, 17) and (gaps.sum(axis=1) == 223).all()
    deviation = (223 / 17 * (16 / 17) / ROWS) ** 0.5
    assert (abs(gaps.mean(axis=0) - 223 / 17) < 5 * deviation).all()


def test_in_context_recall_scores_values_of_keys_seen_before(made):
    corpus = made[InContextRecall]
    rows = corpus.rows("test")
    for tokens, targets, scored in zip(*(each[:300] for each in rows), strict=True):
        known: dict[int, int] = {}
        whole = [*tokens, targets[-1]]
        for place in range(0, 128, 2):
            key, value = whole[place], whole[place + 1]
            assert 0 <= key < 8 <= value < 16
            assert scored[place] == (key in known)
            if key in known:
                assert value == known[key] == targets[place]
            known[key] = value
            assert place + 1 >= 127 or not scored[place + 1]
        assert scored[-1]
    train = corpus.rows("train")
    assert train.scored.all() and np.array_equal(train.targets[:, :-1], train.tokens[:, 1:])
    answers = InContextRecall(rows=ROWS, train_on="answers").rows("train")
    assert np.array_equal(answers.tokens, train.tokens)
    assert np.array_equal(answers.scored[:, 0::2].sum(axis=1) > 50, np.full(ROWS, True))
    # Values are drawn with replacement: a map of 8 keys has 8 * (1 - (7/8)^8) values.
    values = np.mean([len({*row[1::2]}) for row in train.tokens.tolist()])
    assert abs(values - 8 * (1 - (7 / 8) ** 8)) < 0.05


@pytest.mark.parametrize(
    ("corpus", "rewrite"),
    [(Copy, list), (Reversal, lambda x: x[::-1]), (Sort, sorted)],
)
def test_rewriting_answers_end_with_END_and_padding_follows(made, corpus, rewrite):
    for part in ("train", "test"):
        rows = made[corpus].rows(part)
        for number in range(300):
            tokens = rows.tokens[number].tolist()
            length = tokens.index(2)
            question, said = tokens[:length], answer(rows, number).tolist()
            assert 4 <= length <= 20 and said == [*rewrite(question), 1]
            # The model reads the answer as it has to write it.
            assert tokens[length + 1 : 2 * length + 2] == said[: len(tokens) - length - 1]
            assert not any(tokens[2 * length + 2 :])
            assert np.flatnonzero(rows.scored[number]).tolist() == [*range(length, 2 * length + 1)]
    lengths = Counter((made[corpus].rows("train").tokens == 2).argmax(axis=1))
    assert set(lengths) == {*range(4, 21)}
    assert all(near(count, ROWS, 1 / 17) for count in lengths.values())
    different = {Copy: 100, Reversal: 100, Sort: 50}[corpus]
    assert len(made[corpus].symbols) == 3 + different
    assert made[corpus].rows("train").tokens.max() == 2 + different


@pytest.mark.parametrize("corpus", [Copy, Reversal, Sort])
def test_rewriting_adds_longer_rows_to_test_on_request(corpus, made):
    both = corpus(rows=200, test_longest=40)
    rows = both.rows("test")
    assert {each.shape for each in rows} == {(2000, 81)} and rows.scored.any(axis=1).all()
    lengths = both.lengths(rows)
    assert (lengths[:1000].min(), lengths[:1000].max()) == (4, 20)
    assert (lengths[1000:].min(), lengths[1000:].max()) == (21, 40)
    assert (rows.scored.sum(axis=1) == lengths + 1).all()
    for each, without in zip(rows, made[corpus].rows("test"), strict=True):
        assert np.array_equal(each[:1000, :41], without) and not each[:1000, 41:].any()
    for part in ("train", "validation"):
        without = made[corpus].rows(part).tokens[:200]
        assert np.array_equal(both.rows(part).tokens[:200], without)


def sums(corpus, part):
    """The texts of rows, the last token included."""
    rows = corpus.rows(part)
    for tokens, targets, scored in zip(*rows, strict=True):
        last = np.flatnonzero(scored)[-1]
        whole = [*tokens[: last + 1], targets[last]]
        text = "".join(corpus.symbols[token] for token in whole)
        assert not tokens[last + 2 :].any()
        written = "".join(corpus.symbols[token] for token in targets[scored])
        assert text.endswith(f"={written}") and written.endswith(".")
        assert np.diff(np.flatnonzero(scored)).max(initial=1) == 1
        yield text


def test_addition_is_right_for_every_pair_of_digit_counts(made):
    counts: Counter[tuple[int, int]] = Counter()
    for text in sums(made[Addition], "train"):
        one, other, total = re.fullmatch(r"(\d+)\+(\d+)=(\d+)\.", text).groups()
        assert int(one) + int(other) == int(total) and str(int(total)) == total
        assert str(int(one)) == one and str(int(other)) == other
        counts[len(one), len(other)] += 1
    assert set(counts) == {*itertools.product(range(1, 9), repeat=2)}
    # Pairs of one digit are fewer: there are only 100, of which some are held out.
    assert all(near(n, ROWS, 1 / 64) for pair, n in counts.items() if pair != (1, 1))


def test_addition_adds_longer_numbers_to_test_on_request():
    sizes, corpus = [], Addition(rows=100, digits=4, test_digits=17)
    for text in sums(corpus, "test"):
        one, other, total = re.fullmatch(r"(\d+)\+(\d+)=(\d+)\.", text).groups()
        assert int(one) + int(other) == int(total)
        sizes.append((len(one), len(other)))
    assert [max(pair) for pair in sizes] == corpus.lengths(corpus.rows("test")).tolist()
    assert len(sizes) == 2000 and all(max(pair) <= 4 for pair in sizes[:1000])
    longer = sizes[1000:]
    assert all(4 < max(pair) <= 17 for pair in longer)
    assert {pair[0] for pair in longer} == {*range(1, 18)} == {pair[1] for pair in longer}


def value(words):
    """The value of a list, and its depth, by a stack of open lists."""
    stack: list[list] = [[]]
    deepest = 0
    for word in words:
        if word.startswith("["):
            stack.append([word])
            deepest = max(deepest, len(stack))
        elif word == "]":
            operator, *arguments = stack.pop()
            assert 2 <= len(arguments) <= 5
            ordered = sorted(arguments)
            middle = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
            stack[-1].append(
                {
                    "[MIN": ordered[0],
                    "[MAX": ordered[-1],
                    "[MED": middle // 2,
                    "[SM": sum(arguments) % 10,
                }[operator]
            )
        else:
            stack[-1].append(int(word))
    assert len(stack) == 1 and len(stack[0]) == 1
    return stack[0][0], deepest


def test_listops_values_are_right_and_sizes_as_set(made):
    rows, symbols = made[ListOps].rows("train"), made[ListOps].symbols
    depths, operators = Counter(), Counter()
    for number in range(1000):
        words = [symbols[token] for token in rows.tokens[number]]
        end = words.index("=")
        assert 10 <= end <= 60 and set(words[end + 1 :]) <= {"_", symbols[answer(rows, number)[0]]}
        assert np.flatnonzero(rows.scored[number]).tolist() == [end]
        found, depth = value(words[:end])
        assert symbols[answer(rows, number)[0]] == str(found)
        depths[depth] += 1
        operators.update(word for word in words[:end] if word.startswith("["))
    assert max(depths) == 5 and min(depths) >= 2
    total = sum(operators.values())
    assert len(operators) == 4 and all(near(n, total, 0.25) for n in operators.values())


@pytest.mark.parametrize(
    ("corpus", "settings", "message"),
    [
        (AssociativeRecall, {"length": 14, "pairs": 4}, r"data\.length: expected .* 16.*got 14"),
        (AssociativeRecall, {"length": 65}, r"data\.length: expected an even number.*got 65"),
        (
            AssociativeRecall,
            {"vocabulary": 9, "pairs": 4},
            r"data\.vocabulary: expected at least 10.*got 9",
        ),
        (SelectiveCopy, {"length": 32}, r"data\.length: expected at least 33.*got 32"),
        (InContextRecall, {"length": 7}, r"data\.length: expected an even number, got 7"),
        (Copy, {"shortest": 21}, r"data\.shortest: expected at most data\.longest=20, got 21"),
        (Induction, {"test_length": 64}, r"data\.test_length: expected more than .*=64.*got 64"),
        (Sort, {"test_longest": 20}, r"data\.test_longest: expected more than .*=20.*got 20"),
        (Addition, {"test_digits": 8}, r"data\.test_digits: expected more than .*=8.*got 8"),
        (ListOps, {"shortest": 61}, r"data\.shortest: expected at most data\.longest=60, got 61"),
    ],
)
def test_meaningless_settings_are_refused(corpus, settings, message):
    with pytest.raises(RequestError, match=message):
        corpus(**settings)


@pytest.mark.parametrize(
    ("corpus", "settings", "message"),
    [
        (Copy, {"different": 2, "shortest": 1, "longest": 4}, "too few different rows"),
        (ListOps, {"depth": 2, "arguments": 2}, r"data\.shortest=10.*none has such a length"),
    ],
)
def test_impossible_rows_are_refused(corpus, settings, message):
    with pytest.raises(RequestError, match=message):
        corpus(**settings).rows("train")
