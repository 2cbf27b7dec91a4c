"""Tokenized texts, and the words to predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlab.tasks.base import TaskData
from attnlab.tasks.masked_words.masking import Asked


@dataclass(frozen=True, eq=False)
class MaskedPart:
    """The N rows of one part."""

    tokens: np.ndarray  # (N, S) int32, without masks
    follows: np.ndarray  # (N,) int32, 1 if the second text of a row follows the first
    asked: Asked | None  # the words to predict; None for train, where each step chooses others

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> np.ndarray:
        """Return the right words (M,) at the chosen places, row by row."""
        assert self.asked is not None
        return np.take_along_axis(self.tokens, self.asked.places, axis=1)[self.asked.known]


@dataclass(frozen=True, eq=False)
class MaskedTexts(TaskData):
    """A tokenized corpus; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, MaskedPart]  # `train`, `validation`, `test`
    cut: int  # rows of all parts that lost an end
    unknown: int  # tokens of all parts that the vocabulary doesn't have
    paired: bool  # whether rows have two texts
    said: Sequence[str] = ()  # notes for the user on how the texts were read
    left_out: Mapping[str, int] = field(default_factory=dict)  # repeated documents per part

    @property
    def longest(self) -> int:
        """Return the number of tokens of the longest row."""
        return int(self.parts["train"].tokens.shape[1])

    def counts(self) -> dict[str, int]:
        """Return the number of rows per part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Return the numbers of rows and tokens per part, START and END included."""
        return {
            name: {"rows": len(part), "tokens": int(np.count_nonzero(part.tokens))}
            for name, part in self.parts.items()
        }

    def summary(self) -> list[str]:
        """Return notes on how the texts were read, shown before training."""
        return [*self.said]

    def notes(self) -> list[str]:
        """Return the report's notes on the data, one sentence each."""
        notes, rows = [*self.said], sum(self.counts().values())
        if self.cut:
            notes.append(f"The end of a text was cut off in {self.cut:,} of {rows:,} rows.")
        if self.unknown:
            total = sum(int(np.count_nonzero(part.tokens)) for part in self.parts.values())
            notes.append(
                f"{self.unknown:,} of {total:,} tokens are not in the vocabulary and are never "
                "predicted."
            )
        return notes
