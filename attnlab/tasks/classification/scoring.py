"""What learners of texts and of images share: scores on validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def validation_scores(
    loss: Callable[[Any, Any], Any], labels: np.ndarray, logits: np.ndarray
) -> dict[str, float]:
    """`val_loss`, the mean of `loss(labels, logits)` over all items, and `val_accuracy`."""
    losses = np.asarray(loss(labels, logits), np.float64)
    accuracy = np.mean(logits.argmax(axis=-1) == labels)
    return {"val_loss": float(losses.mean()), "val_accuracy": float(accuracy)}
