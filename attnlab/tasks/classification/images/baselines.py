"""Baselines of image classification without neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnlab.tasks.classification.baselines import drawn, logistic_regression, majority, remembered

if TYPE_CHECKING:
    from attnlab.tasks.classification.part import ImagePart

MOST_IMAGES = 10_000  # training images that the baselines are fitted on
_MOST_STEPS = 200  # of the logistic regression


def image_baselines(
    train: ImagePart, asked: ImagePart, classes: int, key: str
) -> dict[str, np.ndarray]:
    """Return each baseline's probabilities (N, C) for the images of a part, by its name.

    `logistic_regression` sees pixels from 0 to 1 and takes at most 200 steps. Of more than 10,000
    training images, it and `nearest` get 10,000, drawn at random. Equal images give equal numbers.
    A cache has the results by `key`, which identifies both parts.
    """
    return remembered(key, lambda: _computed(train, asked, classes))


def _computed(train: ImagePart, asked: ImagePart, classes: int) -> dict[str, np.ndarray]:
    rows = drawn(len(train), MOST_IMAGES)
    memory, queries = (_flat(pixels) for pixels in (train.pixels[rows], asked.pixels))
    labels, shares = train.labels[rows], majority(train.labels, len(asked), classes)
    fitted = logistic_regression(memory, labels, queries, classes, _MOST_STEPS, shares)
    return {
        "majority": shares,
        "logistic_regression": fitted,
        "nearest": nearest(memory, labels, queries, classes),
    }


def nearest(
    memory: np.ndarray, labels: np.ndarray, queries: np.ndarray, classes: int
) -> np.ndarray:
    """Predict the class of the training image at the smallest Euclidean distance.

    The first of equally near images counts. Its class has the probability (1 + 1 / C) / 2, the
    others 1 / 2C: the mean of this image and a uniform distribution.

    Args:
        memory: (M, pixels), the training images.
        labels: (M,) their classes.
        queries: (N, pixels).
        classes: the number of classes.
    """
    from sklearn.metrics import pairwise_distances_argmin

    found = np.full((len(queries), classes), 0.5 / classes)
    best = pairwise_distances_argmin(queries, memory)
    found[np.arange(len(found)), labels[best]] += 0.5
    return found


def _flat(pixels: np.ndarray) -> np.ndarray:
    """Flatten images (N, H, W, C) of bytes to rows of numbers from 0 to 1."""
    return pixels.reshape(len(pixels), -1).astype(np.float32) / 255
