"""Rows of different lengths in one array, which may be a memory map."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

# Tokens that are counted at once, which limits memory.
_BLOCK = 1 << 20


class Ragged:
    """Rows of different lengths in one flat array; read-only.

    Attributes:
        tokens: (all tokens,) uint16 or int32.
        offsets: (N + 1,) int64, the start of each row in `tokens`, and the end of the last one.
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        self.tokens, self.offsets = tokens, offsets

    @classmethod
    def open(cls, path: Path) -> Ragged:
        """Open the files PATH.tokens.npy and PATH.offsets.npy.

        Raises:
            OSError: a file can't be read.
            ValueError: a file isn't a NumPy array.
        """
        files = f"{path}.tokens.npy", f"{path}.offsets.npy"
        return cls(*(np.load(file, mmap_mode="r", allow_pickle=False) for file in files))

    @classmethod
    def of_lengths(cls, tokens: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Return the rows whose lengths (N,) are known."""
        return cls(tokens, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        """Return the tokens of a row, (length,) int32; none for row -1, which pads a batch.

        Raises:
            IndexError: there is no such row.
        """
        if not -1 <= row < len(self):
            raise IndexError(f"expected a row below {len(self)}, got {row}")
        if row == -1:
            return np.zeros(0, np.int32)
        return self.tokens[self.offsets[row] : self.offsets[row + 1]].astype(np.int32)

    @cached_property
    def lengths(self) -> np.ndarray:
        """(N,) int32, the number of tokens of each row."""
        return np.diff(self.offsets).astype(np.int32)

    def counts(self, size: int) -> np.ndarray:
        """Count each token below `size` in all rows: (size,) int64."""
        blocks = range(0, len(self.tokens), _BLOCK)
        found = (np.bincount(self.tokens[i : i + _BLOCK], minlength=size) for i in blocks)
        return sum(found, np.zeros(size, np.int64))

    def padded(self, rows: np.ndarray, width: int | None = None) -> np.ndarray:
        """Return some rows, padded with zeros at the end: (len(rows), width) int32.

        Row number -1 is a row of zeros. The default `width` is that of the longest row.

        Raises:
            ValueError: a row is longer than `width`.
        """
        rows = np.asarray(rows, np.int64)
        lengths = np.where(rows >= 0, self.lengths[rows], 0)
        longest = int(lengths.max(initial=0))
        width = longest if width is None else width
        if longest > width:
            raise ValueError(f"width: expected at least {longest}, got {width}")
        result = np.zeros((len(rows), width), np.int32)
        inside = np.arange(width) < lengths[:, None]
        at = np.arange(width) + self.offsets[rows][:, None]
        result[inside] = self.tokens[at[inside]]
        return result
