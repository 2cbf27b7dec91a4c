"""Labelled texts in tokens: what is learned from and tested on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Part:
    """Texts of one part, all of them N."""

    texts: Sequence[str]  # as they were read
    tokens: np.ndarray  # (N, S) int32, padded with PAD at the end
    labels: np.ndarray  # (N,) int32, numbers of classes
    groups: Sequence[str]  # what results are told apart by beside the class; "" where nothing is

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """A corpus as the runner and the report see it; see `TaskData`."""

    name: str
    source: str
    digest: str
    classes: Sequence[str]  # names, in the order of their numbers
    parts: Mapping[str, Part]  # `train`, `validation`, `test`
    cut: int = 0  # texts of all parts of which the end was cut off

    @property
    def longest(self) -> int:
        """Tokens of the longest training text."""
        return int(self.parts["train"].tokens.shape[1])

    def counts(self) -> dict[str, int]:
        """Texts by part."""
        return {name: len(part) for name, part in self.parts.items()}

    def describe(self) -> dict[str, Any]:
        """Texts of each class by part."""
        counted = {name: Counter(part.labels.tolist()) for name, part in self.parts.items()}
        return {
            name: {label: count[number] for number, label in enumerate(self.classes)}
            for name, count in counted.items()
        }
