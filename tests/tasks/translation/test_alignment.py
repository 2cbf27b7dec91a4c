"""Alignment error: cases counted by hand, and what must hold for every sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.tasks.translation.alignment import (
    AlignedSentence,
    alignment_error_rate,
    error_rate,
    parse_links,
    predicted_links,
    word_weights,
)


@st.composite
def alignments(draw):
    """A source word for each target word, with the tokens of each word."""
    pieces = st.lists(st.integers(1, 3), min_size=1, max_size=5)
    source, target = draw(pieces), draw(pieces)
    chosen = [draw(st.integers(0, len(source) - 1)) for _ in target]
    return (
        np.repeat(np.arange(len(source)), source),
        np.repeat(np.arange(len(target)), target),
        chosen,
    )


def perfect_map(source_words, target_words, chosen, shift, noise):
    """Each token looks at all pieces of the right word, and a little at the rest and at END."""
    random = np.random.default_rng(0)
    table = noise * random.random((len(target_words) + 1 + shift, len(source_words) + 1))
    table[:, -1] = 5  # END draws the most weight
    for token, word in enumerate(target_words):
        right = source_words == chosen[word]
        table[token + shift, :-1][right] = 1 / right.sum()
    return table / table.sum(axis=-1, keepdims=True)


@given(alignments(), st.integers(0, 1))
def test_a_perfect_map_makes_no_error(case, shift):
    source_words, target_words, chosen = case
    table = perfect_map(*case, shift, noise=0.01)
    gold = frozenset((source, target) for target, source in enumerate(chosen))
    sentence = AlignedSentence(table, source_words, target_words, gold)
    assert alignment_error_rate([sentence, sentence], shift=shift) == 0


def test_counted_by_hand():
    # A = {00, 11, 21}, S = {00, 12}: 1 - 2 * 1 / (3 + 2).
    found = {(0, 0), (1, 1), (2, 1)}
    assert error_rate([(found, {(0, 0), (1, 2)})]) == pytest.approx(0.6)


def test_links_are_counted_over_all_sentences():
    right = ({(0, 0)}, frozenset({(0, 0)}))
    wrong = ({(0, 1), (0, 2), (1, 0)}, frozenset({(5, 5)}))
    assert error_rate([right, wrong]) == pytest.approx(1 - 2 / 6)


@given(
    st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
    st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
)
def test_error_lies_between_0_and_1(found, gold):
    assert 0 <= error_rate([(found, gold)]) <= 1
    assert error_rate([(gold, gold)]) == 0


def test_nothing_to_find_and_nothing_found_is_right():
    assert error_rate([]) == error_rate([(set(), frozenset())]) == 0
    assert error_rate([(set(), frozenset({(0, 0)}))]) == 1


def test_pieces_become_words():
    # Source: two pieces and one; target: one and two.
    table = np.array([[0.2, 0.2, 0.6], [0.1, 0.3, 0.6], [0.5, 0.5, 0.0]])
    words = word_weights(table, [0, 0, 1], [0, 1, 1])
    np.testing.assert_allclose(words, [[0.4, 0.6], [0.7, 0.3]])


def test_pieces_of_no_word_count_for_none():
    table = np.array([[0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.0, 0.1, 0.9]])
    words = word_weights(table, [0, -1, 1], [0, -1, 1])
    np.testing.assert_allclose(words, [[0.1, 0.1], [0.0, 0.9]])


def test_shift_reads_the_next_step():
    # Step 0 reads START, step 1 the first word, step 2 the second: a map of the input words.
    table = np.array([[0.3, 0.7], [1.0, 0.0], [0.0, 1.0]])
    sentence = AlignedSentence(table, [0, 1], [0, 1], frozenset({(0, 0), (1, 1)}))
    assert predicted_links(sentence) == {(1, 0), (0, 1)}
    assert predicted_links(sentence, shift=1) == {(0, 0), (1, 1)}
    assert alignment_error_rate([sentence]) == 1
    assert alignment_error_rate([sentence], shift=1) == 0


def test_end_and_padding_draw_no_link():
    table = np.array([[0.1, 0.2, 0.7, 0.0], [0.0, 0.0, 0.9, 0.1], [0.5, 0.5, 0.0, 0.0]])
    sentence = AlignedSentence(table, [0, 1], [0, 1], frozenset({(1, 0)}))
    assert predicted_links(sentence) == {(1, 0)}  # the second word looks at END alone


def test_a_sentence_without_words_has_no_links():
    empty = AlignedSentence(np.ones((1, 1)), [], [], frozenset())
    assert predicted_links(empty) == set()
    assert predicted_links(AlignedSentence(np.ones((2, 1)), [], [0], frozenset())) == set()


def test_pharaoh_links():
    assert parse_links(" 0-0 1-2\t10-11 ") == {(0, 0), (1, 2), (10, 11)}
    assert parse_links("") == set()
