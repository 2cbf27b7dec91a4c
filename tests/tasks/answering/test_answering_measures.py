"""Exact match and F1, compared with values computed by hand from the definitions."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.tasks.answering.measures import best, exact, f1, normalized_answer

WORDS = st.lists(st.sampled_from(["the", "old", "dog", "Dog.", "an", "cat", "in", "B-52"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower.", "eiffel tower"),
        ("  an  apple,\ta pear ", "apple pear"),
        ("Theatre and another", "theatre and another"),  # articles are whole words
        ("U.S.A.", "usa"),
        ("twenty-one", "twentyone"),
        ("the", ""),
        ("A–Z", "–z"),  # only ASCII punctuation is removed, then the article
        ("Größe", "größe"),
        ("《红楼梦》", "红 楼 梦"),  # as in MLQA: no punctuation, each character a word
        ("1,000元。", "1000 元"),
        ("A股", "a 股"),  # no article
        ("タワー", "タ ワ ー"),
        ("น้ำ ดี", "น้ำ ดี"),
        ("“좋아”", "“좋아”"),
    ],
)
def test_answers_are_normalized_before_scoring(text, expected):
    assert normalized_answer(text) == expected


@pytest.mark.parametrize(
    ("said", "answer", "same", "overlap"),
    [
        ("the old dog", "The old dog!", 1, 1),
        ("old dog", "the dog", 0, 2 / 3),  # P 1/2, R 1
        ("in the old garden", "garden", 0, 1 / 2),  # P 1/3, R 1
        ("dog dog dog", "dog dog cat", 0, 2 / 3),  # both have dog twice
        ("cat", "dog", 0, 0),
        ("the", "a", 1, 1),  # of neither anything is left
        ("", "dog", 0, 0),
        ("红楼梦", "《红楼梦》", 1, 1),
        ("红楼", "红楼梦", 0, 4 / 5),  # P 1, R 2/3
        ("在柏林", "柏林。", 0, 4 / 5),
        ("dog", "the", 0, 0),
    ],
)
def test_scores_equal_values_computed_by_hand(said, answer, same, overlap):
    assert exact(said, answer) == same
    assert f1(said, answer) == pytest.approx(overlap)


def test_the_best_of_several_answers_counts():
    answers = ["the garden", "in the old garden", "a garden of roses"]
    assert best(exact, "In the old garden", answers) == 1
    assert best(f1, "old garden", answers) == pytest.approx(4 / 5)  # P 1, R 2/3


def test_a_question_without_an_answer_expects_an_empty_one():
    assert (best(exact, "", []), best(f1, "", [])) == (1, 1)
    assert (best(exact, "dog", []), best(f1, "dog", [])) == (0, 0)
    assert best(exact, "", ["the"]) == 1  # of which nothing is left


@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_f1_is_the_overlap_twice_over_all_words(said, answer):
    """2 P R / (P + R) = 2 shared / (given + right), an equal formula."""
    given_, right = (Counter(normalized_answer(text).split()) for text in (said, answer))
    words = given_.total() + right.total()
    empty = not given_ or not right
    expected = float(given_ == right) if empty else 2 * (given_ & right).total() / words
    assert f1(said, answer) == pytest.approx(expected)
    assert f1(said, answer) == f1(answer, said)
    assert exact(said, answer) <= f1(said, answer) + 1e-12
