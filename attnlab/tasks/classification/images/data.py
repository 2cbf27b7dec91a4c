"""Labelled images: what is learned from and tested on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnlab.tasks.classification.data import LabelledItems
from attnlab.tasks.classification.images.baselines import MOST_IMAGES, image_baselines


@dataclass(frozen=True, eq=False)
class LabelledImages(LabelledItems):
    """Images with classes; `parts` are of `ImagePart`."""

    noun: ClassVar[str] = "image"

    @property
    def longest(self) -> int:
        """Pixels of an image."""
        _, height, width, _ = self.parts["train"].pixels.shape
        return height * width

    def baselines(self, part: str) -> dict[str, np.ndarray]:
        """Probabilities (N, C) of a part's images by rules that need no network."""
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
