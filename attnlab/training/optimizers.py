"""Keras optimizers by name, with one vocabulary for their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

_CLASSES = {
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.AdamW,
    "sgd": keras.optimizers.SGD,
    "rmsprop": keras.optimizers.RMSprop,
}
_CLIPPING = {"clip_norm": "global_clipnorm", "clip_value": "clipvalue"}


def make_optimizer(name: str, settings: Mapping[str, Any]) -> keras.Optimizer:
    """The Keras optimizer `name`.

    Args:
        name: adam, adamw, sgd or rmsprop.
        settings: the arguments of the Keras class, and `clip_norm` (the norm of all gradients
            together is cut to it) and `clip_value` (each element is).
    """
    arguments = {_CLIPPING.get(key, key): value for key, value in settings.items()}
    return _CLASSES[name](**arguments)
