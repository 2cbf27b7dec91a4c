"""The texts or images of one part of a labelled corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnlab.text.cleaning import one_line


@dataclass(frozen=True, eq=False)
class TextPart:
    """The N texts of one part."""

    texts: Sequence[str]  # as they were read
    tokens: np.ndarray  # (N, S) int32, padded with PAD at the end
    labels: np.ndarray  # (N,) int32, class numbers
    groups: Sequence[str]  # accuracy is also reported for each group; "": no group

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> np.ndarray:
        """The input of models."""
        return self.tokens

    def identity(self) -> dict[str, np.ndarray]:
        """Return the column of predictions.csv that identifies texts: one line each, shortened."""
        return {"text": np.array([one_line(text) for text in self.texts], object)}


@dataclass(frozen=True, eq=False)
class ImagePart:
    """The N images of one part."""

    names: Sequence[str]  # such as file names
    pixels: np.ndarray  # (N, H, W, C) uint8
    labels: np.ndarray  # (N,) int32, class numbers

    groups: ClassVar[Sequence[str]] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> np.ndarray:
        """The input of models."""
        return self.pixels

    def identity(self) -> dict[str, np.ndarray]:
        """Return the column of predictions.csv that identifies images."""
        return {"image": np.array(self.names, object)}
