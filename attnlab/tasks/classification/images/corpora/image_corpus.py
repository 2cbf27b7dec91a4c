"""A corpus of images with classes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from attnlab.tasks.classification.corpora.corpus import Corpus
from attnlab.tasks.text_corpus import ReadCorpus


class LabelledImage(NamedTuple):
    """An image and its class."""

    name: str  # by which a reader finds it again, such as its file
    pixels: np.ndarray  # (height, width, channels) uint8, of one shape in a corpus
    label: str  # the name of its class

    def key(self, ignore_case: bool = False) -> str:
        """Return what images that count as one share: all their pixels."""
        return hashlib.blake2b(self.pixels.tobytes(), digest_size=16).hexdigest()


class ImageCorpus(ReadCorpus, Corpus):
    """Images of one shape; `open` of the subclass calls `set_items`."""

    noun: ClassVar[str] = "image"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of all its images, known before it is opened."""
        raise NotImplementedError

    def _content(self) -> Any:
        state = hashlib.sha256()
        for part in self.own_parts:
            for name, pixels, label in self.parts[part]:
                state.update(f"{part}\0{name}\0{label}\0{pixels.shape}\0".encode())
                state.update(pixels.tobytes())
        return state.hexdigest()


def numbered(
    part: str, pixels: np.ndarray, labels: np.ndarray, classes: Sequence[str]
) -> list[LabelledImage]:
    """The images of a part whose arrays have no names for them: `test 17`, counted from 0."""
    return [
        LabelledImage(f"{part} {number}", image, classes[label])
        for number, (image, label) in enumerate(zip(pixels, labels.tolist(), strict=True))
    ]
