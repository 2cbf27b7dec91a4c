"""Classes of images by rules that need no network."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from attnlab.tasks.classification.baselines import drawn, majority, remembered

if TYPE_CHECKING:
    from attnlab.tasks.classification.images.data import ImagePart

MOST_IMAGES = 10_000  # training images that are searched and fitted
_MOST_STEPS, _TOLERANCE = 200, 1e-3  # of the logistic regression


def image_baselines(
    train: ImagePart, asked: ImagePart, classes: int, key: str
) -> dict[str, np.ndarray]:
    """Probabilities (N, C) of the images of a part, by the name of the baseline.

    Of more than 10,000 training images `logistic_regression` and `nearest` get that many, drawn at
    random; the same images give the same numbers. They are computed once for each `key`, which
    stands for both parts.
    """
    return remembered(key, lambda: _computed(train, asked, classes))


def _computed(train: ImagePart, asked: ImagePart, classes: int) -> dict[str, np.ndarray]:
    rows = drawn(len(train), MOST_IMAGES)
    memory, queries = (_flat(pixels) for pixels in (train.pixels[rows], asked.pixels))
    labels = train.labels[rows]
    return {
        "majority": majority(train.labels, len(asked), classes),
        "logistic_regression": logistic_regression(memory, labels, queries, classes),
        "nearest": nearest(memory, labels, queries, classes),
    }


def logistic_regression(
    memory: np.ndarray, labels: np.ndarray, queries: np.ndarray, classes: int
) -> np.ndarray:
    """Softmax of a linear function of the pixels: (N, C).

    scikit-learn's with its default of L2 regularisation, C = 1, on pixels from 0 to 1, at most 200
    steps. A class without a training image has the probability 0.

    Args:
        memory: (M, pixels), the training images.
        labels: (M,) their classes, two or more.
        queries: (N, pixels).
        classes: how many there are.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=_MOST_STEPS, tol=_TOLERANCE)
    with warnings.catch_warnings():  # one that isn't quite done is a baseline, too
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(memory, labels)
    found = np.zeros((len(queries), classes))
    found[:, model.classes_] = model.predict_proba(queries)
    return found


def nearest(
    memory: np.ndarray, labels: np.ndarray, queries: np.ndarray, classes: int
) -> np.ndarray:
    """The class of the training image at the least Euclidean distance, the first of equals.

    Its probability is (1 + 1 / C) / 2, that of the others 1 / 2C: the one image that was found
    beside one that is of all classes to equal parts. Arguments as of `logistic_regression`.
    """
    from sklearn.metrics import pairwise_distances_argmin

    found = np.full((len(queries), classes), 0.5 / classes)
    best = pairwise_distances_argmin(queries, memory)
    found[np.arange(len(found)), labels[best]] += 0.5
    return found


def _flat(pixels: np.ndarray) -> np.ndarray:
    """Images (N, H, W, C) of bytes as rows of numbers from 0 to 1."""
    return pixels.reshape(len(pixels), -1).astype(np.float32) / 255
