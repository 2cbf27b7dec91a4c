"""Items of one part of a labelled corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnlab.text.cleaning import one_line


@dataclass(frozen=True, eq=False)
class TextPart:
    """Texts of one part, all of them N."""

    texts: Sequence[str]  # as they were read
    tokens: np.ndarray  # (N, S) int32, padded with PAD at the end
    labels: np.ndarray  # (N,) int32, numbers of classes
    groups: Sequence[str]  # by which results are also grouped, next to the class; "": none

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> np.ndarray:
        """What models read."""
        return self.tokens

    def identity(self) -> dict[str, np.ndarray]:
        """The column of predictions.csv that says which text it is: on one line, cut if long."""
        return {"text": np.array([one_line(text) for text in self.texts], object)}


@dataclass(frozen=True, eq=False)
class ImagePart:
    """Images of one part, all of them N."""

    names: Sequence[str]  # by which a reader finds them again
    pixels: np.ndarray  # (N, H, W, C) uint8
    labels: np.ndarray  # (N,) int32, numbers of classes

    groups: ClassVar[Sequence[str]] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> np.ndarray:
        """What models read."""
        return self.pixels

    def identity(self) -> dict[str, np.ndarray]:
        """The column of predictions.csv that says which image it is."""
        return {"image": np.array(self.names, object)}
