"""Arrays in files that grow block by block; a killed process loses its latest block at most."""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_json, write_json


class GrowingArrays:
    """Named arrays of one dimension, to which blocks are added.

    NAME.json says what is complete, and NAME.ARRAY has the numbers of an array. What a killed
    process wrote after its last complete block is removed; if a file is damaged, all are.

    Args:
        folder: the folder of the files.
        name: the start of their names.
        read_only: leave the files as they are; nothing can be added.

    Attributes:
        blocks: number of blocks.
        counts: sums of the counts given to `add`.
    """

    def __init__(self, folder: Path, name: str, *, read_only: bool = False) -> None:
        self._path, self._file = folder / f"{name}.json", folder / name
        self.blocks = 0
        self.counts: Counter[str] = Counter()
        self._types: dict[str, str] = {}
        self._lengths: Counter[str] = Counter()
        with suppress(RequestError, KeyError, TypeError):
            self._read(read_json(self._path))
        for path in [] if read_only else folder.glob(f"{name}.*"):
            array = path.name.removeprefix(f"{name}.")
            if array in self._types:
                os.truncate(path, self._bytes(array))
            elif path != self._path:
                path.unlink()

    def _read(self, known: Mapping[str, Any]) -> None:
        types, lengths = known["types"], known["lengths"]
        sizes = {each: lengths[each] * np.dtype(types[each]).itemsize for each in types}
        files = {each: self._of(each) for each in types}
        if all(path.exists() and path.stat().st_size >= sizes[n] for n, path in files.items()):
            self.blocks, self.counts = known["blocks"], Counter(known["counts"])
            self._types, self._lengths = types, Counter(lengths)

    def _of(self, array: str) -> Path:
        return self._file.with_name(f"{self._file.name}.{array}")

    def _bytes(self, array: str) -> int:
        return self._lengths[array] * np.dtype(self._types[array]).itemsize

    def add(self, arrays: Mapping[str, np.ndarray], **counts: int) -> None:
        """Add a block; its arrays have the names and types of all blocks. Raises `OSError`."""
        for name, array in arrays.items():
            with open(self._of(name), "ab") as file:
                file.write(array.tobytes())
                os.fsync(file.fileno())
            self._types[name] = array.dtype.str
            self._lengths[name] += len(array)
        self.blocks += 1
        self.counts.update(counts)
        state = {"blocks": self.blocks, "types": self._types, "lengths": self._lengths}
        write_json(self._path, {**state, "counts": self.counts})

    def __getitem__(self, array: str) -> np.ndarray:
        """Return an array as a memory map, for reads at random places.

        Raises:
            KeyError: no block has it.
        """
        dtype, size = np.dtype(self._types[array]), self._lengths[array]
        if not size:
            return np.zeros(0, dtype)
        with open(self._of(array), "rb") as file:
            mapped = mmap.mmap(file.fileno(), self._bytes(array), access=mmap.ACCESS_READ)
        if hasattr(mmap, "MADV_RANDOM"):  # otherwise the system reads 128 KiB at each place
            mapped.madvise(mmap.MADV_RANDOM)
        return np.frombuffer(mapped, dtype)
