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

    The window is the one with the right answer; without a right answer the one with the most
    context around the predicted answer; without both the first. At most 60 tokens of it are
    returned, those around the answer, and 24 of the question.

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
    starts = part.rows.starts
    places = part.rows.tokens.shape[1] - 1 - question_places
    chosen, spans = [], []
    for number, (text, answer) in enumerate(zip(part.texts, predicted, strict=True)):
        rows = np.flatnonzero(part.rows.owners == number)
        has_answer = part.rows.targets[rows, 0] > 0
        nothing = answer.start is None or answer.end is None
        span = None if nothing else text.holding(answer.start, answer.end)
        row = rows[np.argmax(has_answer)]
        if span and not has_answer.any():
            row = rows[np.argmin(np.abs(starts[rows] + places / 2 - span[0]))]
        chosen.append(row)
        spans.append((-1, -1) if span is None else (span[0] - starts[row], span[1] - starts[row]))
    tokens = part.rows.tokens[chosen]
    weights = attend(tokens)
    if weights is None:
        return None
    first = 1 + question_places
    text, question = words(tokens[:, first:]), words(tokens[:, 1:first])
    answers, predictions = part.rows.targets[chosen] - 1, np.array(spans)
    width = min(places, _MOST_TEXT)
    middle = np.where(answers[:, 0] < 0, predictions[:, 0], answers[:, 0])
    ends = np.maximum((text != "").sum(axis=1) - width, 0)
    offsets = np.clip(middle - width // 2, 0, ends)
    columns = offsets[:, None] + np.arange(width)  # (N, 60)

    def shift(span: np.ndarray) -> np.ndarray:
        inside = (span[:, 0] >= offsets) & (span[:, 1] < offsets + width)
        return np.where(inside[:, None], span - offsets[:, None], -1)

    right = measure(part.questions, [answer.text for answer in predicted])["exact_match"] > 0
    weights = np.take_along_axis(np.asarray(weights), columns[:, None, :, None], axis=2)
    return {
        "weights": weights[..., :_MOST_QUESTION].astype(np.float16),
        "text": np.take_along_axis(text, columns, axis=1),
        "question": question[:, :_MOST_QUESTION],
        "answer": shift(answers),
        "prediction": shift(predictions),
        "right": right,
    }
