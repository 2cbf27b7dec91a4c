"""Read and write files so that a kill at any moment leaves either the old or the new version.

JSON, tables, histories, and checkpoints, from which a killed run resumes. Writing raises `OSError`
if a file can't be written; reading raises `RequestError` if it is missing or damaged.
"""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from attnlab.errors import RequestError

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)
_MAGIC = b"attnlab checkpoint 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_BLOCK = 1 << 20
_CHECKPOINTS = 2  # the second newest stays in case the newest is damaged
_LONGEST_CELL = 2**31 - 1  # texts may be longer than the default of `csv`


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, whose file replaces `path` when the body ends.

    The file is synced to disk before it is renamed. If the body raises, `path` doesn't change.
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
    """Return a unique path next to `path`; files that a kill leaves there are ignored.

    The ending is that of `path`, because Keras and matplotlib choose a format by it.
    """
    return path.with_name(f".tmp-{os.getpid()}-{uuid4().hex[:8]}-{path.name}")


def existing_file(path: str | Path, key: str) -> Path:
    """Return the path of a file that an option names; raises `RequestError` if it is none."""
    file = Path(path).expanduser()
    if not file.is_file():  # a pipe can't be read twice
        raise RequestError(f"{key}: expected a file, got {path}.")
    return file


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 without changing line ends."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def json_text(data: Any) -> str:
    """Return `data` as standard JSON, indented; NaN and infinities become null.

    NumPy scalars and arrays become numbers and lists, paths become text. Raises `TypeError` if
    JSON can't express something in `data`.
    """
    return json.dumps(_plain(data), indent=2, ensure_ascii=False)


def _plain(data: Any) -> Any:
    """Return `data` with JSON's types only."""
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


def write_json(path: Path, data: Any) -> None:
    """Write `data` as `json_text` formats it."""
    write_text(path, json_text(data) + "\n")


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns, arrays (N,) or sequences, as CSV; numbers read back as the same values.

    Raises `ValueError` if the columns differ in length.
    """
    write_text(path, csv_text([columns, *zip(*map(_cells, columns.values()), strict=True)]))


def _cells(column: Sequence[Any]) -> list[Any]:
    """Return values that `csv` writes as the shortest text that reads back unchanged."""
    dtype = getattr(column, "dtype", None)
    if dtype is None:
        return list(column)
    if dtype.kind == "f" and dtype.itemsize < 8:
        return column.astype(str).tolist()  # type: ignore[attr-defined]
    return column.tolist()  # type: ignore[attr-defined]


def read_table(path: Path, text: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Return a CSV's columns as int64 or float64 if all cells are such numbers, else as text.

    The columns named in `text` are always text.
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


def _array(cells: Sequence[str], as_text: bool) -> np.ndarray:
    import numpy as np

    for dtype in () if as_text else (np.int64, np.float64):
        try:
            return np.array(cells, dtype=dtype)
        except (ValueError, OverflowError):
            continue
    return np.array(cells, dtype=str)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
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
    """Return rows as CSV text; every line ends with a line end."""
    lines: list[str] = []
    # `csv` quotes the characters of its line end; with "\n" it would not quote "\r".
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


class History:
    """A CSV file to which rows are appended, such as history.csv; row 1 fixes the columns."""

    def __init__(self, path: Path):
        self._path = path

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row by replacing the file as a whole.

        Raises:
            ValueError: the row has other columns than the first row.
            OSError: the row can't be written; the file is unchanged.
        """
        lines = self._lines()
        columns = next(csv.reader(lines), list(row))
        if set(row) != set(columns):
            raise ValueError(f"{self._path.name}: expected columns {columns}, got {list(row)}")
        header = [] if lines else [columns]
        added = csv_text([*header, [row[column] for column in columns]])
        write_text(self._path, "".join([*lines, added]))

    def replace(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace all rows; raises `OSError`."""
        lines = [rows[0], *(row.values() for row in rows)] if rows else []
        write_text(self._path, csv_text(lines))

    def read(self) -> dict[str, list[float]]:
        """Return the columns as lists with a value per row; `epoch` has whole numbers.

        Raises `RequestError` if the file is damaged.
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


Found = TypeVar("Found")


def read_assets(
    path: Path,
    parse: Callable[[Mapping[str, Any]], tuple[Any, Found]],
    *,
    expected: Any,
    what: str = "the settings",
) -> Found:
    """Read a JSON file that a task saved for its model, such as a scaler or a vocabulary.

    Args:
        path: the file.
        parse: returns the settings in the file's content, and the rest that the task needs.
        expected: the task's own settings.
        what: name of the settings, for the error.

    Raises:
        RequestError: the file is missing, damaged, or has other settings.
    """
    try:
        saved, assets = parse(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{path}: damaged or missing: {error!r}") from error
    if saved != expected:
        raise RequestError(f"{path}: expected {what} {expected}, got {saved}")
    return assets


def flatten(document: Mapping[str, Any], left_out: Collection[str] = ()) -> dict[str, str]:
    """Return the leaves of a nested document by dotted key, as text in YAML's spelling.

    An empty mapping or list is a leaf. Left out are the sections in `left_out`, keys that start
    with `_`, and `rules`, which are not settings.
    """
    leaves: dict[str, str] = {}
    for key, value in document.items():
        if key in left_out or str(key).startswith("_") or key == "rules":
            continue
        if isinstance(value, Mapping) and value:
            leaves |= {f"{key}.{name}": text for name, text in flatten(value).items()}
        else:
            is_json = value is None or isinstance(value, bool | list | tuple | Mapping)
            leaves[str(key)] = json.dumps(value, default=str) if is_json else str(value)
    return leaves


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
        with replacing(self._folder / f"step_{step:09d}.ckpt") as temporary:
            with open(temporary, "w+b") as stream:
                _write_checkpoint(stream, state, arrays)
        self.keep(_CHECKPOINTS)

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
                return _read_checkpoint(path)
            except ValueError as error:
                _log.warning("%s: damaged (%s); the checkpoint before it is used", path, error)
                path.replace(path.with_name(f"damaged_{path.name}"))
            except OSError as error:
                raise RequestError(f"{path}: can't be read ({error.strerror or error}).") from error
        return None

    def epochs(self) -> int:
        """Read only how many finished epochs the newest checkpoint has; 0 if there is none."""
        for path in self._paths()[-1:]:
            with suppress(OSError, ValueError), open(path, "rb") as stream:
                stream.seek(len(_MAGIC))
                return len(json.loads(stream.readline()).get("history", ()))
        return 0

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("step_*.ckpt"))


def _write_checkpoint(
    stream: IO[bytes], state: Mapping[str, Any], arrays: Sequence[np.ndarray]
) -> None:
    import numpy as np

    stream.write(_MAGIC)
    stream.write(json.dumps({**state, "arrays": len(arrays)}).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    stream.write(_digest(stream, stream.tell()))


def _read_checkpoint(path: Path) -> Checkpoint:
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
