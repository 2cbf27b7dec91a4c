"""What learners of texts and of images share: scores on validation, examples to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_EXAMPLES = 8  # test items whose attention is kept: as many wrong ones as there are, up to half


def validation_scores(
    loss: Callable[[Any, Any], Any], labels: np.ndarray, logits: np.ndarray
) -> dict[str, float]:
    """`val_loss`, the mean of `loss(labels, logits)` over all items, and `val_accuracy`."""
    losses = np.asarray(loss(labels, logits), np.float64)
    accuracy = np.mean(logits.argmax(axis=-1) == labels)
    return {"val_loss": float(losses.mean()), "val_accuracy": float(accuracy)}


def chosen_examples(right: np.ndarray) -> np.ndarray:
    """Places of test items, at equal distances: half of them wrong where so many are.

    `right` (N,) says which items were classified rightly.
    """
    kinds = [np.flatnonzero(~right), np.flatnonzero(right)]
    wrong = min(len(kinds[0]), _EXAMPLES // 2)
    counts = [wrong, min(len(kinds[1]), _EXAMPLES - wrong)]
    spread = [
        places[np.linspace(0, len(places) - 1, count).astype(int)]
        for places, count in zip(kinds, counts, strict=True)
        if count
    ]
    return np.sort(np.concatenate(spread))
