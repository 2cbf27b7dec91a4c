"""Exact match and F1, compared with values computed by hand from the definitions."""

from __future__ import annotations

import pytest

from attnlab.tasks.answering.report import best, exact, f1, normalized_answer


def test_answers_are_normalized_before_scoring():
    for text, expected in [
        ("The Eiffel Tower.", "eiffel tower"),
        ("Theatre and another", "theatre and another"),  # articles are whole words
        ("twenty-one", "twentyone"),
        ("the", ""),
        ("A–Z", "–z"),  # only ASCII punctuation is removed, then the article
        ("《红楼梦》", "红 楼 梦"),  # as in MLQA: no punctuation, each character a word
        ("A股", "a 股"),  # no article
        ("น้ำ ดี", "น้ำ ดี"),
        ("“좋아”", "“좋아”"),
    ]:
        assert normalized_answer(text) == expected


def test_scores_equal_values_computed_by_hand():
    for said, answer, same, overlap in [
        ("the old dog", "The old dog!", 1, 1),
        ("old dog", "the dog", 0, 2 / 3),  # P 1/2, R 1
        ("in the old garden", "garden", 0, 1 / 2),  # P 1/3, R 1
        ("dog dog dog", "dog dog cat", 0, 2 / 3),  # both have dog twice
        ("cat", "dog", 0, 0),
        ("the", "a", 1, 1),  # of neither anything is left
        ("", "dog", 0, 0),
        ("红楼梦", "《红楼梦》", 1, 1),
        ("在柏林", "柏林。", 0, 4 / 5),
    ]:
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
