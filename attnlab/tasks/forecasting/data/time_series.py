"""A series of numbers in the order of time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from attnlab.tasks.forecasting.data.writing.layout import Layout


@dataclass(frozen=True)
class TimeSeries:
    """Equally spaced numbers, oldest first, and others that are known up to the same time."""

    values: np.ndarray  # (n,) float64, in natural units
    times: list[str]  # one label a value; the position as text where the source has no times
    name: str  # what the numbers are, such as the column's name
    source: str  # where they come from
    inputs: np.ndarray | None = None  # (n, K) float64 of K other columns
    step: str | None = None  # from each time to the next, as pandas names it
    filled: np.ndarray | None = None  # (n,) bool: interpolated, here or in an input; None: none
    notes: tuple[str, ...] = ()  # what was done to the file's rows, a sentence each
    ids: tuple[str, ...] = ()  # which of several series in one file it is: a text a column
    layout: Layout = Layout()  # of the file

    @property
    def id(self) -> str:
        """Its ids as one text; "" if it is the only series."""
        return "/".join(self.ids)

    @property
    def columns(self) -> np.ndarray:
        """The values and the inputs, (n, 1 + K)."""
        return np.column_stack([self.values, *([] if self.inputs is None else self.inputs.T)])


def digest(*arrays: np.ndarray) -> str:
    """SHA-256 over the arrays' values as little-endian float64 bytes, in the order given."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return state.hexdigest()
