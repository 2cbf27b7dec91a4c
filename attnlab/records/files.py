"""Files that are either the old version or the new one if a run is killed at any moment.

Writing raises `OSError` where a file can't be written, reading `RequestError` where it is missing
or damaged.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from attnlab.errors import RequestError

if TYPE_CHECKING:
    import numpy as np

_numbers = itertools.count()
_LONGEST_CELL = 2**31 - 1  # texts to be classified may be longer than csv's default


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which replaces `path` at the end.

    The file is synced to disk before it is renamed. When the body raises, `path` stays as it was.
    """
    beside = temporary(path)
    try:
        yield beside
        with open(beside, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def temporary(path: Path) -> Path:
    """A path next to `path` that nobody else has; a file that a kill leaves there is ignored.

    It ends like `path`, because Keras and matplotlib choose a format by that.
    """
    return path.with_name(f".tmp-{os.getpid()}-{next(_numbers)}-{path.name}")


def existing_file(path: str | Path, key: str) -> Path:
    """A file that a setting or an option names.

    Raises:
        RequestError: there is none, or it is a folder or a pipe, which can't be read again.
    """
    found = Path(path).expanduser()
    if found.is_file():
        return found
    what = "a folder" if found.is_dir() else "a pipe or device" if found.exists() else "no file"
    raise RequestError(f"{key}: expected a file, got {path}, which is {what}.")


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with the line ends it has, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def json_text(data: Any) -> str:
    """`data` as JSON for any reader: indented, with null for NaN and infinities.

    NumPy scalars and arrays become numbers and lists, paths become text. Raises `TypeError` where
    something in `data` has no form in JSON.
    """
    return json.dumps(_plain(data), indent=2, ensure_ascii=False)


def write_json(path: Path, data: Any) -> None:
    """Write `data` as `json_text` has it, and the end of a line."""
    write_text(path, json_text(data) + "\n")


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns, arrays (N,) or sequences, as CSV; numbers read back to the same value.

    Raises `ValueError` where the columns differ in length.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{path.name}: expected columns of one length, got {lengths}")
    write_text(path, csv_text([columns, *zip(*map(_cells, columns.values()), strict=True)]))


def read_table(path: Path, text: Collection[str] = ()) -> dict[str, np.ndarray]:
    """The columns of a CSV: int64 or float64 where all cells are such numbers, else text.

    Columns of `text` are text even where they look like numbers.
    """
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        columns = list(zip(*rows, strict=True)) or [()] * len(header)
        cells = dict(zip(header, columns, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise RequestError(f"{path}: damaged or missing: {error}.") from error
    finally:
        csv.field_size_limit(limit)
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


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as lines of CSV, each with its line end."""
    lines: list[str] = []
    # Characters of the line end are what `csv` quotes: with another one, \r would not be quoted.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


class History:
    """A CSV that grows by whole rows, such as history.csv. The first row decides the columns."""

    def __init__(self, path: Path):
        self._path = path

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row, in a file that takes the place of the old one as a whole.

        Raises:
            ValueError: The row has other columns than the first one.
            OSError: The row can't be written; the file is as before.
        """
        lines = self._lines()
        columns = next(csv.reader(lines), list(row))
        if set(row) != set(columns):
            raise ValueError(f"{self._path.name}: expected columns {columns}, got {list(row)}")
        header = [] if lines else [columns]
        added = csv_text([*header, [row[column] for column in columns]])
        write_text(self._path, "".join([*lines, added]))

    def replace(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write these rows in place of all; raises `OSError`."""
        lines = [rows[0], *(row.values() for row in rows)] if rows else []
        write_text(self._path, csv_text(lines))

    def read(self) -> dict[str, list[float]]:
        """Column to one value a row, `epoch` as whole numbers.

        Raises `RequestError` where the file is damaged.
        """
        try:
            header, *rows = csv.reader(self._lines() or [""])
            columns = [[float(cell) for cell in column] for column in zip(*rows, strict=True)]
            history = dict(zip(header, columns or [[] for _ in header], strict=True))
        except (OSError, ValueError) as error:
            raise RequestError(f"{self._path}: damaged: {error}.") from error
        if "epoch" in history:
            history["epoch"] = [int(epoch) for epoch in history["epoch"]]
        return history

    def _lines(self) -> list[str]:
        try:
            return self._path.read_bytes().decode("utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []


def _array(cells: Sequence[str], as_text: bool) -> np.ndarray:
    import numpy as np

    for dtype in () if as_text else (np.int64, np.float64):
        try:
            return np.array(cells, dtype=dtype)
        except (ValueError, OverflowError):
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


Found = TypeVar("Found")


def read_assets(
    path: Path,
    read: Callable[[Mapping[str, Any]], tuple[Any, Found]],
    *,
    expected: Any,
    what: str = "the settings",
) -> Found:
    """Read a file that a task saved as JSON.

    Args:
        path: the file.
        read: gives the settings in the file's content, and what else the task needs of it.
        expected: the task's own settings.
        what: what these are, for the error.

    Raises:
        RequestError: the file is missing, damaged, or of other settings.
    """
    try:
        saved, found = read(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{path}: expected what a run saves, but: {error!r}") from error
    if saved != expected:
        raise RequestError(f"{path}: expected {what} {expected}, got {saved}")
    return found


def flatten(document: Mapping[str, Any], left_out: Collection[str] = ()) -> dict[str, str]:
    """The leaves of a document by dotted key, whole, as text in YAML's spelling (`null`, `true`).

    An empty mapping or list counts as a leaf. Sections of `left_out` are left out, and so are keys
    that start with `_`, and `rules`, which say what other values would have been allowed.
    """
    wanted = {key: value for key, value in document.items() if key not in left_out}
    return {key: _text(value) for key, value in _leaves(wanted, "")}


def _leaves(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if str(key).startswith("_") or key == "rules":
            continue
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | tuple | Mapping):
        return json.dumps(value, default=str)
    return str(value)
