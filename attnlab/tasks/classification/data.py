"""The labelled texts or images of a run, by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
