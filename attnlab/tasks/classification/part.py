"""Texts of one part of a labelled corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def identity(self) -> dict[str, np.ndarray]:
        """The column of predictions.csv that says which text it is: on one line, cut if long."""
        return {"text": np.array([one_line(text) for text in self.texts], object)}
