"""Tokenized texts, and the words to predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlab.records.ragged import Ragged
from attnlab.tasks.base import TaskData
from attnlab.tasks.masked_words.masking import Asked

_MOST_COUNTED = 100_000  # rows


@dataclass(frozen=True, eq=False)
class MaskedPart:
    """The N rows of one part."""

    tokens: np.ndarray  # (N, S) int32, without masks
    follows: np.ndarray  # (N,) int32, 1 if the second text of a row follows the first
    asked: Asked | None  # the words to predict; None for train, where each step chooses others

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Return some rows, (n, S) int32."""
        return self.tokens[numbers]

    @property
    def counted(self) -> np.ndarray:
        """Return the rows on which baselines are counted: all."""
        return self.tokens

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each row, (N,)."""
        return np.count_nonzero(self.tokens, axis=1)

    @property
    def words(self) -> np.ndarray:
        """Return the right words (M,) at the chosen places, row by row."""
        assert self.asked is not None
        return np.take_along_axis(self.tokens, self.asked.places, axis=1)[self.asked.known]


class StoredPart(MaskedPart):
    """The rows of train of a long text, on the disk; `tokens` and `follows` are empty.

    Args:
        stored: the rows.
        width: tokens of a padded row, S.
    """

    def __init__(self, stored: Ragged, width: int) -> None:
        super().__init__(np.zeros((0, width), np.int32), np.zeros(0, np.int32), None)
        object.__setattr__(self, "stored", stored)

    stored: Ragged

    def __len__(self) -> int:
        return len(self.stored)

    def rows(self, numbers: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.stored.padded(numbers, self.tokens.shape[1])

    @property
    def counted(self) -> np.ndarray:
        """Return the rows on which baselines are counted: at most 100,000, at equal distances."""
        number = min(len(self), _MOST_COUNTED)
        return self.rows(np.arange(number) * len(self) // number)

    @property
    def lengths(self) -> np.ndarray:  # noqa: D102
        return self.stored.lengths


@dataclass(frozen=True, eq=False)
class MaskedTexts(TaskData):
    """A tokenized corpus; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, MaskedPart]  # `train`, `validation`, `test`
    width: int  # tokens of a row, S
    cut: int  # rows of all parts that lost an end
    unknown: int  # tokens of all parts that the vocabulary doesn't have
    paired: bool  # whether rows have two texts
    said: Sequence[str] = ()  # notes for the user on how the texts were read
    left_out: Mapping[str, int] = field(default_factory=dict)  # repeated documents per part

    @property
    def longest(self) -> int:
        """Return the number of tokens of the longest row."""
        return self.width

    def counts(self) -> dict[str, int]:
        """Return the number of rows per part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Return the numbers of rows and tokens per part, START and END included."""
        return {
            name: {"rows": len(part), "tokens": int(part.lengths.sum())}
            for name, part in self.parts.items()
        }

    def summary(self) -> list[str]:
        """Return notes on how the texts were read, shown before training."""
        return [*self.said]

    def notes(self) -> list[str]:
        """Return the report's notes on the data, one sentence each."""
        notes, rows = [*self.said], sum(self.counts().values())
        if (train := len(self.parts["train"])) > (counted := len(self.parts["train"].counted)):
            notes.append(f"Baselines are counted on {counted:,} of {train:,} rows of train.")
        if self.cut:
            notes.append(f"The end of a text was cut off in {self.cut:,} of {rows:,} rows.")
        if self.unknown:
            total = sum(int(part.lengths.sum()) for part in self.parts.values())
            notes.append(
                f"{self.unknown:,} of {total:,} tokens are not in the vocabulary and are never "
                "predicted."
            )
        return notes
