"""Questions and texts in tokens that know where they stand, and in windows that a model can read.

A row of a model's input has START, the question with END behind it, and a window of the text; both
are filled up with PAD, so that question and text begin at the same places in every row:

    START question END PAD ... | text PAD ...
    place 0     1 ... Q        | Q + 1 ... Q + P

What a model gives is about the places of START, which stands for "no answer here", and of the text:
1 + P of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer
from attnlab.text.words import word_spans


class Cut(NamedTuple):
    """A text in tokens, and where the word of each stands: (start, end) in the text as it is."""

    tokens: list[int]
    spans: list[tuple[int, int]]

    def holding(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token that share a character with text[start:end]."""
        found = [n for n, (first, last) in enumerate(self.spans) if first < end and start < last]
        return (found[0], found[-1]) if found else None


class WindowRows(NamedTuple):
    """Windows as a model reads them, all of them W."""

    tokens: np.ndarray  # (W, 1 + Q + P) int32
    targets: np.ndarray  # (W, 2) int32: first and last place of the answer, 0 where there is none
    owners: np.ndarray  # (W,) number of the question
    starts: np.ndarray  # (W,) place in the text of the window's first token


def cut_text(tokenizer: Tokenizer, text: str) -> Cut:
    """A text in tokens of a tokenizer of words or of byte pairs.

    Words are cut in the text as it is; a token that is a part of a word stands for all of it, and
    one of several words, such as a piece of several Thai characters, for all of them.
    """
    whole = normalized(text)
    (tokens,) = tokenizer.encode([whole])
    words = word_spans(text)  # as many as of the normalised text
    last = len(words) - 1
    numbers = tokenizer.words_of_tokens(whole)
    spans = [(words[min(one, last)][0], words[min(other, last)][1]) for one, other in numbers]
    return Cut(tokens, spans)


def cut_question(tokenizer: Tokenizer, question: str) -> list[int]:
    """A question in tokens; an unknown one where nothing is left of it."""
    (tokens,) = tokenizer.encode([normalized(question)])
    return tokens or [UNKNOWN]


def window_starts(length: int, most: int, stride: int) -> list[int]:
    """Where windows of `most` tokens begin in a text of a length, the last one reaching its end.

    As in BERT's run_squad: each begins `stride` behind the one before. Difference: never more than
    half a window, so that windows overlap whatever their length.
    """
    stride = max(min(stride, most // 2), 1)
    starts = [0]
    while starts[-1] + most < length:
        starts.append(starts[-1] + stride)
    return starts


def make_rows(
    questions: Sequence[Sequence[int]],
    texts: Sequence[Cut],
    answers: Sequence[tuple[int, int] | None],
    *,
    question_places: int,
    text_places: int,
    stride: int,
) -> WindowRows:
    """All windows of some questions about texts, in their order.

    Args:
        questions: tokens of each; what goes beyond `question_places` - 1 is cut off.
        texts: that each is about.
        answers: first and last token of each answer; None where there is none. A window that
            doesn't have all of it has no answer, as in BERT's run_squad.
        question_places: Q, END included.
        text_places: P.
        stride: see `window_starts`.
    """
    places = [
        (number, start)
        for number, text in enumerate(texts)
        for start in window_starts(len(text.tokens), text_places, stride)
    ]
    tokens = np.full((len(places), 1 + question_places + text_places), PAD, np.int32)
    targets = np.zeros((len(places), 2), np.int32)
    tokens[:, 0] = START
    for row, (number, start) in enumerate(places):
        question = [*questions[number][: question_places - 1], END]
        window = texts[number].tokens[start : start + text_places]
        tokens[row, 1 : 1 + len(question)] = question
        tokens[row, 1 + question_places : 1 + question_places + len(window)] = window
        if (answer := answers[number]) is not None:
            first, last = answer[0] - start, answer[1] - start
            if first >= 0 and last < len(window):
                targets[row] = first + 1, last + 1
    owners, starts = np.array(places, np.int32).reshape(-1, 2).T
    return WindowRows(tokens, targets, owners, starts)
