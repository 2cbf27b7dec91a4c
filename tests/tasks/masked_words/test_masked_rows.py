"""Documents as rows: packed, or in pairs of which half are consecutive; and cut texts."""

from __future__ import annotations

import pytest

from attnlab.tasks.masked_words.rows import Row, _cut, filled, packed, paired


def test_sentences_share_a_row_if_there_is_room():
    documents = [[[4, 5], [6], [7, 8, 9]], [[10]], [[*range(20, 27)], [11]]]
    rows, cut = packed(documents, 7)
    assert [row.first for row in rows] == [[4, 5, 6], [7, 8, 9], [10], [*range(20, 25)], [11]]
    assert cut == 1 and max(row.length for row in rows) == 7


def test_rows_have_start_and_an_end_after_each_text():
    rows = [Row([4, 5]), Row([6], [7, 8], False)]
    assert [row.length for row in rows] == [4, 6]
    assert filled(rows, 6).tolist() == [[2, 4, 5, 3, 0, 0], [2, 6, 3, 7, 8, 3]]


def test_half_of_the_pairs_are_consecutive_sentences():
    documents = [[[100 * d + s] for s in range(1, 12)] for d in range(1, 31)]
    rows, cut = paired(documents, 16, seed=0)
    assert len(rows) == 300 and cut == 0
    assert sum(row.follows for row in rows) == pytest.approx(150, abs=30)
    for row in rows:
        first, second = row.first[0], row.second[0]
        assert (second == first + 1) == row.follows
        assert (second // 100 == first // 100) == row.follows
    assert paired(documents, 16, seed=0) == (rows, 0) != paired(documents, 16, seed=1)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((3, 4), (3, 4)),
        ((9, 2), (5, 2)),
        ((2, 9), (2, 5)),
        ((9, 8), (4, 3)),
        ((9, 9), (4, 3)),  # of equal ones the second loses first
        ((1, 90), (1, 6)),
    ],
)
def test_the_longer_of_a_pair_is_shortened(sizes, expected):
    first, second = ([*range(size)] for size in sizes)
    kept = _cut(first, second, 7)
    assert tuple(map(len, kept)) == expected
    assert kept == (first[: expected[0]], second[: expected[1]])


def test_cut_pairs_fill_a_row_and_are_counted():
    documents = [[[4] * 9, [5] * 9, [6]], [[7], [8]]]
    rows, cut = paired(documents, 10, seed=0)
    assert cut >= 1 and max(row.length for row in rows) <= 10
    assert rows[0].length == 10 or len(rows[0].second) == 1
