"""Checkpoints, from which a killed run resumes; a digest shows whether one is intact."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records import files

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)
_MAGIC = b"attnlab checkpoint 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_BLOCK = 1 << 20
# The second newest stays in case the newest is damaged.
_KEPT = 2


class Checkpoint(NamedTuple):
    """The content of a checkpoint."""

    state: dict[str, Any]  # JSON-ready; NaN and infinities included
    arrays: list[np.ndarray]  # in the order in which they were saved


class Checkpoints:
    """The checkpoints of a folder: files `step_000000123.ckpt` of magic, state, arrays, SHA-256."""

    def __init__(self, folder: Path):
        self._folder = Path(folder)

    def save(self, step: int, state: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> None:
        """Write a checkpoint, and remove all but the newest two.

        It replaces a checkpoint of the same step. `state` is JSON-ready. Raises `OSError` if it
        can't be written; then the earlier checkpoints stay.
        """
        with files.replacing(self._folder / f"step_{step:09d}.ckpt") as temporary:
            with open(temporary, "w+b") as stream:
                _write(stream, state, arrays)
        self.keep(_KEPT)

    def keep(self, count: int) -> None:
        """Remove all but the `count` newest; raises `OSError`."""
        for path in self._paths()[:-count]:
            path.unlink(missing_ok=True)

    def newest(self) -> Checkpoint | None:
        """Return the newest intact checkpoint; None if there is none.

        Damaged ones are renamed to `damaged_...`, with a warning. Raises `RequestError` if a file
        can't be read, because it may be intact.
        """
        for path in reversed(self._paths()):
            try:
                return _read(path)
            except ValueError as error:
                _log.warning("%s: damaged (%s); the checkpoint before it is used", path, error)
                path.replace(path.with_name(f"damaged_{path.name}"))
            except OSError as error:
                raise RequestError(f"{path}: can't be read ({error.strerror or error}).") from error
        return None

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("step_*.ckpt"))


def _write(stream: IO[bytes], state: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> None:
    import numpy as np

    stream.write(_MAGIC)
    stream.write(json.dumps({**state, "arrays": len(arrays)}).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    stream.write(_digest(stream, stream.tell()))


def _read(path: Path) -> Checkpoint:
    """Return a checkpoint; raises `ValueError` if it is damaged."""
    import numpy as np

    with open(path, "rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it does not start like a checkpoint")
        digest = _digest(stream, stream.seek(0, 2) - _DIGEST_SIZE)
        if stream.read() != digest:
            raise ValueError("its digest differs from its content")
        stream.seek(len(_MAGIC))
        state = json.loads(stream.readline())
        count = state.pop("arrays")
        arrays = [np.lib.format.read_array(stream, allow_pickle=False) for _ in range(count)]
    return Checkpoint(state, arrays)


def _digest(stream: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of a file's first bytes, and leave the stream after them."""
    stream.seek(0)
    sha256 = hashlib.sha256()
    while (left := size - stream.tell()) > 0:
        sha256.update(stream.read(min(_BLOCK, left)))
    return sha256.digest()
