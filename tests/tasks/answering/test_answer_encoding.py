"""Tokens with positions, windows, and the best spans of all windows."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from question_runs import fitted, question

from attnlab.tasks.answering.corpora import Question
from attnlab.tasks.answering.data import (
    Cut,
    QuestionPart,
    WindowRows,
    cut_text,
    make_part,
    window_starts,
)
from attnlab.tasks.answering.spans import PredictedAnswer, best_answers, span_scores
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import END, PAD, START, Tokenizer
from attnlab.text.words import split_words, word_spans


@given(st.text(max_size=60))
def test_tokens_follow_the_words_of_any_text(text):
    """Upper case, decomposed accents and odd spaces never change an answer's position.

    Letters that are newer than the Unicode of the library that cuts join the word before them.
    """
    cut = cut_text(_WORDS, text)
    assert cut.spans == sorted(cut.spans)
    if unicodedata.is_normalized("NFC", text):
        assert {*cut.spans} <= {*word_spans(text)}
    if all(ord(character) < 0x2500 for character in text):
        held = [normalize(text[start:end]) for start, end in cut.spans]
        words = split_words(normalize(text))
        assert all(word in piece for word, piece in zip(words, held, strict=True))


_WORDS = Tokenizer.fit(["any word of it"], kind="word", lowercase=True)


def test_holding_returns_the_tokens_of_a_span():
    cut = cut_text(_WORDS, "ab cd, ef")
    assert cut.spans == [(0, 2), (3, 5), (5, 6), (7, 9)]
    assert cut.holding(3, 5) == (1, 1)
    assert cut.holding(4, 8) == (1, 3)  # a part of a word is the word
    assert cut.holding(2, 3) is None


@given(st.integers(1, 400), st.integers(1, 50), st.integers(1, 60))
def test_windows_hold_every_token_and_overlap(length, most, stride):
    starts = window_starts(length, most, stride)
    held = {token for start in starts for token in range(start, min(start + most, length))}
    assert held == set(range(length))
    assert all(start + most < length for start in starts[:-1])
    steps = set(np.diff(starts).tolist())
    assert steps <= {max(min(stride, most // 2), 1)}


def test_rows_are_start_question_end_and_a_window():
    asked = question(0, "a b c d e f g", "c or d?", "c d")
    tokenizer = fitted([asked])
    cut, (tokens,) = cut_text(tokenizer, asked.text), tokenizer.encode([asked.question])
    lookups = {asked.question: tokens}, {asked.text: cut}
    rows = make_part([asked], *lookups, question_places=6, text_places=4, stride=2).rows
    assert rows.starts.tolist() == [0, 2, 4] and rows.owners.tolist() == [0, 0, 0]
    assert rows.tokens[:, 0].tolist() == [START] * 3
    assert rows.tokens[0, 1:7].tolist() == [*tokens, END, PAD]
    assert rows.tokens[0, 7:].tolist() == cut.tokens[:4]
    assert rows.tokens[2, 7:].tolist() == [*cut.tokens[4:], PAD]
    assert rows.targets.tolist() == [[3, 4], [1, 2], [0, 0]]  # the last one doesn't have it
    asked = asked._replace(answers=())
    short = make_part([asked], *lookups, question_places=3, text_places=7, stride=2).rows
    assert short.tokens[0, 1:4].tolist() == [*tokens[:2], END] and not short.targets.any()


def best_by_loops(logits, starts, length, longest):
    """Scores of every span of every window, by a plain loop."""
    result = {}
    for window, start in zip(logits, starts, strict=True):
        for first in range(start, min(start + logits.shape[2] - 1, length)):
            for last in range(first, min(first + longest, start + logits.shape[2] - 1, length)):
                score = window[0, 1 + first - start] + window[1, 1 + last - start]
                result[first, last] = max(score, result.get((first, last), -np.inf))
    return result


@given(st.integers(1, 14), st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**16))
def test_span_scores_are_those_of_loops(length, most, longest, seed):
    starts = np.array(window_starts(length, most, 3))
    logits = np.random.default_rng(seed).normal(size=(len(starts), 2, 1 + most))
    scores = span_scores(logits, starts, length, longest)
    result = {
        (int(first), int(first + more)): scores[first, more]
        for first, more in np.argwhere(np.isfinite(scores))
    }
    assert result == pytest.approx(best_by_loops(logits, starts, length, longest))


def part_of_lengths(lengths, owners, starts) -> QuestionPart:
    """Questions about texts of so many words of one letter, with these windows."""
    texts = [" ".join("abcdefgh"[:length]) for length in lengths]
    cuts = [Cut([*range(n)], [(2 * at, 2 * at + 1) for at in range(n)]) for n in lengths]
    empty = np.zeros((len(owners), 0), np.int32)
    rows = WindowRows(empty, empty, np.array(owners), np.array(starts))
    return QuestionPart([Question("", "?", text, ()) for text in texts], cuts, rows)


def test_the_best_answer_has_its_share_of_all_spans():
    logits = np.zeros((2, 2, 4))
    logits[0] = [[0, 3, 1, 0], [0, 2, 4, 0]]
    logits[1] = [[0, 0, 5, 0], [0, 0, 1, 2]]
    part = part_of_lengths([4], [0, 0], [0, 1])
    (answer,) = best_answers(logits, part, longest=2)
    scores = best_by_loops(logits, [0, 1], 4, 2)
    first, last = best = max(scores, key=scores.__getitem__)
    assert (answer.start, answer.end) == (2 * first, 2 * last + 1)
    assert answer.text == part.questions[0].text[answer.start : answer.end]
    total = np.exp(list(scores.values())).sum()
    assert answer.probability == pytest.approx(np.exp(scores[best]) / total)


@pytest.mark.parametrize(("start", "best"), [(4.5, ""), (1.2, "a")])
def test_no_answer_has_the_smallest_score_of_start_in_all_windows(start, best):
    logits = np.zeros((2, 2, 3))
    logits[0] = [[1, 2, 0], [start - 1, 0.5, 0]]
    logits[1, :, 0] = 4.5
    part = part_of_lengths([3], [0, 0], [0, 1])
    (answer,) = best_answers(logits, part, longest=1, nullable=True)
    total = np.exp([start, 2.5, 0, 0]).sum()
    assert answer.text == best
    assert answer.probability == pytest.approx(np.exp(start if not best else 2.5) / total)
    (alone,) = best_answers(logits, part, longest=1)
    assert alone.text == "a"  # every text has an answer


@pytest.mark.parametrize(("value", "length"), [(np.nan, 3), (0.0, 0)])
def test_without_a_finite_score_or_a_text_there_is_no_answer(value, length):
    logits = np.full((1, 2, 4), value)
    part = part_of_lengths([length], [0], [0])
    assert best_answers(logits, part, longest=2) == [PredictedAnswer("", None, None, 0.0)]
