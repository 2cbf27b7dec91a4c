"""Images of one part of a labelled corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True, eq=False)
class ImagePart:
    """Images of one part, all of them N."""

    names: Sequence[str]  # by which a reader finds them again
    pixels: np.ndarray  # (N, H, W, C) uint8
    labels: np.ndarray  # (N,) int32, numbers of classes

    groups: ClassVar[Sequence[str]] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def identity(self) -> dict[str, np.ndarray]:
        """The columns of predictions.csv that say which image it is."""
        return {"image": np.array(self.names, object)}
