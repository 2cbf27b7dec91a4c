"""Attention weights of a few questions of a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from attnlab.tasks.answering.report import measured

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import AskedPart
    from attnlab.tasks.answering.spans import PredictedAnswer


class TextPlaces(Protocol):
    """A task whose rows have fixed places for question and text.

    Attributes:
        question_places: number of places of a question.
        text_places: number of places of a text.
    """

    question_places: int
    text_places: int

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """Return the words of tokens; "" for padding."""


def shown_window(part: AskedPart, number: int, said: PredictedAnswer, places: int) -> int:
    """Return the row of the question's window with the most context around the predicted answer.

    Without a predicted answer it is the window with the right answer, or else the first one.
    """
    own = np.flatnonzero(part.rows.owners == number)
    held = _tokens(part, number, said)
    if held is None:
        return int(own[np.argmax(part.rows.targets[own, 0] > 0)])
    return int(own[np.argmin(np.abs(part.rows.starts[own] + places / 2 - held[0]))])


def looked_at(
    task: TextPlaces,
    part: AskedPart,
    said: Sequence[PredictedAnswer],
    numbers: np.ndarray,
    attend: Callable[[np.ndarray], Any],
) -> dict[str, np.ndarray] | None:
    """Return attention on some questions, for attention.npz; None if there is no attention.

    `weights` (N, H, P, Q) are those of each place of the text on the question. `question` (N, Q)
    and `text` (N, P) are words, "" for padding. `answer` and `prediction` (N, 2) are first and last
    place in the text, -1 without an answer. `right` is (N,); `index` (N,) has the rows of
    predictions.csv.
    """
    places = task.text_places
    rows = [shown_window(part, number, said[number], places) for number in numbers]
    tokens = part.rows.tokens[rows]
    weights = attend(tokens)
    if weights is None:
        return None
    asked = [part.questions[number] for number in numbers]
    right = measured(asked, [said[number].text for number in numbers])["exact_match"] > 0
    first = 1 + task.question_places
    return {
        "weights": np.asarray(weights, np.float32),
        "question": task.words(tokens[:, 1:first]),
        "text": task.words(tokens[:, first:]),
        "answer": part.rows.targets[rows] - 1,
        "prediction": np.array(
            [placed(part, row, said[n]) for row, n in zip(rows, numbers, strict=True)]
        ),
        "right": right,
        "index": np.asarray(numbers),
    }


def placed(part: AskedPart, row: int, said: PredictedAnswer) -> tuple[int, int]:
    """Return the first and last place of a predicted answer in a window; -1 without one."""
    held = _tokens(part, int(part.rows.owners[row]), said)
    if held is None:
        return -1, -1
    start = int(part.rows.starts[row])
    return held[0] - start, held[1] - start


def _tokens(part: AskedPart, number: int, said: PredictedAnswer) -> tuple[int, int] | None:
    """Return the first and last token of a predicted answer in its text."""
    if said.start is None or said.end is None:
        return None
    return part.texts[number].holding(said.start, said.end)
