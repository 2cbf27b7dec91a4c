"""The data of a language model: a stream of tokens, or rows with scored places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlab.tasks.base import TaskData
from attnlab.tasks.data.tokens import Tokens
from attnlab.text.tokenizers import UNKNOWN

if TYPE_CHECKING:
    from attnlab.tasks.language.text.vocabulary import TextVocabulary

PADDING = -1  # target of a place that isn't scored


class Rows(NamedTuple):
    """N rows of T tokens; a model reads `tokens` and predicts `targets`, each at its place.

    Shorter rows are padded at the end with any token.
    """

    tokens: np.ndarray  # (N, T) int32
    targets: np.ndarray  # (N, T) int32, `PADDING` where nothing is predicted; one or more per row

    def scored(self) -> ScoredRows:
        """Return the rows with their K scored places; shorter lists end with `PADDING`."""
        is_scored = self.targets != PADDING
        width = max(int(is_scored.sum(axis=1).max()), 1)
        places = np.argsort(~is_scored, axis=1, kind="stable")[:, :width].astype(np.int32)
        return ScoredRows(self.tokens, np.take_along_axis(self.targets, places, axis=1), places)


@dataclass(frozen=True, eq=False)
class ScoredRows:
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
    def has_target(self) -> np.ndarray:
        """Where there is a target, bool."""
        return self.targets != PADDING

    def at(self, numbers: np.ndarray | slice) -> ScoredRows:
        """Return some of the windows or rows."""
        return ScoredRows(self.tokens[numbers], self.targets[numbers], self.places[numbers])


@dataclass(frozen=True, eq=False)
class Stream:
    """The text of a part as one sequence of N tokens, which may be on the disk.

    Attributes:
        ids: (N,) ids of the vocabulary's tokenizer.
        vocabulary: turns them into the model's tokens.
        size: bytes of the text.
    """

    ids: np.ndarray
    vocabulary: TextVocabulary
    size: int

    def __len__(self) -> int:
        return len(self.ids)

    def tokens(self, places: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the model's tokens at places, int32."""
        return self.vocabulary.numbers[self.ids[places]]

    @cached_property
    def unknown(self) -> int:
        """The number of unknown tokens, except the first token, which is never predicted."""
        return int(np.count_nonzero(self.ids[1:] == UNKNOWN))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The bytes of each token of the vocabulary, (V,), which sum up to those of the text.

        Only `word` tokens have rounded sizes, since they don't say how many spaces there are.
        """
        sizes = self.vocabulary.sizes()
        return sizes * (self.size / float(np.bincount(self.tokens(), minlength=len(sizes)) @ sizes))

    def bytes_of(self, scored: ScoredRows) -> np.ndarray:
        """Return the bytes of the targets of each window, (N,)."""
        return np.where(scored.has_target, self.sizes[np.maximum(scored.targets, 0)], 0.0).sum(
            axis=1
        )

    def windows(self, context: int, stride: int | None = None) -> ScoredRows:
        """Return windows of `context` tokens that score every token but the first one once.

        Args:
            context: T.
            stride: tokens from one window to the next, at most T; None: T. Each window but the
                first scores its last `stride` tokens, so they have a context of at least T -
                stride + 1 tokens.
        """
        step = stride or context
        count = len(self) - 1  # targets
        starts = np.arange(0, max(count - context, 0) + step, step)
        starts = starts[(starts == 0) | (starts + context - step < count)]
        places = starts[:, None] + np.arange(context)
        scored = places < count
        scored[1:, : context - step] = False
        places = np.minimum(places, count - 1)
        tokens = self.tokens()
        columns = np.broadcast_to(np.arange(context, dtype=np.int32), places.shape)
        return ScoredRows(tokens[places], np.where(scored, tokens[places + 1], PADDING), columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class LanguageData(TaskData):
    """The tokens of all parts: `Stream`, `Rows`, or `Tokens` whose masks are drawn in training."""

    def counts(self) -> dict[str, int]:
        """Return the number of tokens per part, or of rows."""
        return {name: next(iter(sizes.values())) for name, sizes in self.describe().items()}

    def describe(self) -> dict[str, dict[str, int]]:
        """Return the number of tokens and bytes, or of rows and their tokens, per part."""
        sizes = {}
        for name, part in self.parts.items():
            if isinstance(part, Stream):
                sizes[name] = {"tokens": len(part), "bytes": part.size}
            elif isinstance(part, Tokens):
                sizes[name] = {"rows": len(part), "tokens": len(part.tokens)}
            else:
                scored = int((part.targets != PADDING).sum())
                sizes[name] = {"rows": len(part.tokens), "scored": scored}
        return sizes
