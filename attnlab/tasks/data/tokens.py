"""Tokens on disk: written once into a folder of the cache, then read as memory maps.

A corpus may be larger than memory: `prepare_folder` makes a folder, whose files a `TokenWriter`
writes piece by piece, and `Tokens.open` maps. For a text without sentences only `Tokens.tokens` is
read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError, explained
from attnlab.records.files import write_json

_DIGESTS = "files.json"
_BLOCK = 1 << 20  # tokens that are counted at once, which limits memory
log = logging.getLogger(__name__)


def token_type(size: int) -> np.dtype:
    """Return the type of the tokens of a vocabulary: uint16 for at most 65,536, else int32."""
    return np.dtype("<u2" if size <= 1 << 16 else "<i4")


class Tokens:
    """Rows of tokens, one after the other in a flat array; read-only.

    Attributes:
        tokens: (all tokens,) uint16 or int32, in memory or a memory map.
        offsets: (N + 1,) int64, the start of each row in `tokens`, and the end of the last one.
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray) -> None:
        self.tokens, self.offsets = tokens, offsets

    @classmethod
    def open(cls, path: Path) -> Tokens:
        """Map the files PATH.tokens.bin and PATH.offsets.npy, which a `TokenWriter` wrote."""
        offsets = np.load(f"{path}.offsets.npy", allow_pickle=False)
        if not offsets[-1]:  # an empty file can't be mapped
            return cls(np.zeros(0, token_type(0)), offsets)
        with open(f"{path}.tokens.bin", "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if hasattr(mmap, "MADV_RANDOM"):  # otherwise the system reads 128 KiB at each place
            content.madvise(mmap.MADV_RANDOM)
        dtype = "<u2" if len(content) == 2 * offsets[-1] else "<i4"
        return cls(np.frombuffer(content, dtype), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        """Return the tokens of a row, (length,) int32; none for row -1, which pads a batch."""
        return self.tokens[self.offsets[row] : self.offsets[row + 1]].astype(np.int32)

    @cached_property
    def lengths(self) -> np.ndarray:
        """(N,) int32, the number of tokens of each row."""
        return np.diff(self.offsets).astype(np.int32)

    def counts(self, size: int) -> np.ndarray:
        """Count each token below `size` in all rows: (size,) int64."""
        total = np.zeros(size, np.int64)
        for start in range(0, len(self.tokens), _BLOCK):
            total += np.bincount(self.tokens[start : start + _BLOCK], minlength=size)
        return total

    def pad(self, rows: np.ndarray, width: int | None = None) -> np.ndarray:
        """Return some rows, padded with zeros at the end: (len(rows), width) int32.

        Row number -1 is a row of zeros. The default `width` is that of the longest row.
        """
        rows = np.asarray(rows, np.int64)
        lengths = np.where(rows >= 0, self.lengths[rows], 0)
        longest = int(lengths.max(initial=0))
        width = longest if width is None else width
        if longest > width:
            raise ValueError(f"width: expected at least {longest}, got {width}")
        result = np.zeros((len(rows), width), np.int32)
        is_token = np.arange(width) < lengths[:, None]
        places = np.arange(width) + self.offsets[rows][:, None]
        result[is_token] = self.tokens[places[is_token]]
        return result


class TokenWriter:
    """Appends rows of tokens to PATH.tokens.bin; the end writes PATH.offsets.npy.

    Use it in a `with` statement, in a folder of `prepare_folder`: files of a killed process are
    incomplete. `size`, the number of tokens of the vocabulary, determines their type.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._dtype = path, token_type(size)
        self._file = open(f"{path}.tokens.bin", "wb")
        self._lengths: list[np.ndarray] = []

    def add(self, rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
        """Append rows, and return their tokens one after the other, for counts."""
        tokens, offsets = _flat(rows, self._dtype)
        self._file.write(tokens.tobytes())
        self._lengths.append(np.diff(offsets).astype(np.int32))
        return tokens

    def __enter__(self) -> TokenWriter:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._file.close()
        lengths = np.concatenate([np.zeros(0, np.int32), *self._lengths])
        np.save(f"{self._path}.offsets.npy", _offsets(lengths))


def prepare_folder(folder: Path, make: Callable[[Path], None], what: str) -> str:
    """Make a folder of the cache unless it is there and undamaged; return its SHA-256.

    One process at a time makes a folder; others wait for it. A folder is renamed when it is
    complete; if the process is killed, the next call starts again.

    Args:
        folder: the folder; its name says everything that determines its content.
        make: writes files into an empty folder.
        what: name of the content, for messages.
    """
    import filelock

    try:
        return _checked_digest(folder)
    except RequestError as error:
        if folder.exists():
            log.warning("%s It is made again.", error)
    unfinished = folder.with_name(f".unfinished-{folder.name}")
    with explained(f"paths.data: {what} can't be written to {folder.parent}"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.with_name(f".{folder.name}.lock")):
            with suppress(RequestError):  # another process may have made it meanwhile
                return _checked_digest(folder)
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
            unfinished.mkdir()
            try:
                make(unfinished)
                files = {path.name: _digest(path) for path in sorted(unfinished.iterdir())}
                write_json(unfinished / _DIGESTS, files)
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(unfinished, folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return _checked_digest(folder)


def _checked_digest(folder: Path) -> str:
    """Return the SHA-256 of a folder's files; raise `RequestError` if one is damaged."""
    try:
        files = json.loads((folder / _DIGESTS).read_bytes())
        for name, digest in files.items():
            if _digest(folder / name) != digest:
                raise RequestError(f"{folder / name}: damaged.")
    except (OSError, AttributeError, TypeError, json.JSONDecodeError) as error:
        raise RequestError(f"{folder}: damaged: {error}.") from error
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    state = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _flat(
    rows: Sequence[Sequence[int] | np.ndarray], dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows one after the other, and their offsets."""
    arrays = [np.asarray(row, dtype) for row in rows]
    lengths = np.fromiter(map(len, arrays), np.int32, len(arrays))
    return np.concatenate([np.zeros(0, dtype), *arrays]), _offsets(lengths)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
