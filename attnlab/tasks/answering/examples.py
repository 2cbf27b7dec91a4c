"""A few questions of a part, and where the words of their texts looked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from attnlab.tasks.answering.report import measured

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import AskedPart
    from attnlab.tasks.answering.spans import PredictedAnswer


class TextPlaces(Protocol):
    """A task that reads questions and texts at places of a row.

    Attributes:
        question_places: how many a question has.
        text_places: how many a text has.
    """

    question_places: int
    text_places: int

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """The words of tokens; "" behind the end."""


def shown_window(part: AskedPart, number: int, said: PredictedAnswer, places: int) -> int:
    """The row of a question's window, of so many places, that has most around what was said.

    Where nothing was said the window that has the answer, else the first.
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
    """Attention on some questions, for attention.npz; None where nothing attends.

    `weights` (N, H, P, Q) of each place of the text on the question; `question` (N, Q) and `text`
    (N, P) as they read, "" behind the end; `answer` and `prediction` (N, 2), first and last place
    in that text, -1 where it has none; `right` (N,); `index` (N,), rows of predictions.csv.
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
    """The first and last place in a window of what was said; -1 where nothing was."""
    held = _tokens(part, int(part.rows.owners[row]), said)
    if held is None:
        return -1, -1
    start = int(part.rows.starts[row])
    return held[0] - start, held[1] - start


def _tokens(part: AskedPart, number: int, said: PredictedAnswer) -> tuple[int, int] | None:
    """The first and last token in its text of what was said to a question."""
    if said.start is None or said.end is None:
        return None
    return part.texts[number].holding(said.start, said.end)
