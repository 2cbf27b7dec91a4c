"""Questions and texts as rows of tokens, with the positions of words in the original texts.

A row of a model's input has START, the question followed by END, and a window of the text. Question
and window are padded with PAD, so that both start at the same place in every row:

    START question END PAD ... | text PAD ...
    place 0     1 ... Q        | Q + 1 ... Q + P

The output of a model has 1 + P places: START, which means "no answer here", and those of the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attnlab.tasks.answering.corpora import Question
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer
from attnlab.text.words import word_spans


class Cut(NamedTuple):
    """The tokens of a text, and the (start, end) of each token's word in the original text."""

    tokens: list[int]
    spans: list[tuple[int, int]]

    def holding(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and the last token that share a character with text[start:end]."""
        tokens = [n for n, (first, last) in enumerate(self.spans) if first < end and start < last]
        return (tokens[0], tokens[-1]) if tokens else None

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """Return (start, end) in the original text of the words from token `first` to `last`."""
        return self.spans[first][0], self.spans[last][1]


class WindowRows(NamedTuple):
    """W windows as a model reads them."""

    tokens: np.ndarray  # (W, 1 + Q + P) int32
    targets: np.ndarray  # (W, 2) int32: first and last place of the answer, 0 without an answer
    owners: np.ndarray  # (W,) number of the question
    starts: np.ndarray  # (W,) position in the text of the window's first token


@dataclass(frozen=True, eq=False)
class QuestionPart:
    """The questions of one part."""

    questions: Sequence[Question]
    texts: Sequence[Cut]  # the text of each question
    rows: WindowRows  # the windows of all questions

    def __len__(self) -> int:
        return len(self.questions)


def cut_text(tokenizer: Tokenizer, text: str) -> Cut:
    """Tokenize a text; a token that is part of a word gets the span of the whole word."""
    tokens, numbers = tokenizer.encode_words(normalize(text))
    words = word_spans(text)  # as many as of the normalised text
    return Cut(tokens, [words[min(number, len(words) - 1)] for number in numbers])


def cut_question(tokenizer: Tokenizer, question: str) -> list[int]:
    """Tokenize a question; an empty one becomes UNKNOWN."""
    (tokens,) = tokenizer.encode([normalize(question)])
    return tokens or [UNKNOWN]


def window_starts(length: int, most: int, stride: int) -> list[int]:
    """Return the starts of windows of `most` tokens, `stride` apart, as in BERT's run_squad.

    Difference: the stride is at most half a window, so that windows always overlap.
    """
    stride = max(min(stride, most // 2), 1)
    starts = [0]
    while starts[-1] + most < length:
        starts.append(starts[-1] + stride)
    return starts


def make_part(
    questions: Sequence[Question],
    tokens: Mapping[str, Sequence[int]],
    texts: Mapping[str, Cut],
    *,
    question_places: int,
    text_places: int,
    stride: int,
) -> QuestionPart:
    """Make all windows of some questions, whose tokens are in `tokens`, about `texts`, in order.

    A window that doesn't contain the whole first answer has no answer, as in BERT's run_squad.
    """
    cuts = [texts[item.text] for item in questions]
    places = [
        (number, start)
        for number, text in enumerate(cuts)
        for start in window_starts(len(text.tokens), text_places, stride)
    ]
    rows = np.full((len(places), 1 + question_places + text_places), PAD, np.int32)
    targets = np.zeros((len(places), 2), np.int32)
    rows[:, 0] = START
    for row, (number, start) in enumerate(places):
        item, text = questions[number], cuts[number]
        question = [*tokens[item.question][: question_places - 1], END]
        window = text.tokens[start : start + text_places]
        rows[row, 1 : 1 + len(question)] = question
        rows[row, 1 + question_places : 1 + question_places + len(window)] = window
        answer = text.holding(item.answers[0].start, item.answers[0].end) if item.answers else None
        if answer and answer[0] >= start and answer[1] - start < len(window):
            targets[row] = answer[0] - start + 1, answer[1] - start + 1
    owners, starts = np.array(places, np.int32).reshape(-1, 2).T
    return QuestionPart(questions, cuts, WindowRows(rows, targets, owners, starts))
