"""The data of a language model: a stream of tokens, or rows with scored places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnlab.tasks.base import TaskData
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


class ScoredRows(NamedTuple):
    """N windows or rows with the places that are scored: K = T of a window, or K of a row."""

    tokens: np.ndarray  # (N, T) int32
    targets: np.ndarray  # (N, K) int32, `PADDING` where there is nothing to predict
    places: np.ndarray  # (N, K) int32, the place of each target

    @property
    def has_target(self) -> np.ndarray:
        """Where there is a target, (N, K) bool."""
        return self.targets != PADDING

    def at(self, numbers: np.ndarray | slice) -> ScoredRows:
        """Return some of the windows or rows."""
        return ScoredRows(*(array[numbers] for array in self))


@dataclass(frozen=True, eq=False)
class Stream:
    """The text of a part as one sequence of N tokens, which may be on the disk."""

    ids: np.ndarray  # (N,) of the vocabulary's tokenizer
    vocabulary: TextVocabulary  # turns them into the model's tokens
    size: int  # bytes of the text
    context: int  # tokens of a window

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
        sizes = self.sizes[np.maximum(scored.targets, 0)]
        return np.where(scored.has_target, sizes, 0.0).sum(axis=1)

    def scored(self) -> ScoredRows:
        """Return windows that score every token but the first one once."""
        context, count = self.context, len(self) - 1  # targets
        places = np.arange(0, count, context)[:, None] + np.arange(context)
        is_scored = places < count
        places = np.minimum(places, count - 1)
        tokens = self.tokens()
        columns = np.broadcast_to(np.arange(context, dtype=np.int32), places.shape)
        return ScoredRows(tokens[places], np.where(is_scored, tokens[places + 1], PADDING), columns)


class LanguageData(TaskData):
    """The tokens of all parts: `Stream`, `Rows`, or `Tokens` whose masks are drawn in training."""

    def counts(self) -> dict[str, int]:
        """Return the number of tokens per part, or of rows."""
        return {
            name: len(part.tokens if isinstance(part, Rows) else part)
            for name, part in self.parts.items()
        }
