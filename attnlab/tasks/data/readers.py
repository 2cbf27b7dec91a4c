"""Read the user's files in their documented forms; anything else is refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import PARTS, listed
from attnlab.text.reading import decoded, is_hidden

_GZIP = b"\x1f\x8b"
_LONGEST_CELL = 1 << 24  # characters


def read_bytes(path: Path, key: str) -> bytes:
    """Return the content of a file, unpacked if it is a gzip file.

    Raises:
        RequestError: the file can't be read.
    """
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise RequestError(f"{key}: {path} can't be read: {reason}.") from error


def read_text(path: Path, key: str) -> str:
    """Return the text of a UTF-8 file, plain or gzipped, with line feeds as line ends.

    Raises:
        RequestError: the file can't be read, or isn't UTF-8 text.
    """
    return re.sub("\r\n?", "\n", decoded(read_bytes(path, key), f"{key}: {path}"))


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

    Raises:
        RequestError: the file isn't such a table, or has no such column; the row is named.
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

    Raises:
        RequestError: the file can't be read, has no rows, or a row has another number of cells
            than the first.
    """
    text = decoded(read_bytes(path, key), f"{key}: {path}")
    csv.field_size_limit(_LONGEST_CELL)
    stream = io.StringIO(text, newline="")
    if separator == "\t":
        reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(stream, delimiter=separator, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise RequestError(f"{key}: {path}, line {reader.line_num}: not CSV: {error}.") from error
    if not rows:
        raise RequestError(f"{key}: {path}: expected rows, got an empty file.")
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
                f"{setting}: {column} {what} of {path}. Columns are: {listed(names, 20)}; or give "
                f"a position from 1 to {len(names)}."
            )
    if len({*places}) < len(places):
        raise RequestError(f"{', '.join(columns)}: expected different columns, got one twice.")
    return places, has_header


def class_files(
    folder: Path, key: str, suffixes: Sequence[str]
) -> dict[str, list[tuple[str, Path]]]:
    """Return the files of each part with their classes: FOLDER/CLASS/FILE.

    With folders named exactly `train` and optionally `validation` and `test`, these are parts:
    FOLDER/train/CLASS/FILE. Hidden files are ignored.

    Args:
        folder: the folder.
        key: the setting that names it.
        suffixes: of the files, in lower case, such as `.txt`.

    Raises:
        RequestError: the folder has another form; the message names the file or folder.
    """
    if not folder.is_dir():
        raise RequestError(f"{key}: expected a folder with a folder per class, got {folder}.")
    names = {place.name for place in _visible(folder)}
    if "train" not in names:
        return {"train": _labelled_files(folder, key, suffixes)}
    if others := names - {*PARTS}:
        raise RequestError(
            f"{key}: expected only train, validation and test in {folder}, got {listed(others)}."
        )
    return {part: _labelled_files(folder / part, key, suffixes) for part in PARTS if part in names}


def _labelled_files(folder: Path, key: str, suffixes: Sequence[str]) -> list[tuple[str, Path]]:
    """Return (class, file) of FOLDER/CLASS/FILE, of all classes in turn."""
    columns: list[list[tuple[str, Path]]] = []
    for place in _visible(folder):
        files = list(_visible(place)) if place.is_dir() else []
        for file in [*files] or [place]:
            if not file.is_file() or file.suffix.lower() not in suffixes or file == place:
                raise RequestError(
                    f"{key}: expected {folder}/CLASS/FILE, files named {' or '.join(suffixes)}, "
                    f"got {file}."
                )
        columns.append([(place.name, file) for file in files])
    turns = range(max(map(len, columns), default=0))
    return [column[turn] for turn in turns for column in columns if turn < len(column)]


def _visible(folder: Path) -> Iterable[Path]:
    return (path for path in sorted(folder.iterdir()) if not is_hidden(Path(path.name)))


def members(place: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the files of a zip, tar or tar.gz archive, or of a folder, whose paths match.

    Nothing is extracted. The order is that of the paths.

    Raises:
        RequestError: the archive or a file in it can't be read.
    """
    try:
        if place.is_dir():
            paths = {file.relative_to(place).as_posix(): file for file in place.rglob("*")}
            for name in sorted(paths):
                if (match := pattern.search(name)) and paths[name].is_file():
                    yield match, paths[name].read_bytes()
        elif zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as archive:
                for name in sorted(archive.namelist()):
                    if match := pattern.search(name):
                        yield match, archive.read(name)
        else:
            with tarfile.open(place) as packed:
                contents = {}
                for member in packed:
                    if member.isfile() and (match := pattern.search(member.name)):
                        contents[member.name] = match, packed.extractfile(member).read()  # type: ignore[union-attr]
            yield from (contents[name] for name in sorted(contents))
    except (
        OSError,
        EOFError,
        RuntimeError,
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise RequestError(f"{place}: can't be read: {error}.") from error
