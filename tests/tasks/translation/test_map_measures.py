"""Measures of attention maps: exact values of small maps, and properties of every map."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnlab.tasks.translation.map_measures import (
    AlignedSentence,
    alignment_error_rate,
    covered_share,
    diagonal_distance,
    entropy,
    error_rate,
    head_similarity,
    largest_weight,
    measures,
    parse_links,
    predicted_links,
    word_weights,
)

SHARP = np.eye(3)
EVEN = np.full((2, 4), 0.25)
NOWHERE = np.array([[0.5, 0.5], [0.0, 0.0]])


@st.composite
def maps(draw, fewest_heads=1):
    """(H, T, S) with rows that sum to 1."""
    shape = draw(st.integers(fewest_heads, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 7))
    scores = draw(arrays(np.float64, shape, elements=st.floats(0, 10)))
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def test_entropy():
    np.testing.assert_array_equal(entropy(SHARP), 0)
    np.testing.assert_allclose(entropy(EVEN), math.log(4))
    np.testing.assert_allclose(entropy(EVEN, normalised=True), 1)
    half = entropy(np.array([[0.5, 0.5, 0, 0]]))
    np.testing.assert_allclose(half, math.log(2))


def test_one_position_leaves_no_choice():
    np.testing.assert_array_equal(entropy(np.ones((3, 1)), normalised=True), 0)


def test_entropy_is_that_of_the_row_divided_by_its_sum():
    np.testing.assert_allclose(entropy(EVEN * 0.3), math.log(4))


def test_largest_weight_is_the_models_own():
    np.testing.assert_allclose(largest_weight(np.array([[0.1, 0.3], [0.6, 0.4]])), [0.3, 0.6])


def test_a_row_without_weight_is_nan_and_skipped():
    for measure in (entropy, largest_weight, diagonal_distance):
        assert np.isnan(measure(NOWHERE)).tolist() == [False, True]
    means = measures(NOWHERE[None])
    assert means["entropy"] == pytest.approx(math.log(2))
    assert means["largest_weight"] == 0.5
    assert np.isnan(measures(np.zeros((1, 2, 3)))["entropy"])


def test_distance_from_the_diagonal():
    np.testing.assert_allclose(diagonal_distance(SHARP), 0)
    # Reversed: cells 0 and 2 lie two thirds away, the middle one on the diagonal.
    np.testing.assert_allclose(diagonal_distance(SHARP[::-1]), [2 / 3, 0, 2 / 3])
    # Two steps at 1/4 and 3/4 look at all of four positions at 1/8, 3/8, 5/8, 7/8.
    np.testing.assert_allclose(diagonal_distance(EVEN), [(1 + 1 + 3 + 5) / 32] * 2)


def test_coverage():
    table = np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25]])
    # Each position got 0.75, 1 and 0.25 in all.
    assert covered_share(table) == pytest.approx(2 / 3)


def test_similarity_of_heads():
    other = np.array([[0, 1.0], [1.0, 0]])
    one = np.eye(2)
    assert head_similarity(np.stack([one, one, one])) == pytest.approx(1)
    assert head_similarity(np.stack([one, other])) == pytest.approx(0)
    # Pairs: equal once, orthogonal twice.
    assert head_similarity(np.stack([one, one, other])) == pytest.approx(1 / 3)
    assert np.isnan(head_similarity(one[None]))


@given(maps(fewest_heads=2))
def test_similarity_is_the_mean_over_all_pairs(weights):
    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    steps = range(weights.shape[1])
    pairs = itertools.combinations(weights, 2)
    expected = np.mean([cosine(a[t], b[t]) for a, b in pairs for t in steps])
    assert head_similarity(weights) == pytest.approx(expected)


@given(maps())
def test_ranges(weights):
    width = weights.shape[2]
    assert (entropy(weights) >= -1e-12).all()
    assert (entropy(weights) <= math.log(width) + 1e-9).all()
    assert (entropy(weights, normalised=True) <= 1 + 1e-9).all()
    assert (largest_weight(weights) >= 1 / width - 1e-9).all()
    assert (diagonal_distance(weights) < 1).all()


@given(maps())
def test_reading_backwards_changes_nothing(weights):
    turned = weights[:, ::-1, ::-1]
    for name, value in measures(weights).items():
        np.testing.assert_allclose(measures(turned)[name], value, atol=1e-12)


def test_measures_of_weights_that_are_not_shares_are_undefined():
    weights = np.random.default_rng(2).random((2, 3, 5, 7))
    shares, positive, signed = (measures(weights, are) for are in ("shares", "positive", "signed"))
    undefined = {name for name, value in positive.items() if np.isnan(value).all()}
    assert undefined == {"entropy", "normalised_entropy"}
    undefined = {name for name, value in signed.items() if np.isnan(value).all()}
    kept = {"largest_weight", "head_similarity"}
    assert undefined == {*shares} - kept and not any(np.isnan(x).any() for x in shares.values())
    for name in kept:
        np.testing.assert_array_equal(signed[name], shares[name])


def test_axes_before_the_steps_stay_in_the_result():
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=(2, 3, 5))
    values = measures(weights)
    assert {name: value.shape for name, value in values.items()} == {
        **dict.fromkeys(["entropy", "normalised_entropy", "largest_weight"], (2, 3)),
        **dict.fromkeys(["diagonal_distance", "covered_share"], (2, 3)),
        "head_similarity": (2,),
    }
    np.testing.assert_allclose(values["entropy"][1, 2], entropy(weights[1, 2]).mean())


# --- word alignments ---------------------------------------------------------------------------


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
    """Each token attends to all pieces of the right word, and a little to the rest and to END."""
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
def test_the_error_is_between_0_and_1(found, gold):
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
