"""Texts in tokens, and the words of them that are to be predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlab.tasks.base import TaskData
from attnlab.tasks.masked_words.masking import Asked


@dataclass(frozen=True, eq=False)
class MaskedPart:
    """Rows of one part, all of them N."""

    tokens: np.ndarray  # (N, S) int32, as they were written
    follows: np.ndarray  # (N,) int32, 1 where the second text of a row follows the first
    asked: Asked | None  # words that were chosen once and for all; None of train

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> np.ndarray:
        """(M,) what stands at the places that are asked for, row by row."""
        assert self.asked is not None
        return np.take_along_axis(self.tokens, self.asked.places, axis=1)[self.asked.known]


@dataclass(frozen=True, eq=False)
class MaskedTexts(TaskData):
    """A corpus as the runner and the report see it; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, MaskedPart]  # `train`, `validation`, `test`
    cut: int  # rows of all parts of which an end was cut off
    unknown: int  # tokens of all parts that the vocabulary doesn't have
    paired: bool  # whether rows have two texts
    said: Sequence[str] = ()  # what the user should know of how the texts were read
    left_out: Mapping[str, int] = field(default_factory=dict)  # repeated documents of each part

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return int(self.parts["train"].tokens.shape[1])

    def counts(self) -> dict[str, int]:
        """Rows by part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Rows and tokens by part, START and END among them."""
        return {
            name: {"rows": len(part), "tokens": int(np.count_nonzero(part.tokens))}
            for name, part in self.parts.items()
        }

    def summary(self) -> list[str]:
        """What a user should know before training: how the texts were read."""
        return [*self.said]

    def notes(self) -> list[str]:
        """What the report should say of the data, a sentence each."""
        notes, rows = [*self.said], sum(self.counts().values())
        if self.cut:
            notes.append(f"Of {self.cut:,} of {rows:,} rows an end was cut off.")
        if self.unknown:
            total = sum(int(np.count_nonzero(part.tokens)) for part in self.parts.values())
            notes.append(
                f"{self.unknown:,} of {total:,} tokens are not in the vocabulary: nobody asks for "
                "them."
            )
        return notes
