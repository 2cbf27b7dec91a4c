"""The labelled texts or images of a run, by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import TaskData
from attnlab.tasks.data.corpus import Corpus

_MOST_CLASSES = 12  # with their numbers of items in a note


@dataclass(frozen=True, eq=False)
class LabelledPart:
    """The N items of one part."""

    names: Sequence[str]  # texts as they were read, or names of images
    inputs: np.ndarray  # of models: tokens (N, S) int32, or pixels (N, H, W, C) uint8
    labels: np.ndarray  # (N,) int32, class numbers
    groups: Sequence[str]  # accuracy is also reported for each group; "": no group

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledData(TaskData):
    """A corpus of texts or images.

    Attributes:
        noun: `text` or `image`.
        classes: their names, in the order of their numbers.
        lowercase: whether models, and so baselines, read texts in lower case.
    """

    noun: str
    classes: Sequence[str]
    lowercase: bool = False


def class_names(corpus: Corpus, parts: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the classes in order: by number if all are whole numbers, else by name.

    Raises:
        RequestError: train has only one class, or a later part has a class that train lacks.
    """
    classes, *others = ({corpus.label(item) for item in items} for items in parts.values())
    if len(classes) < 2:
        raise RequestError(
            f"data={corpus.name}: expected {corpus.noun}s of two or more classes in train, got "
            f"only {min(classes)!r}."
        )
    for part, labels in zip([*parts][1:], others, strict=True):
        if labels - classes:
            raise RequestError(
                f"data={corpus.name}, part {part}: expected the classes of train, got "
                f"{min(labels - classes)!r}, too."
            )
    numbers = all(label.removeprefix("-").isdecimal() and len(label) < 100 for label in classes)
    return sorted(sorted(classes), key=int if numbers else None)


def class_note(noun: str, counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return a sentence with `counts`: part -> class -> number of items."""
    *names, last = counts
    cells = [
        f"{label} {'/'.join(str(counts[part][label]) for part in counts)}" for label in counts[last]
    ]
    more = len(cells) - _MOST_CLASSES
    return (
        f"{len(cells):,} classes, with the numbers of {noun}s in {', '.join(names)} and {last}: "
        f"{', '.join(cells[:_MOST_CLASSES])}{f' and {more:,} more' if more > 0 else ''}."
    )


def note_contradictions(corpus: Corpus, key: Callable[[Any], str], ignores_case: bool) -> str:
    """Return a sentence if equal items have different classes, so that no model can be right.

    Args:
        corpus: an opened corpus.
        key: equal for equal items.
        ignores_case: whether the model, and so `key`, reads texts in lower case.
    """
    labels: dict[str, list[str]] = {}
    for item in chain.from_iterable(corpus.parts.values()):
        labels.setdefault(key(item), []).append(corpus.label(item))
    groups = [group for group in labels.values() if len({*group}) > 1]
    if not groups:
        return ""
    return (
        f"{sum(map(len, groups)):,} {corpus.noun}s have an equal one of another class, such as "
        f"{' and '.join(sorted({*groups[0]})[:2])}: check their labels"
        f"{', or set task.lowercase=false if case matters' if ignores_case else ''}."
    )


def word_weights(weights: np.ndarray, is_word: np.ndarray) -> np.ndarray:
    """Return the attention weights of words, (N, H, S): means over the queries.

    If each word is a query, as in self-attention, the queries of padding are left out.

    Args:
        weights: (N, H, T, S).
        is_word: (N, S) bool, False for padding.
    """
    if weights.shape[2] != is_word.shape[1]:
        return weights.mean(axis=2)
    counts = np.maximum(is_word.sum(axis=1), 1)[:, None, None]
    return np.einsum("nhts,nt->nhs", weights, is_word) / counts
