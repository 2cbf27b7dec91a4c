"""Files that are either the old version or the new one, at whatever moment a run is killed.

Writing raises `OSError` where a file can't be written, reading `RequestError` where it is missing
or damaged.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError

if TYPE_CHECKING:
    import numpy as np

_numbers = itertools.count()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Hand out a temporary path beside `path`, and put it in the place of `path` at the end.

    The file is synced to disk before it is renamed. When the body raises, `path` stays as it was.
    The temporary name ends like `path`, because Keras and matplotlib choose a format by it.
    """
    temporary = path.with_name(f".tmp-{os.getpid()}-{next(_numbers)}-{path.name}")
    try:
        yield temporary
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with the line ends it has, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON for any reader: indented, with null for NaN and infinities.

    NumPy scalars and arrays become numbers and lists, paths become text.

    Raises:
        TypeError: Something in `data` has no form in JSON.
    """
    write_text(path, json.dumps(_plain(data), indent=2, ensure_ascii=False) + "\n")


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns, arrays (N,) or sequences, as CSV; numbers read back to the same value.

    Raises:
        ValueError: The columns differ in length.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{path.name}: expected columns of one length, got {lengths}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    write_text(path, text.getvalue())


def read_table(path: Path, text: Collection[str] = ()) -> dict[str, np.ndarray]:
    """The columns of a CSV: int64 or float64 where all cells are such numbers, else text.

    Columns of `text` are text even where they look like numbers.
    """
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        columns = list(zip(*rows, strict=True)) or [()] * len(header)
        cells = dict(zip(header, columns, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise RequestError(f"{path}: damaged or missing: {error}.") from error
    return {name: _array(column, name in text) for name, column in cells.items()}


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise RequestError(f"{path}: missing, so the run folder is damaged.") from error
    except (OSError, ValueError) as error:
        raise RequestError(f"{path}: damaged: {error}.") from error
    if not isinstance(data, dict):
        raise RequestError(f"{path}: damaged: expected an object.")
    return data


def table_row(cells: Iterable[Any]) -> str:
    """One line of CSV, with its line end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(list(cells))
    return text.getvalue()


def _array(cells: Sequence[str], as_text: bool) -> np.ndarray:
    import numpy as np

    for dtype in () if as_text else (np.int64, np.float64):
        try:
            return np.array(cells, dtype=dtype)
        except ValueError:
            continue
    return np.array(cells, dtype=str)


def _cells(column: Sequence[Any]) -> list[Any]:
    """The column's values as the csv module writes them best: shortest text that reads back."""
    dtype = getattr(column, "dtype", None)
    if dtype is None:
        return list(column)
    if dtype.kind == "f" and dtype.itemsize < 8:
        return column.astype(str).tolist()  # type: ignore[attr-defined]
    return column.tolist()  # type: ignore[attr-defined]


def _plain(data: Any) -> Any:
    """`data` in types that JSON knows."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple | set | frozenset):
        return [_plain(value) for value in data]
    if hasattr(data, "tolist"):
        return _plain(data.tolist())
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, os.PathLike):
        return os.fspath(data)
    return data
