"""What trains a model, as far as its weights go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    import keras


class Trainer(Protocol):
    """What trains a model; `values`, the `variable_values` that it knows itself, may be missing."""

    model: keras.Model


def variable_values(trainer: Trainer) -> list[np.ndarray]:
    """The values of `model.variables`, some of which may not be in them yet."""
    own = getattr(trainer, "values", None)
    return own() if own else [np.array(variable) for variable in trainer.model.variables]
