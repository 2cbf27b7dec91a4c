"""Weights files as Keras writes them, in a tenth of the time.

To write one, Keras looks at every attribute of every layer. A model's files differ in the values
alone, so later ones are made of the first, with other values in their places.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import h5py
import keras
import numpy as np

# Bytes of a file per variable in addition to its numbers, at most.
_HDF5_OVERHEAD = 8192
# The first of the numbers that identify variables; no product or sum of one is another's.
_FIRST = 1_000_003


class _Layout(NamedTuple):
    """A model's file: its bytes, and where each variable's values are."""

    content: bytearray
    places: list[tuple[int, int]]  # index in `model.variables`, offset in the file

    def filled(self, values: Sequence[np.ndarray]) -> bytes:
        """The bytes with these values of the variables."""
        for index, offset in self.places:
            own = values[index]
            self.content[offset : offset + own.nbytes] = own.tobytes()
        return bytes(self.content)


class WeightsFiles:
    """The files of weights that a model leaves as it is trained, one after another."""

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        # None if a layer saves something else than its variables as they are.
        self._layout: _Layout | None = None
        self._is_first = True

    def next(self, values: Sequence[np.ndarray], scratch: Path) -> bytes:
        """Return what `model.save_weights` writes if the variables have these values.

        Args:
            values: of `model.variables`.
            scratch: a file that may be written; it is removed.

        Raises:
            OSError: The file can't be written.
        """
        try:
            if self._is_first:
                self._layout = _layout(self._model, scratch)
                self._is_first = False
            if self._layout is None:
                return _saved(self._model, values, scratch)
            return self._layout.filled(values)
        finally:
            scratch.unlink(missing_ok=True)


def _layout(model: keras.Model, path: Path) -> _Layout | None:
    """Find where values are by a file in which all values of a variable are its number."""
    variables = model.variables
    numbers = [np.full(each.shape, _FIRST + n, each.dtype) for n, each in enumerate(variables)]
    content = bytearray(_saved(model, numbers, path))
    places: list[tuple[int, int]] = []

    def note(name: str, found: h5py.Group | h5py.Dataset) -> None:
        if isinstance(found, h5py.Dataset) and found.size and found.id.get_offset() is not None:
            places.append((int(found[(0,) * found.ndim]) - _FIRST, found.id.get_offset()))

    with h5py.File(path) as file:
        file.visititems(note)
    layout = _Layout(content, places)
    known = all(0 <= index < len(variables) for index, _ in places)
    values = [np.asarray(variable) for variable in variables]
    return layout if known and layout.filled(values) == _saved(model, values, path) else None


def _saved(model: keras.Model, values: Sequence[np.ndarray], path: Path) -> bytes:
    """The file that Keras writes; raises `OSError`, of which HDF5 has several kinds."""
    size = 4 * model.count_params() + _HDF5_OVERHEAD * (len(model.weights) + 1)
    if shutil.disk_usage(path.parent).free < size:  # HDF5 may crash where it finds that out itself
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    try:
        with keras.StatelessScope(list(zip(model.variables, values, strict=True))):
            model.save_weights(path)
    except (OSError, RuntimeError) as error:
        found = re.search(r"errno = (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found.group(1)), os.strerror(int(found.group(1)))) from error
    return path.read_bytes()


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
