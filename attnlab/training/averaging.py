"""The mean of several epochs' weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np


def load_average(model: keras.Model, paths: Sequence[Path]) -> None:
    """Give a model the element-wise mean of saved weights, summed in float64.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 6.1, average their last checkpoints.
    Difference: which epochs these are is the caller's choice.

    Args:
        model: a built model; its weights are replaced.
        paths: `.weights.h5` files of such a model, one at least.

    Raises:
        ValueError: no path; as `keras.Model.load_weights` for a file that isn't this model's.
    """
    if not paths:
        raise ValueError("expected one file of weights at least, got none")
    sums = [0.0] * len(model.weights)
    for path in paths:
        model.load_weights(path)
        values = model.get_weights()
        sums = [total + np.asarray(v, np.float64) for total, v in zip(sums, values, strict=True)]
    model.set_weights(
        [(total / len(paths)).astype(v.dtype) for total, v in zip(sums, values, strict=True)]
    )
