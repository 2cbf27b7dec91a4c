"""What Keras doesn't promise to keep as it is; seen in 3.12 to 3.15."""

from __future__ import annotations


def keras_mask(tensor):
    """The mask that Keras let a tensor carry, (B, T) bool; None where it carries none.

    What Keras hands to `compute_mask` won't do: an argument named `mask` takes its place there.
    """
    return getattr(tensor, "_keras_mask", None)
