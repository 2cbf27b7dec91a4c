"""Read the user's files in their documented forms; anything else is refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import PARTS, join_names
from attnlab.text.reading import decode_text, is_hidden

_GZIP = b"\x1f\x8b"
_LONGEST_CELL = 1 << 24  # characters


def read_bytes(path: Path, key: str) -> bytes:
    """Return the content of a file, unpacked if it is a gzip file."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RequestError(f"{key}: {path} can't be read: {reason}.") from error


def read_text(path: Path, key: str) -> str:
    """Return the text of a UTF-8 file, plain or gzipped, with line feeds as line ends."""
    return re.sub("\r\n?", "\n", decode_text(read_bytes(path, key), f"{key}: {path}"))


def read_table(path: Path, key: str, columns: Mapping[str, str | int]) -> list[tuple[str, ...]]:
    """Return the cells of some columns of a CSV or TSV file, a tuple per row.

    A file whose name ends in `.tsv` or `.tsv.gz` is separated by tabs and has no quotes; any other
    is separated by commas and may have them. A column is chosen by its name in the first row, else
    by its position, from 1. If all columns are positions, the file has no header, unless its first
    row has all these numbers as names.

    Args:
        path: the file.
        key: the setting that names it, such as `data.path`.
        columns: setting, such as `data.text` -> a column's name or position.
    """
    is_tsv = path.name.removesuffix(".gz").endswith((".tsv", ".tab"))
    rows, lines = read_rows(path, key, "\t" if is_tsv else ",")
    places, has_header = _find_columns(path, rows[0], columns)
    cells = []
    for line, row in zip(lines[has_header:], rows[has_header:], strict=True):
        if is_tsv and any(cell.startswith('"') and '""' in cell for cell in row):
            raise RequestError(
                f"{key}: {path}, line {line}: a cell is quoted as in CSV; a TSV file has no quotes."
            )
        cells.append(tuple(row[place] for place in places))
    return cells


def read_rows(
    path: Path, key: str, separator: str, hint: str = ""
) -> tuple[list[list[str]], list[int]]:
    """Return the rows of a file of cells, and the number of the last line of each.

    Cells separated by tabs have no quotes. Empty lines are left out. `hint` is the end of the
    message about a row that has another number of cells than the first.
    """
    text = decode_text(read_bytes(path, key), f"{key}: {path}")
    csv.field_size_limit(_LONGEST_CELL)
    is_tsv, stream = separator == "\t", io.StringIO(text, newline="")
    form: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if is_tsv else {"strict": True}
    reader = csv.reader(stream, delimiter=separator, **form)
    try:
        numbered = [(row, reader.line_num) for row in reader if row]
    except csv.Error as error:
        raise RequestError(f"{key}: {path}, line {reader.line_num}: not CSV: {error}.") from error
    if not numbered:
        raise RequestError(f"{key}: {path}: expected rows, got an empty file.")
    rows, lines = [row for row, _ in numbered], [line for _, line in numbered]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise RequestError(
                f"{key}: {path}, line {line}: expected {len(rows[0])} cells as in the first row, "
                f"got {len(row)}{hint}."
            )
    return rows, lines


def _find_columns(
    path: Path, first: Sequence[str], columns: Mapping[str, str | int]
) -> tuple[list[int], bool]:
    """Return the places of columns in rows, and whether the first row is a header."""
    names = [name.strip() for name in first]
    by_position = all(str(column).isdigit() for column in columns.values())
    has_header = not by_position or all(str(column) in names for column in columns.values())
    if not has_header and names == [str(number) for number in range(len(names))]:
        raise RequestError(
            f"{', '.join(columns)}: the first row of {path}, {','.join(names)}, has numbers as "
            "names: choose columns by these names."
        )
    places = []
    for setting, column in columns.items():
        if has_header and names.count(str(column)) == 1:
            places.append(names.index(str(column)))
        elif str(column).isdigit() and 1 <= int(column) <= len(names):
            places.append(int(column) - 1)
        else:
            what = "is the name of several columns" if str(column) in names else "is no column"
            raise RequestError(
                f"{setting}: {column} {what} of {path}. Columns are: {join_names(names, 20)}; or "
                f"give a position from 1 to {len(names)}."
            )
    if len({*places}) < len(places):
        raise RequestError(f"{', '.join(columns)}: expected different columns, got one twice.")
    return places, has_header


def class_files(
    folder: Path, key: str, suffixes: Sequence[str]
) -> dict[str, list[tuple[str, Path]]]:
    """Return (class, file) of each part of a folder, all classes in turn: FOLDER/CLASS/FILE.

    With folders named exactly `train` and optionally `validation` and `test`, these are parts:
    FOLDER/train/CLASS/FILE. Hidden files are ignored.

    Args:
        folder: the folder.
        key: the setting that names it.
        suffixes: of the files, in lower case, such as `.txt`.
    """
    if not folder.is_dir():
        raise RequestError(f"{key}: expected a folder with a folder per class, got {folder}.")
    names = {place.name for place in _visible(folder)}
    if others := names - {*PARTS} if "train" in names else ():
        raise RequestError(
            f"{key}: expected only train, validation and test in {folder}, got "
            f"{join_names(others)}."
        )
    parts = {part: folder / part for part in PARTS if part in names}
    files = {}
    for part, place in (parts if "train" in names else {"train": folder}).items():
        classes = []
        for label in _visible(place):
            paths = [*_visible(label)] if label.is_dir() else []
            for file in paths or [label]:
                if not file.is_file() or file.suffix.lower() not in suffixes or file == label:
                    raise RequestError(
                        f"{key}: expected {place}/CLASS/FILE, files named "
                        f"{' or '.join(suffixes)}, got {file}."
                    )
            classes.append([(label.name, file) for file in paths])
        turns = zip_longest(*classes)
        files[part] = [pair for turn in turns for pair in turn if pair is not None]
    return files


def _visible(folder: Path) -> Iterable[Path]:
    return (path for path in sorted(folder.iterdir()) if not is_hidden(Path(path.name)))


def members(place: Path, pattern: re.Pattern[str]) -> list[tuple[Any, bytes]]:
    """Return (match, content) of the files, sorted by path, of a folder or a zip or tar archive.

    Nothing is extracted.
    """
    contents: dict[str, bytes] = {}
    try:
        if place.is_dir():
            for path in place.rglob("*"):
                name = path.relative_to(place).as_posix()
                if pattern.search(name) and path.is_file():
                    contents[name] = path.read_bytes()
        elif zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as archive:
                names = filter(pattern.search, archive.namelist())
                contents = {name: archive.read(name) for name in names}
        else:
            with tarfile.open(place) as packed:
                for member in packed:
                    if member.isfile() and pattern.search(member.name):
                        contents[member.name] = packed.extractfile(member).read()  # type: ignore[union-attr]
    except (OSError, EOFError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as e:
        raise RequestError(f"{place}: can't be read: {e}.") from e
    return [(pattern.search(name), contents[name]) for name in sorted(contents)]
