"""The labelled texts and images of a run, by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from attnlab.tasks.base import TaskData
from attnlab.tasks.classification.baselines import MOST_TEXTS, baselines
from attnlab.tasks.classification.images.baselines import MOST_IMAGES, image_baselines

_MOST_CLASSES = 12  # classes that are listed before training


@dataclass(frozen=True, eq=False)
class LabelledItems(TaskData):
    """A corpus of texts or images, as the runner and the report see it; see `TaskData`."""

    name: str
    source: str
    digest: str
    classes: Sequence[str]  # names, in the order of their numbers
    parts: Mapping[str, Any]  # `train`, `validation`, `test`
    said: Sequence[str] = ()  # notes on how the items were read
    # items of each part that were left out because a later part also has them
    left_out: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    noun: ClassVar[str]

    def counts(self) -> dict[str, int]:
        """Return the number of items of each part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Return the number of items of each class, by part."""
        counted = {name: Counter(part.labels.tolist()) for name, part in self.parts.items()}
        return {
            name: {label: count[number] for number, label in enumerate(self.classes)}
            for name, count in counted.items()
        }

    def class_counts(self) -> dict[str, int]:
        """Return the number of training items of each class."""
        return dict(self.describe()["train"])

    def summary(self) -> list[str]:
        """Return notes on the classes and on how the items were read, shown before training."""
        counted = self.describe()
        shown = [
            f"{label} {'/'.join(str(each[label]) for each in counted.values())}"
            for label in self.classes[:_MOST_CLASSES]
        ]
        sizes = counted["train"].values()
        more = len(self.classes) - len(shown)
        rest = f" and {more:,} more, with {min(sizes):,} to {max(sizes):,} in train" if more else ""
        parts = ", ".join([*counted][:-1]) + f" and {[*counted][-1]}"
        head = f"{len(self.classes):,} classes, with the numbers of {self.noun}s in {parts}"
        return [f"{head}: {', '.join(shown)}{rest}.", *self.said]


@dataclass(frozen=True, eq=False)
class LabelledTexts(LabelledItems):
    """Texts with classes; `parts` are of `TextPart`."""

    cut: int = 0  # texts of all parts whose end was cut off
    lowercase: bool = True  # whether models, and so baselines, read them in lower case

    noun: ClassVar[str] = "text"

    @property
    def longest(self) -> int:
        """Number of tokens of the longest training text."""
        return int(self.parts["train"].tokens.shape[1])

    def baselines(self, part: str) -> dict[str, np.ndarray]:
        """Return each baseline's probabilities (N, C) for the texts of a part."""
        train, asked = self.parts["train"], self.parts[part]
        return baselines(train, asked, len(self.classes), lowercase=self.lowercase)

    def notes(self) -> list[str]:
        """What the report should say of the data, a sentence each."""
        notes, count = self.summary(), len(self.parts["train"])
        if self.cut:
            total = sum(self.counts().values())
            notes.append(
                f"The end of {self.cut:,} of the {total:,} texts was cut off for the model; the "
                "baselines saw whole texts."
            )
        if count > MOST_TEXTS:
            notes.append(
                f"The baselines word_counts and nearest got {MOST_TEXTS:,} of the {count:,} "
                "training texts, drawn at random."
            )
        return notes


@dataclass(frozen=True, eq=False)
class LabelledImages(LabelledItems):
    """Images with classes; `parts` are of `ImagePart`."""

    noun: ClassVar[str] = "image"

    @property
    def longest(self) -> int:
        """Number of pixels of an image."""
        _, height, width, _ = self.parts["train"].pixels.shape
        return height * width

    def baselines(self, part: str) -> dict[str, np.ndarray]:
        """Return each baseline's probabilities (N, C) for the images of a part."""
        return image_baselines(
            self.parts["train"], self.parts[part], len(self.classes), f"{self.digest} {part}"
        )

    def notes(self) -> list[str]:
        """What the report should say of the data, a sentence each."""
        count = len(self.parts["train"])
        capped = (
            f"The baselines logistic_regression and nearest got {MOST_IMAGES:,} of the {count:,} "
            "training images, drawn at random."
        )
        return [*self.summary(), *([capped] if count > MOST_IMAGES else [])]
