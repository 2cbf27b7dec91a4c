"""Tokenized questions and texts of a corpus, by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlab.tasks.answering.corpora import Question
from attnlab.tasks.answering.encoding import Cut, WindowRows
from attnlab.tasks.base import TaskData


@dataclass(frozen=True, eq=False)
class QuestionPart:
    """The questions of one part."""

    questions: Sequence[Question]
    texts: Sequence[Cut]  # the text of each question
    rows: WindowRows  # the windows of all questions

    def __len__(self) -> int:
        return len(self.questions)

    def select(self, numbers: np.ndarray) -> tuple[QuestionPart, np.ndarray]:
        """Return some questions, by their sorted numbers, and the numbers of their windows."""
        windows = np.flatnonzero(np.isin(self.rows.owners, numbers))
        tokens, targets, owners, starts = (array[windows] for array in self.rows)
        rows = WindowRows(tokens, targets, np.searchsorted(numbers, owners), starts)
        questions, texts = ([each[n] for n in numbers] for each in (self.questions, self.texts))
        return QuestionPart(questions, texts, rows), windows


@dataclass(frozen=True, eq=False)
class QuestionData(TaskData):
    """A tokenized corpus; see `TaskData`."""

    name: str
    source: str
    digest: str
    longest: int
    parts: Mapping[str, QuestionPart]  # `train`, `validation`, `test`
    notes: Sequence[str] = ()  # how the questions were read, for the user

    def counts(self) -> dict[str, int]:
        """Return the number of questions per part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Return counts per part: questions by question word, and windows."""
        return {
            name: {
                **dict(sorted(Counter(each.group for each in part.questions).items())),
                "windows": len(part.rows.owners),
            }
            for name, part in self.parts.items()
        }

    def summary(self) -> Sequence[str]:
        """Return the notes."""
        return self.notes
