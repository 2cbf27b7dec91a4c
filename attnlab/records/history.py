"""history.csv: a row per epoch, whole rows only, whenever the run is killed."""

from __future__ import annotations

import csv
import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.records import files


class History:
    """A CSV that grows by rows. The first row decides the columns."""

    def __init__(self, path: Path):
        self._path = path
        self._columns: list[str] | None = None

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row in one write; what an earlier process left of a row is cut off before.

        Raises:
            ValueError: The row has other columns than the first one.
            OSError: The row can't be written; the file is as before.
        """
        if self._columns is None:
            self._columns = _mend(self._path)
        columns, text = self._columns, ""
        if not columns:
            columns, text = list(row), files.table_row(row)
        if set(row) != set(columns):
            raise ValueError(f"{self._path.name}: expected columns {columns}, got {list(row)}")
        text += files.table_row(row[column] for column in columns)
        _append(self._path, text.encode("utf-8"))
        self._columns = columns

    def replace(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write these rows in place of all; raises `OSError`."""
        self._columns = list(rows[0]) if rows else []
        lines = [self._columns, *(list(row.values()) for row in rows)] if rows else []
        files.write_text(self._path, "".join(map(files.table_row, lines)))

    def read(self) -> dict[str, list[float]]:
        """Column to one value a row, `epoch` as whole numbers; a row that was cut off is left out.

        Raises `RequestError` where the file is damaged.
        """
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
            if lines and not lines[-1].endswith("\n"):
                lines.pop()
            header, *rows = csv.reader(lines) if lines else [[]]
            columns = [[float(cell) for cell in column] for column in zip(*rows, strict=True)]
            history = dict(zip(header, columns or [[] for _ in header], strict=True))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise RequestError(f"{self._path}: damaged: {error}.") from error
        if "epoch" in history:
            history["epoch"] = [int(epoch) for epoch in history["epoch"]]
        return history


def _append(path: Path, data: bytes) -> None:
    """Add all of `data` or, on a full disk, nothing."""
    with open(path, "ab", buffering=0) as stream:
        size = stream.tell()
        written = stream.write(data)
        if written != len(data):
            stream.truncate(size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _mend(path: Path) -> list[str]:
    """Cut off what is no whole row at the end; the columns, or [] where there is no header."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    return next(csv.reader(whole.decode("utf-8").splitlines()), [])
