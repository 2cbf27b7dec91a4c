"""A series of numbers in order of time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from attnlab.tasks.forecasting.data.writing.layout import Layout


@dataclass(frozen=True)
class TimeSeries:
    """Equally spaced values, oldest first, and further inputs at the same times."""

    values: np.ndarray  # (n,) float64, in natural units
    times: list[str]  # one label per value; the position as text if the source has no times
    name: str  # what the numbers are, such as the column's name
    source: str  # where they come from
    inputs: np.ndarray | None = None  # (n, K) float64 of K other columns
    step: str | None = None  # from each time to the next, as pandas names it
    filled: np.ndarray | None = None  # (n,) bool: value or input is interpolated; None: no gaps
    notes: tuple[str, ...] = ()  # what was done to the file's rows, in sentences
    ids: tuple[str, ...] = ()  # if a file has several series: one text per id column
    layout: Layout = Layout()  # of the file

    @property
    def id(self) -> str:
        """Return the ids as one text; "" if there is only one series."""
        return "/".join(self.ids)

    @property
    def columns(self) -> np.ndarray:
        """Return the values and the inputs, (n, 1 + K)."""
        return np.column_stack([self.values, *([] if self.inputs is None else self.inputs.T)])


def digest(*arrays: np.ndarray) -> str:
    """Return the SHA-256 of the arrays' values as little-endian float64 bytes, in this order."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return state.hexdigest()
