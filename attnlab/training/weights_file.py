"""Write weights files in Keras's format in a tenth of Keras's time.

Keras visits every attribute of every layer to write a file. The files of a model differ only in
their values, so later files are copies of the first one with other values inserted.
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

# The most bytes of a file, per variable, that are not values.
_HDF5_OVERHEAD = 8192
# The first of the values that identify variables in the probe file.
_FIRST = 1_000_003


class _Layout(NamedTuple):
    """A model's weights file: its bytes, and the offset of each variable's values."""

    content: bytearray
    places: list[tuple[int, int]]  # index in `model.variables`, offset in the file

    def fill(self, values: Sequence[np.ndarray]) -> bytes:
        """Return the file's bytes with these values of the variables."""
        for index, offset in self.places:
            value = values[index]
            self.content[offset : offset + value.nbytes] = value.tobytes()
        return bytes(self.content)


class WeightsFiles:
    """Makes the weights files of a model, one per epoch."""

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        # None if a layer saves more than its variables, or other values: Keras writes each file.
        self._layout: _Layout | None = None
        self._is_first = True

    def next(self, values: Sequence[np.ndarray], scratch: Path) -> bytes:
        """Return the bytes that `model.save_weights` would write for these values.

        Args:
            values: of `model.variables`.
            scratch: path of a temporary file, which is removed.

        Raises:
            OSError: The file can't be written.
        """
        try:
            if self._is_first:
                self._layout = _layout(self._model, scratch)
                self._is_first = False
            if self._layout is None:
                return _saved(self._model, values, scratch)
            return self._layout.fill(values)
        finally:
            scratch.unlink(missing_ok=True)


def _layout(model: keras.Model, path: Path) -> _Layout | None:
    """Find the offsets of values, with a file in which each variable has its own number."""
    variables = model.variables
    numbers = [np.full(v.shape, _FIRST + n, v.dtype) for n, v in enumerate(variables)]
    content = bytearray(_saved(model, numbers, path))
    places: list[tuple[int, int]] = []

    def note(name: str, part: h5py.Group | h5py.Dataset) -> None:
        if isinstance(part, h5py.Dataset) and part.size and part.id.get_offset() is not None:
            places.append((int(part[(0,) * part.ndim]) - _FIRST, part.id.get_offset()))

    with h5py.File(path) as file:
        file.visititems(note)
    layout = _Layout(content, places)
    are_variables = all(0 <= index < len(variables) for index, _ in places)
    values = [np.asarray(variable) for variable in variables]
    return layout if are_variables and layout.fill(values) == _saved(model, values, path) else None


def _saved(model: keras.Model, values: Sequence[np.ndarray], path: Path) -> bytes:
    """Return the bytes of the file that Keras writes; raises `OSError`, also for HDF5's errors."""
    size = 4 * model.count_params() + _HDF5_OVERHEAD * (len(model.weights) + 1)
    if shutil.disk_usage(path.parent).free < size:  # HDF5 may crash on a full disk
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    try:
        with keras.StatelessScope(list(zip(model.variables, values, strict=True))):
            model.save_weights(path)
    except (OSError, RuntimeError) as error:
        match = re.search(r"errno = (\d+)", str(error))
        if match is None:
            raise
        raise OSError(int(match.group(1)), os.strerror(int(match.group(1)))) from error
    return path.read_bytes()
