"""How right a classifier is, and how right it is about how sure it may be.

Labels are numbers of classes, (N,); probabilities are (N, C), a row for each text. Where classes
are equally probable, the first of them is the prediction. Where a probability isn't finite, neither
is what is reckoned from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BINS = 15
# The precision of the float32 in which networks answer: theirs can be 0 by rounding alone.
SMALLEST = float(np.finfo(np.float32).eps)


class Bins(NamedTuple):
    """Texts by how sure the model was of them: an entry for each bin, empty ones too."""

    counts: np.ndarray  # (B,) texts
    confidence: np.ndarray  # (B,) mean probability of the predicted class; NaN where there is none
    accuracy: np.ndarray  # (B,) share of them that is right; NaN where there is none


def scores(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """All measures by the names that metrics.json has; see each of them."""
    predicted = probabilities.argmax(axis=1)
    return {
        "accuracy": accuracy(labels, predicted),
        "macro_f1": macro_f1(labels, predicted),
        "log_loss": log_loss(labels, probabilities),
        "brier": brier(labels, probabilities),
        "calibration_error": calibration_error(probabilities.max(axis=1), predicted == labels),
    }


def accuracy(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The share of texts whose predicted class is the right one, from 0 to 1."""
    return float(np.mean(labels == predicted))


def macro_f1(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The mean over classes of F1 = 2 TP / (2 TP + FP + FN), from 0 to 1: scikit-learn's.

    Each class counts the same, however rare. A class that no text has and none is said to have is
    left out of the mean; one of the two alone makes its F1 0.
    """
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predicted, average="macro", zero_division=0.0))


def log_loss(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """The mean of -ln p(right class) in nats: scikit-learn's, of clipped probabilities.

    Probabilities are raised to 1.2e-7, float32's precision, where they are below it, and each row
    is divided by its sum: no text costs more than 16 nats, whether a model says 0 or next to it.
    """
    from sklearn.metrics import log_loss as mean_log_loss

    if not np.isfinite(probabilities).all():
        return float("nan")
    clipped = np.clip(np.asarray(probabilities, np.float64), SMALLEST, None)
    clipped /= clipped.sum(axis=1, keepdims=True)
    if clipped.shape[1] == 1:
        return 0.0
    return float(mean_log_loss(labels, clipped, labels=np.arange(clipped.shape[1])))


def brier(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """The mean over texts of sum_c (p_c - [c is right])^2, from 0 to 2.

    Brier 1950, "Verification of forecasts expressed in terms of probability", equation 2. Of two
    classes it is twice the number that counts one of them alone.
    """
    missed = np.array(probabilities, np.float64)
    missed[np.arange(len(labels)), labels] -= 1.0
    return float(np.mean(np.sum(missed**2, axis=1)))


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error: sum_b |B_b| / N |accuracy(B_b) - confidence(B_b)|, 0 to 1.

    Guo et al. 2017, "On calibration of modern neural networks" (arXiv 1706.04599), equation 3, with
    their 15 bins of equal width.

    Args:
        confidence: (N,) largest probability of each text.
        right: (N,) bool, whether the class that has it is the right one.
    """
    found = calibration_bins(confidence, right)
    distances = np.abs(found.accuracy - found.confidence)
    return float(np.sum(np.where(found.counts > 0, found.counts * distances, 0.0)) / len(right))


def calibration_bins(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> Bins:
    """Texts by the bin ((b - 1) / B, b / B] that holds their confidence."""
    borders = np.linspace(0, 1, bins + 1)[1:-1]
    numbers = np.digitize(np.asarray(confidence, np.float64), borders, right=True)
    counts = np.bincount(numbers, minlength=bins)
    sums = (np.bincount(numbers, each, minlength=bins) for each in (confidence, right))
    with np.errstate(invalid="ignore"):
        return Bins(counts, *(each / counts for each in sums))


def confusion(labels: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """(C, C) how many texts of the class of a row are said to be of the class of a column."""
    from sklearn.metrics import confusion_matrix

    return confusion_matrix(labels, predicted, labels=np.arange(classes))
