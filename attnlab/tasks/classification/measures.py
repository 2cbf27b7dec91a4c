"""Measures of classifiers: accuracy, F1, log loss, Brier score, calibration.

Labels are class numbers, (N,); probabilities are (N, C), a row per text. If several classes have
the largest probability, the first is the prediction. NaN and infinity in probabilities also appear
in the measures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BINS = 15
# The precision of float32, in which networks compute: rounding can make their probabilities 0.
SMALLEST = float(np.finfo(np.float32).eps)


class Bins(NamedTuple):
    """Texts in bins of confidence: an entry per bin, also for empty bins."""

    counts: np.ndarray  # (B,) texts
    confidence: np.ndarray  # (B,) mean probability of the predicted class; NaN if empty
    accuracy: np.ndarray  # (B,) share of correct predictions; NaN if empty


def scores(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Return all measures by their names in metrics.json."""
    predicted = probabilities.argmax(axis=1)
    return {
        "accuracy": accuracy(labels, predicted),
        "macro_f1": macro_f1(labels, predicted),
        "log_loss": log_loss(labels, probabilities),
        "brier": brier(labels, probabilities),
        "calibration_error": calibration_error(probabilities.max(axis=1), predicted == labels),
    }


def accuracy(labels: np.ndarray, predicted: np.ndarray) -> float:
    """Return the share of correct predictions, from 0 to 1."""
    return float(np.mean(labels == predicted))


def macro_f1(labels: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean over classes of F1 = 2 TP / (2 TP + FP + FN), from 0 to 1: scikit-learn's.

    Each class has the same weight, also rare ones. The mean leaves out a class that is neither a
    label nor a prediction; one that is only one of the two has F1 0.
    """
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predicted, average="macro", zero_division=0.0))


def log_loss(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the mean of -ln p(label) in nats: scikit-learn's, with clipped probabilities.

    Probabilities below 1.2e-7, the precision of float32, are raised to it, and each row is divided
    by its sum, so that no text contributes more than 16 nats.
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
    """Return the mean over texts of sum_c (p_c - [c is the label])^2, from 0 to 2.

    Brier 1950, "Verification of forecasts expressed in terms of probability", equation 2. For two
    classes it is twice the score that uses the probability of only one class.
    """
    missed = np.array(probabilities, np.float64)
    missed[np.arange(len(labels)), labels] -= 1.0
    return float(np.mean(np.sum(missed**2, axis=1)))


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error, sum_b |B_b| / N |accuracy(B_b) - confidence(B_b)|.

    It is from 0 to 1. Guo et al. 2017, "On calibration of modern neural networks" (arXiv
    1706.04599), equation 3, with their 15 bins of equal width.

    Args:
        confidence: (N,) largest probability of each text.
        right: (N,) bool, whether the class with this probability is the label.
    """
    found = calibration_bins(confidence, right)
    distances = np.abs(found.accuracy - found.confidence)
    return float(np.sum(np.where(found.counts > 0, found.counts * distances, 0.0)) / len(right))


def calibration_bins(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> Bins:
    """Sort texts into the bins ((b - 1) / B, b / B] by their confidence."""
    borders = np.linspace(0, 1, bins + 1)[1:-1]
    numbers = np.digitize(np.asarray(confidence, np.float64), borders, right=True)
    counts = np.bincount(numbers, minlength=bins)
    sums = (np.bincount(numbers, each, minlength=bins) for each in (confidence, right))
    with np.errstate(invalid="ignore"):
        return Bins(counts, *(each / counts for each in sums))


def confusion(labels: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Count texts by label (row) and predicted class (column), (C, C)."""
    from sklearn.metrics import confusion_matrix

    return confusion_matrix(labels, predicted, labels=np.arange(classes))
