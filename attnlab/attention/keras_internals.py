"""Private interfaces of Keras; seen in 3.12 to 3.15."""

from __future__ import annotations

import keras

from attnlab.attention.functional import Tensor
from attnlab.errors import RequestError

# Keras adds the arguments of a layer's call to the message of an error without this attribute.
RequestError._keras_call_info_injected = True


def keras_mask(tensor: Tensor) -> Tensor | None:
    """Return the mask (B, T) that Keras has attached to a tensor; None if there is none.

    `compute_mask` gets the argument named `mask` instead, so its own argument can't be used.
    """
    return getattr(tensor, "_keras_mask", None)


def all_layers(model: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Return a model and all layers below it, in the order in which Keras finds them."""
    return model._flatten_layers()
