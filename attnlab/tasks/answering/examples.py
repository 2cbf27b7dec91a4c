"""Attention of the words of a few texts on the words of their questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.answering.report import measure

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import QuestionPart
    from attnlab.tasks.answering.spans import PredictedAnswer

_MOST_TEXT, _MOST_QUESTION = 60, 24  # tokens for which a figure has room


def attention_on_questions(
    part: QuestionPart,
    predicted: Sequence[PredictedAnswer],
    question_places: int,
    words: Callable[[np.ndarray], np.ndarray],
    attend: Callable[[np.ndarray], Any],
) -> dict[str, np.ndarray] | None:
    """Return attention in a window of each text, for attention.npz; None if there is none.

    The window is the first one with the right answer, or the first one of a text without an answer.
    At most 60 tokens of it are returned, those around the answer, and 24 of the question.

    Args:
        part: N questions.
        predicted: the answer to each.
        question_places: Q.
        words: returns a label per token, "" for padding.
        attend: maps rows (N, 1 + Q + P) to weights (N, H, P, Q), or None.

    Returns:
        `weights` (N, H, 60, 24) float16; words of `text` (N, 60) and `question` (N, 24), "" for
        padding; `answer` and `prediction` (N, 2), first and last place in these words, -1 for none;
        `right` (N,), whether the prediction is. P and Q if they are smaller than 60 and 24.
    """
    windows = [np.flatnonzero(part.rows.owners == number) for number in range(len(part))]
    rows = np.array([own[np.argmax(part.rows.targets[own, 0] > 0)] for own in windows])
    tokens = part.rows.tokens[rows]
    weights = attend(tokens)
    if weights is None:
        return None
    question, text = (
        words(tokens[:, 1 : 1 + question_places]),
        words(tokens[:, 1 + question_places :]),
    )
    answers, predictions = part.rows.targets[rows] - 1, np.full((len(part), 2), -1)
    for row, (cut, answer) in enumerate(zip(part.texts, predicted, strict=True)):
        if answer.start is None or answer.end is None:
            continue
        if span := cut.holding(answer.start, answer.end):
            predictions[row] = span - part.rows.starts[rows[row]]
    width = min(text.shape[1], _MOST_TEXT)
    last = np.maximum((text != "").sum(axis=1) - width, 0)
    offsets = np.clip(answers[:, 0] - width // 2, 0, last)
    columns = offsets[:, None] + np.arange(width)  # (N, 60)

    def shift(places: np.ndarray) -> np.ndarray:
        inside = (places[:, 0] >= offsets) & (places[:, 1] < offsets + width)
        return np.where(inside[:, None], places - offsets[:, None], -1)

    weights = np.take_along_axis(np.asarray(weights), columns[:, None, :, None], axis=2)
    return {
        "weights": weights[..., :_MOST_QUESTION].astype(np.float16),
        "text": np.take_along_axis(text, columns, axis=1),
        "question": question[:, :_MOST_QUESTION],
        "answer": shift(answers),
        "prediction": shift(predictions),
        "right": measure(part.questions, [each.text for each in predicted])["exact_match"] > 0,
    }
