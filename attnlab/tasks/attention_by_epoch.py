"""Where a model looked at each epoch of its run: what the pages of several kinds show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Shown

if TYPE_CHECKING:
    import keras

_MOST_EPOCHS = 30


def looks_by_epoch(run: Shown, items: np.ndarray) -> Iterator[tuple[int, keras.Model, np.ndarray]]:
    """Epochs of a run, the model as it was, and its attention weights on some items, as float32.

    Raises:
        RequestError: it has no weights, or those of no epoch can be read.
    """
    # Once the run's task was asked for, which turns away the notices of TensorFlow.
    from attnlab.training.steps import compiled

    attend = None
    for epoch, model in run.models(_MOST_EPOCHS):
        attend = attend or compiled(model.attend, jit=False)
        weights = attend(items)
        if weights is None:
            raise RequestError(f"{run.run.name}: its model has no attention weights.")
        yield epoch, model, np.asarray(weights, np.float32)
