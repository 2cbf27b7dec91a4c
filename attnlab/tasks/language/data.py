"""The data of a language model: a stream of tokens, or rows with scored places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnlab.tasks.base import TaskData

PADDING = -1  # target of a place that isn't scored
_BLOCK = 1 << 20  # tokens that are counted at once, which limits memory


class Rows(NamedTuple):
    """N rows of T tokens; a model reads `tokens` up to a place and predicts the target there.

    Shorter rows are padded at the end with any token.
    """

    tokens: np.ndarray  # (N, T) int32
    targets: np.ndarray  # (N, T) int32, `PADDING` where nothing is predicted; one or more per row


@dataclass(frozen=True, eq=False)
class Asked:
    """N windows or rows with the places that are scored: all of a window, K of a row.

    Attributes:
        tokens: (N, T) int32.
        targets: (N, T) or (N, K) int32, `PADDING` where there is nothing to predict.
        places: (N, T) or (N, K) int32, the place of each target in its window.
    """

    tokens: np.ndarray
    targets: np.ndarray
    places: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Which targets there are, bool."""
        return self.targets != PADDING

    def at(self, numbers: np.ndarray | slice) -> Asked:
        """Return some of the windows or rows."""
        return Asked(self.tokens[numbers], self.targets[numbers], self.places[numbers])

    @property
    def everywhere(self) -> bool:
        """Whether target t of each window is at place t, as in windows of a text."""
        every = np.arange(self.tokens.shape[1])
        return self.places.shape == self.tokens.shape and bool((self.places == every).all())


@dataclass(frozen=True, eq=False)
class Stream:
    """The text of a part as one sequence of N tokens.

    Attributes:
        tokens: (N,) unsigned integers.
        sizes: (N,) numbers, bytes of the text that each token takes.
        words: number of words in the text by the corpus's convention.
        size: bytes of the text.
    """

    tokens: np.ndarray
    sizes: np.ndarray
    words: int
    size: int

    def __len__(self) -> int:
        return len(self.tokens)

    def asked(self, context: int, stride: int | None = None) -> Asked:
        """Return windows of `context` tokens that score every token but the first one once.

        Args:
            context: T.
            stride: tokens from one window to the next, at most T; None: T. Each window but the
                first scores its last `stride` tokens, so they have a context of at least T -
                stride + 1 tokens.
        """
        step = stride or context
        count = len(self.tokens) - 1  # targets
        starts = np.arange(0, max(count - context, 0) + step, step)
        starts = starts[(starts == 0) | (starts + context - step < count)]
        places = starts[:, None] + np.arange(context)
        scored = places < count
        scored[1:, : context - step] = False
        places = np.minimum(places, count - 1)
        tokens = self.tokens.astype(np.int32)
        own = np.broadcast_to(np.arange(context, dtype=np.int32), places.shape)
        return Asked(tokens[places], np.where(scored, tokens[places + 1], PADDING), own)

    @property
    def is_constant(self) -> bool:
        """Return whether all tokens are equal."""
        blocks = range(0, len(self.tokens), _BLOCK)
        return all((self.tokens[i : i + _BLOCK] == self.tokens[0]).all() for i in blocks)

    def counts(self, size: int) -> np.ndarray:
        """Count each token below `size`: (size,) int64."""
        blocks = range(0, len(self.tokens), _BLOCK)
        found = (np.bincount(self.tokens[i : i + _BLOCK], minlength=size) for i in blocks)
        return sum(found, np.zeros(size, np.int64))

    def bytes_of(self, asked: Asked) -> np.ndarray:
        """Return the bytes of the targets of each window of `asked`, (N,)."""
        scored = asked.known.sum(axis=1)
        ends = 1 + np.cumsum(scored)
        sums = np.concatenate([[0.0], np.cumsum(self.sizes, dtype=np.float64)])
        return sums[ends] - sums[ends - scored]


def asked_rows(rows: Rows) -> Asked:
    """Return rows with their K scored places; shorter lists of places end with `PADDING`."""
    is_scored = rows.targets != PADDING
    width = int(is_scored.sum(axis=1).max())
    places = np.argsort(~is_scored, axis=1, kind="stable")[:, :width].astype(np.int32)
    return Asked(rows.tokens, np.take_along_axis(rows.targets, places, axis=1), places)


@dataclass(frozen=True, eq=False)
class LanguageData(TaskData):
    """The tokens of all parts; see `TaskData`."""

    name: str
    source: str
    digest: str
    parts: Mapping[str, Stream | Rows]  # `train`, `validation`, `test`
    context: int
    said: Sequence[str] = ()  # notes for the user on how the corpus was read

    @property
    def longest(self) -> int:
        """Return the number of tokens of a window."""
        return self.context

    def counts(self) -> dict[str, int]:
        """Return the number of tokens per part, or of rows."""
        return {name: len(part.tokens) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Return the number of tokens and bytes, or of rows and scored places, per part."""
        return {
            name: {"tokens": len(part), "bytes": part.size}
            if isinstance(part, Stream)
            else {"rows": len(part.tokens), "scored": int((part.targets != PADDING).sum())}
            for name, part in self.parts.items()
        }

    def summary(self) -> list[str]:
        """Return notes on how the corpus was read, shown before training."""
        return [*self.said]
