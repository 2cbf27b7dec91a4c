"""Rows of tokens of different lengths in one flat array, in a file that is mapped into memory."""

from __future__ import annotations

import io
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np

# Tokens that are counted together, so that those of a large file never fill the memory.
_BLOCK = 2**20


class Ragged:
    """Rows of tokens behind each other; read-only, and in memory only as far as they were used.

    Attributes:
        tokens: (all tokens,) uint16 or int32.
        offsets: (N + 1,) int64, where each row begins in `tokens`, and where the last one ends.
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        self.tokens, self.offsets = tokens, offsets

    @classmethod
    def open(cls, path: Path) -> Ragged:
        """Map what a `RaggedWriter` wrote under this name.

        Raises:
            OSError: a file can't be read.
            ValueError: a file is no array.
        """
        tokens = np.load(_tokens_file(path), mmap_mode="r", allow_pickle=False)
        return cls(tokens, np.load(_offsets_file(path), mmap_mode="r", allow_pickle=False))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        """(length,) int32, the tokens of a row; none for row -1, which fills up a batch.

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
        """(N,) int32, the tokens of each row."""
        return np.diff(self.offsets).astype(np.int32)

    def counts(self, size: int) -> np.ndarray:
        """(size,) int64, how often each token below `size` occurs in all rows."""
        blocks = range(0, len(self.tokens), _BLOCK)
        found = (np.bincount(self.tokens[i : i + _BLOCK], minlength=size) for i in blocks)
        return sum(found, np.zeros(size, np.int64))

    def padded(self, rows: np.ndarray, width: int | None = None) -> np.ndarray:
        """(len(rows), width) int32: some rows, with zeros behind each.

        Args:
            rows: (B,) row numbers; -1 is a row of zeros.
            width: of the result, at least the longest row's length; None takes that.

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


class RaggedWriter:
    """Writes rows to a file as they come, in bounded memory; for a `with` block.

    Args:
        path: what the files' names begin with.
        size: the vocabulary's size; numbers below 65,537 tokens take two bytes each.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.dtype = path, np.dtype("<u2" if size <= 1 << 16 else "<i4")
        self._lengths: list[np.ndarray] = []
        self._count = 0

    def __enter__(self) -> RaggedWriter:
        self._file = open(_tokens_file(self.path), "wb")
        self._file.write(_header(self.dtype, 0))
        return self

    def add(self, tokens: np.ndarray, lengths: np.ndarray) -> None:
        """Write some more rows.

        Args:
            tokens: (sum of lengths,) of all of them.
            lengths: (rows,).
        """
        self._file.write(np.asarray(tokens, self.dtype).tobytes())
        self._lengths.append(np.asarray(lengths, np.int32))
        self._count += len(tokens)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._file:
            if kind is not None:
                return
            self._file.seek(0)
            self._file.write(_header(self.dtype, self._count))
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.int32)
        offsets = np.zeros(len(lengths) + 1, "<i8")
        np.cumsum(lengths, out=offsets[1:])
        np.save(_offsets_file(self.path), offsets)


def _tokens_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.tokens.npy")


def _offsets_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.offsets.npy")


def _header(dtype: np.dtype, count: int) -> bytes:
    """The start of a .npy file; NumPy leaves room in it, so it is as long for any count."""
    content = io.BytesIO()
    description = {"descr": dtype.str, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(content, description)
    return content.getvalue()
