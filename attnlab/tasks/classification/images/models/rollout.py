"""Attention through all layers at once."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops


def rollout(weights: Sequence):
    """How much of each vector behind the last layer comes from each one before the first.

    `R_0 = I`, `R_l = (W_l / 2 + I / 2) R_(l-1)`, with W_l the mean over the heads, and each row of
    the sum divided by its own sum: half of a vector goes through the residual.

    Source: Abnar and Zuidema 2020 (arXiv 2005.00928), section 3. Difference: nothing.

    Args:
        weights: of each layer (B, H, T, T), the first layer first.

    Returns:
        (B, T, T), rows that sum to 1.
    """
    found = None
    for each in weights:
        mean = ops.mean(ops.cast(each, "float32"), axis=1)
        mixed = 0.5 * (mean + ops.eye(mean.shape[-1], dtype="float32"))
        mixed = mixed / ops.sum(mixed, axis=-1, keepdims=True)
        found = mixed if found is None else ops.matmul(mixed, found)
    return found
