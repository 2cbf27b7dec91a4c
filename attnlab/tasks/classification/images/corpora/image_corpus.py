"""Labelled images, and the base class of their corpora."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from attnlab.tasks.classification.corpora.corpus import Corpus
from attnlab.tasks.text_corpus import ReadCorpus


class LabelledImage(NamedTuple):
    """An image and its class."""

    name: str  # such as its file name
    pixels: np.ndarray  # (height, width, channels) uint8, of one shape in a corpus
    label: str  # the name of its class

    def key(self, ignore_case: bool = False) -> str:
        """Return a key that is equal for images with equal pixels."""
        return hashlib.blake2b(self.pixels.tobytes(), digest_size=16).hexdigest()


class ImageCorpus(ReadCorpus, Corpus):
    """A corpus of images of one shape; `open` of a subclass calls `set_items`."""

    noun: ClassVar[str] = "image"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of all images, known before the corpus is opened."""
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
    """Make labelled images of a part from arrays; their names are `test 17`, from 0."""
    return [
        LabelledImage(f"{part} {number}", image, classes[label])
        for number, (image, label) in enumerate(zip(pixels, labels.tolist(), strict=True))
    ]
